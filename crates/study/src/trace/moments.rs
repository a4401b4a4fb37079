//! Least, greatest, mean and standard deviation of samples, without keeping them.
//!
//! A sample of no time is never the least, as in tcptrace: it is the handshake of a simulated capture.

use ackclock_units::Duration;
use serde::Serialize;

/// Samples of a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    count: u64,
    least: f64,
    greatest: f64,
    mean: f64,
    /// The sum of squared differences from the mean (Welford 1962).
    squares: f64,
}

/// What samples of a time are like.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Times {
    /// Their number.
    pub samples: u64,
    /// The least above zero, s; zero if all are.
    pub min_s: f64,
    /// The greatest, s.
    pub max_s: f64,
    /// The mean, s.
    pub mean_s: f64,
    /// The standard deviation of these samples, s; zero for a single one.
    pub sd_s: f64,
}

impl Moments {
    pub(super) fn add(&mut self, sample: Duration) {
        let sample = sample.as_secs_f64();
        if self.least == 0.0 || sample < self.least && sample > 0.0 {
            self.least = sample;
        }
        self.count += 1;
        self.greatest = self.greatest.max(sample);
        let far = sample - self.mean;
        self.mean += far / self.count as f64;
        self.squares += far * (sample - self.mean);
    }

    /// `None` without samples.
    pub(super) fn times(&self) -> Option<Times> {
        let degrees = self.count.saturating_sub(1).max(1) as f64;
        (self.count > 0).then(|| Times {
            samples: self.count,
            min_s: self.least,
            max_s: self.greatest,
            mean_s: self.mean,
            sd_s: (self.squares / degrees).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_four() {
        let mut moments = Moments::default();
        assert_eq!(moments.times(), None);
        [2, 4, 4, 6].into_iter().for_each(|ms| moments.add(Duration::from_millis(ms)));
        let times = moments.times().expect("samples");
        assert_eq!((times.samples, times.min_s, times.max_s), (4, 0.002, 0.006));
        assert!((times.mean_s - 0.004).abs() < 1e-12);
        assert!((times.sd_s - (8e-6_f64 / 3.0).sqrt()).abs() < 1e-12); // squared differences: 4 + 0 + 0 + 4
    }
}
