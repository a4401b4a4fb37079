//! The smoothed round-trip time, as the simulator has it: RFC 6298 section 2 over raw samples.
//!
//! The stacks subtract the peer's delay from their samples, and update their estimate after the controller
//! has heard of the acknowledgement. So the adapters keep their own.

use ackclock_units::Duration;

/// RFC 9002 section 6.1.2, kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);
/// RFC 9000 section 18.2, max_ack_delay: what a peer may wait unless it says otherwise.
const ACK_DELAY: Duration = Duration::from_millis(25);

/// The estimator.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    /// In eighths of a nanosecond, so that the filter's shift loses nothing.
    smoothed_8: i64,
    /// In quarters of a nanosecond.
    deviation_4: i64,
    least: Duration,
}

impl Rtt {
    pub(crate) fn new() -> Rtt {
        Rtt { smoothed_8: 0, deviation_4: 0, least: Duration::MAX }
    }

    /// Adds a raw sample.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let r = rtt.as_nanos() as i64;
        if self.least == Duration::MAX {
            (self.smoothed_8, self.deviation_4) = (r << 3, r << 1); // (2.2)
        } else {
            let error = r - (self.smoothed_8 >> 3);
            self.deviation_4 += error.abs() - (self.deviation_4 >> 2); // (2.3), beta = 1/4
            self.smoothed_8 += error; // alpha = 1/8
        }
        self.least = self.least.min(rtt);
    }

    /// Zero before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        Duration::from_nanos((self.smoothed_8 >> 3) as u64)
    }

    /// [`Duration::MAX`] before the first sample.
    pub(crate) fn least(&self) -> Duration {
        self.least
    }

    /// RFC 9002 section 6.2.1: after this time without an acknowledgement a probe would be sent. `None`
    /// before the first sample.
    pub(crate) fn probe_timeout(&self) -> Option<Duration> {
        let margin = Duration::from_nanos(self.deviation_4 as u64).max(GRANULARITY);
        (self.least < Duration::MAX).then(|| self.smoothed() + margin + ACK_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298: 100 ms, then 180 ms: 100 + 80 / 8; the deviation is 50, then 3/4 * 50 + 80 / 4.
    #[test]
    fn two_samples() {
        let mut rtt = Rtt::new();
        assert_eq!((rtt.smoothed(), rtt.probe_timeout()), (Duration::ZERO, None));
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.probe_timeout(), Some(Duration::from_millis(100 + 4 * 50 + 25)));
        rtt.sample(Duration::from_millis(180));
        assert_eq!((rtt.smoothed(), rtt.least()), (Duration::from_millis(110), Duration::from_millis(100)));
        assert_eq!(rtt.probe_timeout(), Some(Duration::from_micros(110_000 + 4 * 57_500 + 25_000)));
    }
}
