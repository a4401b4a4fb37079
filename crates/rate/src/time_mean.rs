//! The mean over time of a value that is told from time to time.

use ackclock_units::{Duration, Time};

/// The integral of the value over the time that has passed, and that time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TimeMean {
    /// Value times seconds.
    integral: f64,
    /// Seconds.
    span: f64,
}

impl TimeMean {
    /// The value was `value` for `span`.
    pub fn add(&mut self, value: f64, span: Duration) {
        self.integral += value * span.as_secs_f64();
        self.span += span.as_secs_f64();
    }

    /// Both spans of time together.
    #[must_use]
    pub fn and(self, other: TimeMean) -> TimeMean {
        TimeMean { integral: self.integral + other.integral, span: self.span + other.span }
    }

    /// The mean. `None` if no time has passed.
    pub fn value(self) -> Option<f64> {
        (self.span > 0.0).then(|| self.integral / self.span)
    }
}

/// A value that holds from one report to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    mean: TimeMean,
    since: Time,
    value: f64,
    /// There was a report.
    heard: bool,
}

impl Reported {
    /// The value is 0 until the first report.
    pub(crate) fn new(now: Time) -> Reported {
        Reported { mean: TimeMean::default(), since: now, value: 0.0, heard: false }
    }

    /// A report came.
    pub(crate) fn on_report(&mut self, now: Time, value: f64) {
        self.mean.add(self.value, now.since(self.since));
        (self.since, self.value, self.heard) = (now, value, true);
    }

    /// The mean up to the last report. `None` before the first one.
    pub(crate) fn mean(&self) -> Option<TimeMean> {
        self.heard.then_some(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_counts_as_long_as_it_holds() {
        let at = |s: u64| Time::from_nanos(s * 1_000_000_000);
        let mut reported = Reported::new(at(10));
        assert_eq!(reported.mean(), None);
        reported.on_report(at(12), 0.5); // 0 for 2 s
        reported.on_report(at(16), 7.0); // 0.5 for 4 s; the last one does not count yet
        let mean = reported.mean().expect("there was a report");
        assert_eq!(mean.value(), Some(2.0 / 6.0));
        let mut other = TimeMean::default();
        assert_eq!(other.value(), None);
        other.add(1.0, Duration::from_secs(2));
        assert_eq!(mean.and(other).value(), Some(4.0 / 8.0));
    }
}
