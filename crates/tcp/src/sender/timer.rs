//! The retransmission timer: RFC 6298 section 5. With nothing outstanding it serves to probe a closed window.

use crate::config::Config;
use crate::rtt::RttEstimator;
use ackclock_units::{Duration, Time};

/// The timer, and the estimator that sets it.
pub(super) struct Timer {
    rtt: RttEstimator,
    /// When it expires. `None`: it does not run.
    deadline: Option<Time>,
    /// The first unacknowledged segment when it last expired.
    expired_for: Option<u64>,
}

impl Timer {
    pub(super) fn new(config: &Config) -> Timer {
        let rtt = RttEstimator::new(
            config.rto,
            config.rto_initial,
            config.rto_min,
            config.rto_max,
            config.clock_granularity,
        );
        Timer { rtt, deadline: None, expired_for: None }
    }

    #[inline]
    pub(super) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Takes a raw round-trip time.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        self.rtt.sample(rtt, una, nxt);
    }

    /// RFC 6298 (5.1): something is outstanding.
    #[inline]
    pub(super) fn start(&mut self, now: Time) {
        if self.deadline.is_none() {
            self.restart(now);
        }
    }

    /// RFC 6298 (5.3): new data was acknowledged.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.deadline = Some(now + self.rtt.rto());
    }

    /// RFC 6298 (5.2): nothing is outstanding.
    #[inline]
    pub(super) fn stop(&mut self) {
        self.deadline = None;
    }

    /// It has expired with `una` unacknowledged. True if it did not expire for the same segment before.
    pub(super) fn expire(&mut self, una: u64) -> bool {
        self.expired_for.replace(una) != Some(una)
    }

    /// RFC 6298 (5.5).
    pub(super) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// The next probe of a closed window, after `probes` of them (RFC 9293 section 3.8.6.1).
    pub(super) fn wait_for_window(&mut self, now: Time, probes: u32) {
        self.deadline = Some(now + self.rtt.doubled(probes));
    }
}
