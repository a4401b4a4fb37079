//! Distributions of times, for example of packet delays and think times.

use crate::Rng;
use ackclock_units::Duration;

/// A distribution of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Always the same time.
    Fixed(Duration),
    /// Uniform between two times.
    Uniform(Duration, Duration),
    /// Normal.
    Normal {
        /// The mean before negative draws are replaced.
        mean: Duration,
        /// The standard deviation before negative draws are replaced.
        deviation: Duration,
        /// What replaces a negative draw.
        below_zero: BelowZero,
    },
    /// Exponential with this mean.
    Exponential(Duration),
    /// Pareto: P(T > t) = (scale / t)^shape for t above the scale. The scale follows from the mean.
    Pareto {
        /// The mean.
        mean: Duration,
        /// The shape, above 1. A smaller shape has a heavier tail.
        shape: f64,
    },
}

/// What replaces a negative draw of a normal distribution. No time is negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BelowZero {
    /// The time is zero.
    #[default]
    Zero,
    /// The time is drawn again until it is not negative.
    Redraw,
}

impl Distribution {
    /// Draws a time.
    pub fn draw(&self, stream: &mut Rng) -> Duration {
        match *self {
            Distribution::Fixed(time) => time,
            Distribution::Uniform(from, to) => {
                Duration::from_secs_f64(stream.between(from.as_secs_f64(), to.as_secs_f64()))
            }
            Distribution::Normal { mean, deviation, below_zero } => {
                let (mean, deviation) = (mean.as_secs_f64(), deviation.as_secs_f64());
                let mut time = mean + deviation * stream.normal();
                // The mean is not negative, so at least half of all draws are not negative either.
                while time < 0.0 && below_zero == BelowZero::Redraw {
                    time = mean + deviation * stream.normal();
                }
                Duration::from_secs_f64(time.max(0.0))
            }
            Distribution::Exponential(mean) => {
                Duration::from_secs_f64(stream.exponential(mean.as_secs_f64()))
            }
            Distribution::Pareto { mean, shape } => {
                let scale = mean.as_secs_f64() * (shape - 1.0) / shape;
                Duration::from_secs_f64(scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape))
            }
        }
    }

    /// The mean. For a normal distribution: the mean before negative draws are replaced.
    pub fn mean(&self) -> Duration {
        match *self {
            Distribution::Fixed(mean)
            | Distribution::Normal { mean, .. }
            | Distribution::Exponential(mean)
            | Distribution::Pareto { mean, .. } => mean,
            Distribution::Uniform(from, to) => Duration::from_nanos(from.as_nanos().midpoint(to.as_nanos())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn draws(variate: Distribution) -> Vec<f64> {
        let mut stream = Rng::new(11, "variate");
        (0..DRAWS).map(|_| variate.draw(&mut stream).as_secs_f64()).collect()
    }

    fn mean(draws: &[f64]) -> f64 {
        draws.iter().sum::<f64>() / draws.len() as f64
    }

    fn normal(below_zero: BelowZero, mean_ms: u64) -> Distribution {
        let (mean, deviation) = (Duration::from_millis(mean_ms), Duration::from_millis(8));
        Distribution::Normal { mean, deviation, below_zero }
    }

    #[test]
    fn means_are_what_was_asked_for() {
        let time = Duration::from_millis(25);
        for variate in [
            Distribution::Fixed(time),
            Distribution::Uniform(Duration::from_millis(10), Duration::from_millis(40)),
            normal(BelowZero::Zero, 25),
            Distribution::Exponential(time),
            Distribution::Pareto { mean: time, shape: 3.0 },
        ] {
            let mean = mean(&draws(variate));
            assert!((mean - 0.025).abs() < 0.0003, "{variate:?}: {mean}");
            assert_eq!(variate.mean(), time);
        }
    }

    #[test]
    fn a_normal_variate_deviates_as_it_should() {
        let draws = draws(normal(BelowZero::Zero, 25));
        let mean = mean(&draws);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64;
        assert!((variance.sqrt() - 0.008).abs() < 5e-5, "{}", variance.sqrt());
        let within = draws.iter().filter(|&&x| (0.017..0.033).contains(&x)).count() as f64;
        assert!((within / draws.len() as f64 - 0.6827).abs() < 0.005);
    }

    #[test]
    fn what_is_below_zero_is_cut_off_or_drawn_again() {
        // Half of all draws are negative. As zeros they halve the mean of the other half, 8 ms * sqrt(2 /
        // pi).
        let others = 0.008 * (2.0 / std::f64::consts::PI).sqrt();
        let cut = draws(normal(BelowZero::Zero, 0));
        let zeros = cut.iter().filter(|&&x| x == 0.0).count() as f64 / cut.len() as f64;
        assert!((zeros - 0.5).abs() < 0.005 && (mean(&cut) - others / 2.0).abs() < 5e-5);
        let again = draws(normal(BelowZero::Redraw, 0));
        assert!(again.iter().all(|&x| x > 0.0) && (mean(&again) - others).abs() < 5e-5);
    }

    #[test]
    fn a_pareto_variate_is_never_below_its_scale() {
        let draws = draws(Distribution::Pareto { mean: Duration::from_secs(15), shape: 1.5 });
        assert!(draws.iter().all(|&x| x >= 5.0 - 1e-6));
        let beyond = draws.iter().filter(|&&x| x > 20.0).count() as f64 / draws.len() as f64;
        assert!((beyond - 0.125).abs() < 0.004, "{beyond}"); // (5 / 20)^1.5
    }
}
