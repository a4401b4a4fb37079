//! How values are distributed.

use serde::{Deserialize, Serialize};

/// A statistic over several flows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// The sum.
    pub total: f64,
    /// The mean.
    pub mean: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The sample standard deviation (n - 1); 0 for one flow.
    pub std: f64,
}

/// How something is distributed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Percentiles {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// Nine tenths are no larger.
    pub p90: f64,
    /// 95 % are no larger.
    pub p95: f64,
    /// 99 % are no larger.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The statistics of these values.
    pub fn of(values: &[f64]) -> Spread {
        let n = values.len() as f64;
        if values.is_empty() {
            return Spread::default();
        }
        let total: f64 = values.iter().sum();
        let mean = mean(values);
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Spread {
            total,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            std: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
        }
    }
}

/// The mean of these values, 0 if there are none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The percentile `percent` of sorted values: the nearest value. NaN if there are none.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0).clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    sorted.get(rank.round() as usize).copied().unwrap_or(f64::NAN)
}

impl Percentiles {
    /// Of these values; `None` if there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Percentiles> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let [p50, p90, p95, p99] = [50.0, 90.0, 95.0, 99.0].map(|percent| percentile(&values, percent));
        let mean = Spread::of(&values).mean;
        values.last().map(|&max| Percentiles { mean, p50, p90, p95, p99, max })
    }
}
