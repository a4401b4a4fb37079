//! How late packets leave, arrive or are written, compared with when they should: a distribution.

use ackclock_units::Duration;
use hdrhistogram::Histogram;

/// Larger values count as this, ns.
const MOST: u64 = 100_000_000_000;

/// The distribution of the delays that a host adds.
#[derive(Clone, Debug)]
pub struct Lateness {
    ns: Histogram<u64>,
    sum_ns: u64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        // Two digits. The bounds are constants that the library accepts.
        Lateness { ns: Histogram::new_with_bounds(1, MOST, 2).expect("valid bounds"), sum_ns: 0 }
    }
}

impl Lateness {
    /// Something was so late.
    pub fn note(&mut self, late: Duration) {
        self.ns.saturating_record(late.as_nanos());
        self.sum_ns = self.sum_ns.saturating_add(late.as_nanos());
    }

    /// Adds what another has noted.
    pub fn add(&mut self, other: &Lateness) {
        self.ns.add(&other.ns).expect("the same bounds");
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// How many delays were noted.
    pub fn count(&self) -> u64 {
        self.ns.len()
    }

    /// The share of those that were at most so late. 1 if there is none.
    pub fn share_within(&self, bound: Duration) -> f64 {
        if self.ns.is_empty() {
            return 1.0;
        }
        self.ns.count_between(0, bound.as_nanos()) as f64 / self.ns.len() as f64
    }

    /// The mean delay; zero if there is none.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum_ns / self.count().max(1))
    }

    /// The largest delay.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.ns.max())
    }

    /// The delay that this share of them does not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.ns.value_at_quantile(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_known_values() {
        let mut lateness = Lateness::default();
        assert!((lateness.share_within(Duration::ZERO) - 1.0).abs() < 1e-12);
        (1..=1000).for_each(|us| lateness.note(Duration::from_micros(us)));
        assert_eq!(lateness.count(), 1000);
        assert!((lateness.share_within(Duration::from_micros(200)) - 0.2).abs() < 0.01);
        assert!((lateness.quantile(0.99).as_secs_f64() - 990e-6).abs() < 20e-6);
        assert!((lateness.max().as_secs_f64() - 1e-3).abs() < 20e-6);
        assert_eq!(lateness.mean(), Duration::from_nanos(500_500));
        let mut both = Lateness::default();
        both.note(Duration::from_micros(2501));
        both.add(&lateness);
        assert_eq!((both.count(), both.mean()), (1001, Duration::from_nanos(502_498)));
    }
}
