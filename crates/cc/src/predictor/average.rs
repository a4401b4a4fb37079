//! Moving averages over a number of samples.

use super::{Filter, Predictor, Reading};
use ackclock_units::Duration;

/// The mean of the last samples. While there are fewer, the mean of all.
pub(super) struct MovingAverage {
    samples: Vec<u64>,
    most: usize,
    next: usize,
    sum: u128,
}

impl MovingAverage {
    pub(super) fn new(most: usize) -> MovingAverage {
        let most = most.max(1);
        MovingAverage { samples: Vec::with_capacity(most), most, next: 0, sum: 0 }
    }
}

impl Filter for MovingAverage {
    fn filtered(&mut self, rtt: Duration) -> f64 {
        let sample = rtt.as_nanos();
        if self.samples.len() < self.most {
            self.samples.push(sample);
        } else {
            self.sum -= u128::from(std::mem::replace(&mut self.samples[self.next], sample));
            self.next = (self.next + 1) % self.most;
        }
        self.sum += u128::from(sample);
        self.sum as f64 / self.samples.len() as f64
    }
}

/// CIM: the mean of a few samples compared with the mean of many.
pub(super) struct Cim {
    few: MovingAverage,
    many: MovingAverage,
}

impl Cim {
    pub(super) fn new(few: usize, many: usize) -> Cim {
        Cim { few: MovingAverage::new(few), many: MovingAverage::new(many) }
    }
}

impl Predictor for Cim {
    fn sense(&mut self, at: &Reading) -> bool {
        self.few.filtered(at.rtt) > self.many.filtered(at.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;

    #[test]
    fn old_samples_leave() {
        let mut average = MovingAverage::new(3);
        let means: Vec<_> =
            [3, 6, 9, 12, 0].map(|ns| average.filtered(Duration::from_nanos(ns))).into_iter().collect();
        assert_eq!(means, [3.0, 4.5, 6.0, 9.0, 7.0]);
    }

    #[test]
    fn few_against_many() {
        let samples = [(60, 1.0), (60, 1.0), (70, 1.0), (70, 1.0), (60, 1.0), (60, 1.0), (60, 1.0)];
        assert_eq!(says(&mut Cim::new(2, 20), &samples), [false, false, true, true, true, false, false]);
    }
}
