//! Blackouts: what an endpoint does while it hears nothing.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 3.4. A sender whose window is full
//! and a receiver that hears nothing send one packet per round trip.
//!
//! What differs: the threshold is not stated; it is a number of smoothed round-trip times. A sender that has
//! nothing new to send counts as one whose window is full, so lost tails are repaired, too.

use ackclock_units::{Duration, Time};

/// The silence of the other end.
#[derive(Clone, Debug)]
pub struct Silence {
    /// Round trips of silence after which a blackout begins.
    threshold: f64,
    /// The last sign of life, or the last packet of this end.
    since: Time,
    /// A blackout has begun.
    dark: bool,
}

impl Silence {
    /// A blackout begins `threshold` round trips after the last event.
    pub fn new(threshold: f64, now: Time) -> Silence {
        Silence { threshold, since: now, dark: false }
    }

    /// The other end was heard. Returns true if that ended a blackout.
    pub fn heard(&mut self, now: Time) -> bool {
        self.since = self.since.max(now);
        std::mem::replace(&mut self.dark, false)
    }

    /// This end sent a packet of its usual ones.
    pub fn sent(&mut self, now: Time) {
        self.since = self.since.max(now);
    }

    /// A blackout has begun or goes on, and one packet leaves.
    pub fn probed(&mut self, now: Time) {
        self.since = self.since.max(now);
        self.dark = true;
    }

    /// True during a blackout.
    pub fn is_dark(&self) -> bool {
        self.dark
    }

    /// When the next packet of a blackout is due: the threshold first, and then one per `srtt`. It is never
    /// sooner than `least` after the last event.
    pub fn deadline(&self, srtt: Duration, least: Duration) -> Time {
        let span = if self.dark { srtt } else { srtt.mul_f64(self.threshold) };
        self.since + span.max(least).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_two_round_trips_and_then_one() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let (srtt, none) = (Duration::from_millis(100), Duration::ZERO);
        let mut silence = Silence::new(2.0, at(0));
        silence.sent(at(50));
        assert_eq!(silence.deadline(srtt, none), at(250));
        silence.probed(at(250));
        assert!(silence.is_dark());
        assert_eq!(silence.deadline(srtt, none), at(350));
        assert_eq!(silence.deadline(srtt, Duration::from_millis(400)), at(650));
        assert!(silence.heard(at(300)) && !silence.heard(at(310)));
        assert_eq!(silence.deadline(srtt, none), at(510));
    }
}
