//! Exponentially weighted moving average.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, equation 3.4 and section 4.1.
//!
//! What differs: the source does not say what stands before the first sample. Here the first sample is the
//! first value.

/// The average: `value = alpha * value + (1 - alpha) * sample`.
#[derive(Clone, Debug)]
pub struct Ewma {
    alpha: f64,
    value: Option<f64>,
}

impl Ewma {
    /// An average in which the old value has the weight `alpha`, 0 to 1.
    pub fn new(alpha: f64) -> Ewma {
        Ewma { alpha, value: None }
    }

    /// Takes a sample, and returns the new average.
    pub fn add(&mut self, sample: f64) -> f64 {
        let value = self.value.map_or(sample, |old| self.alpha * old + (1.0 - self.alpha) * sample);
        self.value = Some(value);
        value
    }

    /// The average. `None` before the first sample.
    pub fn value(&self) -> Option<f64> {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_is_followed_by_a_power_of_alpha() {
        let mut average = Ewma::new(0.5);
        assert_eq!(average.value(), None);
        let seen: Vec<f64> = [11.0, 2.0, 2.0, 2.0].into_iter().map(|it| average.add(it)).collect();
        assert_eq!(seen, [11.0, 6.5, 4.25, 3.125]);
    }

    proptest! {
        #[test]
        fn it_stays_among_its_samples(
            alpha in 0.0..=1.0, samples in proptest::collection::vec(1.0..1e9, 1..50),
        ) {
            let mut average = Ewma::new(alpha);
            let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
            for sample in samples {
                (least, most) = (least.min(sample), most.max(sample));
                let value = average.add(sample);
                prop_assert!(value >= least * (1.0 - 1e-12) && value <= most * (1.0 + 1e-12));
            }
        }
    }
}
