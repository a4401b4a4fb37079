//! Whether an interval was limited by data: whether the sender had less to send than it was allowed.
//!
//! Source: RFC 5348 section 8.2.1.

use ackclock_units::{Duration, Time};

/// Two instants at which the sender had enough to send are all that is remembered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limited {
    /// NotLimited1 and NotLimited2
    enough: [Option<Time>; 2],
    /// t_new and t_next: the departure of the packet that the last report was about, and its arrival.
    reported: (Time, Time),
}

impl Limited {
    /// The sender has as much to send as it is allowed to.
    pub fn has_enough(&mut self, now: Time) {
        if self.enough[0].is_none_or(|at| at <= self.reported.0) {
            self.enough[0] = Some(now);
        } else if self.enough[1].is_none_or(|at| at <= self.reported.1) {
            self.enough[1] = Some(now);
        }
    }

    /// A report came that is about packets up to the one that left at `sent`. True if it covers an interval
    /// in which the sender never had enough.
    pub fn on_report(&mut self, now: Time, sent: Time, rtt: Duration) -> bool {
        let old = Time::from_nanos(sent.as_nanos().saturating_sub(rtt.as_nanos()));
        self.reported = (sent, now);
        let within = |at: Option<Time>| at.is_some_and(|at| old < at && at <= sent);
        let limited = !self.enough.into_iter().any(within);
        if self.enough[0].is_some_and(|at| at <= sent) && self.enough[1].is_some_and(|at| at > sent) {
            self.enough[0] = self.enough[1];
        }
        limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_limited_if_there_was_never_enough_in_it() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let rtt = Duration::from_millis(100);
        let mut limited = Limited::default();
        (0..=150).for_each(|ms| limited.has_enough(at(ms)));
        assert!(!limited.on_report(at(100), at(50), rtt)); // 0 is the first that was noted
        (151..=250).for_each(|ms| limited.has_enough(at(ms)));
        assert!(!limited.on_report(at(250), at(200), rtt));
        (251..=260).for_each(|ms| limited.has_enough(at(ms)));
        // Nothing to send after 260 ms: the report at 600 covers 400 to 500.
        assert!(!limited.on_report(at(400), at(300), rtt));
        assert!(limited.on_report(at(600), at(500), rtt));
        limited.has_enough(at(650));
        assert!(!limited.on_report(at(760), at(660), rtt));
    }
}
