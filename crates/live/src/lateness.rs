//! How late deliveries are, compared with their ideal times.

use ackclock_units::Duration;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Larger values count as this, ns.
const MAX: u64 = 100_000_000_000;

/// The distribution of the delays that the emulator adds.
pub(crate) struct Lateness {
    ns: Histogram<u64>,
    sum_ns: u64,
}

/// A distribution, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// The mean.
    pub mean_s: f64,
    /// The median.
    pub p50_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// The 99.9th percentile.
    pub p999_s: f64,
    /// The maximum.
    pub max_s: f64,
}

impl Lateness {
    pub(crate) fn new() -> Lateness {
        // Two digits. The bounds are constants that the library accepts.
        Lateness { ns: Histogram::new_with_bounds(1, MAX, 2).expect("valid bounds"), sum_ns: 0 }
    }

    pub(crate) fn note(&mut self, late: Duration) {
        self.ns.saturating_record(late.as_nanos());
        self.sum_ns = self.sum_ns.saturating_add(late.as_nanos());
    }

    pub(crate) fn add(&mut self, other: &Lateness) {
        self.ns.add(&other.ns).expect("the same bounds");
        self.sum_ns += other.sum_ns;
    }

    /// The share of the values up to `bound`.
    pub(crate) fn share_within(&self, bound: Duration) -> f64 {
        if self.ns.is_empty() {
            1.0
        } else {
            self.ns.count_between(0, bound.as_nanos()) as f64 / self.ns.len() as f64
        }
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let quantile = |share| seconds(self.ns.value_at_quantile(share));
        Distribution {
            count: self.ns.len(),
            mean_s: seconds(self.sum_ns) / self.ns.len().max(1) as f64,
            p50_s: quantile(0.5),
            p99_s: quantile(0.99),
            p999_s: quantile(0.999),
            max_s: seconds(self.ns.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_values() {
        let mut lateness = Lateness::new();
        (1..=1000).for_each(|us| lateness.note(Duration::from_micros(us)));
        let seen = lateness.distribution();
        assert_eq!(seen.count, 1000);
        assert!((seen.mean_s - 500.5e-6).abs() < 1e-9, "{seen:?}");
        assert!((seen.p99_s - 990e-6).abs() < 20e-6 && (seen.max_s - 1e-3).abs() < 20e-6, "{seen:?}");
        assert!((lateness.share_within(Duration::from_micros(200)) - 0.2).abs() < 0.01);
    }
}
