//! How late packets leave, compared with when they should.

use ackclock_units::Duration;
use hdrhistogram::Histogram;

/// Larger values count as this, ns.
const MOST: u64 = 100_000_000_000;

/// The distribution of delays that the host adds.
#[derive(Clone, Debug)]
pub struct Lateness {
    ns: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Lateness {
        // Two digits. The bounds are constants that the library accepts.
        Lateness { ns: Histogram::new_with_bounds(1, MOST, 2).expect("valid bounds") }
    }
}

impl Lateness {
    pub(super) fn note(&mut self, late: Duration) {
        self.ns.saturating_record(late.as_nanos());
    }

    /// How many packets were noted.
    pub fn count(&self) -> u64 {
        self.ns.len()
    }

    /// The share of packets that were at most so late. 1 if there is none.
    pub fn share_within(&self, bound: Duration) -> f64 {
        if self.ns.is_empty() {
            return 1.0;
        }
        self.ns.count_between(0, bound.as_nanos()) as f64 / self.ns.len() as f64
    }

    /// The delay that this share of packets does not exceed.
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
    }
}
