//! TCP's retransmission timeout from a coarse clock, as other implementations put it into the equation.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, appendix A: the mean in eighths of
//! a tick, the deviation in quarters. ns-2 has a tick of 0.1 s.

use ackclock_units::Duration;

/// Mean and deviation of the round-trip time in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    tick: Duration,
    /// Eighths of a tick; 0 before the first sample.
    mean: i64,
    /// Quarters of a tick.
    deviation: i64,
}

impl Timeout {
    /// No sample yet. The tick is longer than nothing.
    pub fn new(tick: Duration) -> Timeout {
        Timeout { tick, mean: 0, deviation: 0 }
    }

    /// A sample, which is rounded to at least one tick, and to at most 2^20.
    pub fn on_sample(&mut self, rtt: Duration) {
        let tick = self.tick.as_nanos();
        let ticks = (rtt.as_nanos().saturating_add(tick / 2) / tick).clamp(1, 1 << 20) as i64;
        if self.mean == 0 {
            (self.mean, self.deviation) = (ticks << 3, ticks << 1);
            return;
        }
        let error = ticks - (self.mean >> 3);
        self.mean = (self.mean + error).max(1);
        self.deviation = (self.deviation + error.abs() - (self.deviation >> 2)).max(1);
    }

    /// The mean and four deviations, in whole ticks.
    pub fn value(&self) -> Duration {
        let ticks = ((self.deviation << 3) + self.mean) >> 3;
        self.tick.saturating_mul(ticks.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_round_trip_of_one_tick_has_three() {
        let mut timeout = Timeout::new(Duration::from_millis(100));
        for _ in 0..50 {
            timeout.on_sample(Duration::from_millis(82));
            assert_eq!(timeout.value(), Duration::from_millis(300)); // two quarters never decay
        }
        timeout.on_sample(Duration::from_millis(400)); // an error of 3 ticks
        assert_eq!(timeout.value(), Duration::from_millis(600)); // 11/8 + 4 * 5/4, rounded down
        timeout.on_sample(Duration::MAX);
        assert!(timeout.value() < Duration::from_secs(1_000_000));
    }
}
