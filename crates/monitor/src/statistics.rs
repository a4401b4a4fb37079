//! Statistics of samples, and when they say nothing.

use crate::sample::{Moment, Sample};
use ackclock_scenario::results::percentile;
use ackclock_units::Duration;

/// With fewer samples nothing is known.
pub const FEWEST: usize = 5;
/// If the newest sample is older than this, nothing is known any more.
pub const OLDEST: Duration = Duration::from_secs(15 * 60);

/// What a value was derived from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Basis {
    /// The number of samples.
    pub samples: usize,
    /// How old the newest one is.
    pub age: Duration,
    /// The time from the oldest to the newest.
    pub interval: Duration,
}

/// How samples are distributed. Percentiles are the nearest sample, not interpolated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// What it was derived from.
    pub basis: Basis,
    /// The smallest.
    pub least: f64,
    /// The median.
    pub p50: f64,
    /// Nine tenths are no larger.
    pub p90: f64,
    /// 95 % are no larger.
    pub p95: f64,
    /// The largest.
    pub greatest: f64,
}

/// Why something is not known.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum Unknown {
    /// There are too few samples.
    #[error("there are {there} samples, and {FEWEST} are needed")]
    Few {
        /// So many are there.
        there: usize,
    },
    /// The newest sample is too old.
    #[error("the newest sample is {} s old, and {} s are the limit", age.as_nanos() / 1_000_000_000, most.as_nanos() / 1_000_000_000)]
    Old {
        /// Its age.
        age: Duration,
        /// What would have been allowed.
        most: Duration,
    },
}

/// How old the newest sample of a probe may be: 15 minutes, or two and a half periods of the probe if that is
/// longer. A transfer every hour would otherwise be unknown for three quarters of each hour.
pub fn oldest(period: Duration) -> Duration {
    OLDEST.max(period.mul_f64(2.5))
}

/// Summarises the samples up to `now`, of which the newest may have the age `most`. Samples from later than
/// `now` do not count: the clock was set back after them.
///
/// # Errors
///
/// [`Unknown`] if there are fewer than [`FEWEST`], or the newest is too old.
pub fn summary(samples: &[Sample], now: Moment, most: Duration) -> Result<Summary, Unknown> {
    let past = || samples.iter().filter(|sample| sample.at <= now);
    let mut values: Vec<f64> = past().map(|sample| sample.value).collect();
    let (oldest, newest) = (past().map(|it| it.at).min(), past().map(|it| it.at).max());
    let (Some(oldest), Some(newest)) = (oldest, newest) else { return Err(Unknown::Few { there: 0 }) };
    let age = now.since(newest);
    if age > most {
        return Err(Unknown::Old { age, most });
    }
    if values.len() < FEWEST {
        return Err(Unknown::Few { there: values.len() });
    }
    values.sort_by(f64::total_cmp);
    let at = |percent| percentile(&values, percent);
    Ok(Summary {
        basis: Basis { samples: values.len(), age, interval: newest.since(oldest) },
        least: at(0.0),
        p50: at(50.0),
        p90: at(90.0),
        p95: at(95.0),
        greatest: at(100.0),
    })
}

/// The basis of something that was derived from both.
pub(crate) fn joint(one: Basis, other: Basis) -> Basis {
    Basis {
        samples: one.samples.min(other.samples),
        age: one.age.max(other.age),
        interval: one.interval.max(other.interval),
    }
}
