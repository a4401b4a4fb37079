//! How late deliveries are, as results tell it.

use ackclock_lateness::Lateness;
use serde::{Deserialize, Serialize};

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

impl From<&Lateness> for Distribution {
    fn from(lateness: &Lateness) -> Distribution {
        let quantile = |share| lateness.quantile(share).as_secs_f64();
        Distribution {
            count: lateness.count(),
            mean_s: lateness.mean().as_secs_f64(),
            p50_s: quantile(0.5),
            p99_s: quantile(0.99),
            p999_s: quantile(0.999),
            max_s: lateness.max().as_secs_f64(),
        }
    }
}
