//! The limits of a test, kept while it goes on. No clock: the caller says when.

use crate::policy::Grant;
use crate::protocol::Refusal;
use ackclock_units::{Duration, Time};

/// A rate may be exceeded by so much: clocks differ, and headers do not count here.
const TOLERANCE: f64 = 1.1;
/// So much may come at once, in time at the greatest rate: what waited in buffers on the way.
const BACKLOG: Duration = Duration::from_millis(2000);

/// The limits of a test, from its first byte on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    grant: Grant,
    began: Option<Time>,
}

impl Guard {
    pub(crate) fn new(grant: Grant) -> Guard {
        Guard { grant, began: None }
    }

    /// Why the test must end, if `bytes` have been sent or received by `now`.
    pub(crate) fn check(&mut self, now: Time, bytes: u64) -> Option<Refusal> {
        let elapsed = now.since(*self.began.get_or_insert(now));
        let limit = |name: &str, what: String| {
            let message = format!("the agent's policy ends this test: {what}");
            Some(Refusal::new(name, message, "ask for less, or ask who runs the agent to allow more"))
        };
        let Grant { rate, bytes: most, duration } = self.grant;
        if most.is_some_and(|most| bytes > most) {
            return limit("limit_bytes", format!("more than {} bytes", most.unwrap_or(0)));
        }
        if elapsed > Duration::from_micros(duration) + BACKLOG {
            return limit(
                "limit_duration",
                format!("it takes more than {}", Duration::from_micros(duration)),
            );
        }
        if let Some(rate) = rate
            && bytes as f64 * 8.0 > rate as f64 * TOLERANCE * (elapsed + BACKLOG).as_secs_f64()
        {
            return limit("limit_rate", format!("more than {rate} bit/s"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn each_limit_ends_a_test_by_its_name() {
        let grant = Grant { rate: Some(8_000_000), bytes: Some(20_000_000), duration: 10_000_000 };
        let mut guard = Guard::new(grant);
        let mut name = |ms, bytes| guard.check(at(ms), bytes).map(|refusal| refusal.error);
        // 1 MB/s and a tenth, with two seconds' worth at once.
        assert_eq!(name(5000, 0), None);
        assert_eq!(name(5000, 2_200_000), None);
        assert_eq!(name(5000, 2_200_001), Some("limit_rate".to_owned()));
        assert_eq!(name(6000, 3_300_000), None);
        assert_eq!(name(17_000, 3_300_000), None);
        assert_eq!(name(17_001, 3_300_000), Some("limit_duration".to_owned()));
        assert_eq!(name(6000, 20_000_001), Some("limit_bytes".to_owned()));
    }
}
