//! A proportional-integral controller over delay instead of queue length. It holds the smoothed delay at a
//! target.
//!
//! Source: C. Hollot, V. Misra, D. Towsley, W. Gong, "On Designing Improved Controllers for AQM Routers
//! Supporting TCP Flows", INFOCOM 2001: p += a (q - q_ref) - b (q_old - q_ref), sampled at 170 Hz, a =
//! 1.822e-5 and b = 1.816e-5 per packet on a link of 3750 packets/s. On that link a packet is 1/3750 s of
//! delay. This gives the defaults here, which are per second.

use super::seen::Seen;
use crate::Settings;
use ackclock_units::{Duration, Time};

/// The state of the controller. Delays are in seconds above the smallest round-trip time.
#[derive(Clone)]
pub(super) struct Pi {
    a: f64,
    b: f64,
    target: f64,
    period: Duration,
    probability: f64,
    last: f64,
    /// The time of the next sample.
    due: Time,
}

impl Pi {
    pub(super) fn new(settings: &Settings) -> Pi {
        let target = settings.number("pi_target");
        Pi {
            a: settings.number("pi_a"),
            b: settings.number("pi_b"),
            target,
            period: Duration::from_secs_f64(settings.number("pi_period")),
            probability: 0.0,
            last: target,
            due: Time::ZERO,
        }
    }

    #[inline]
    pub(super) fn probability(&mut self, seen: &Seen) -> f64 {
        if seen.now >= self.due && !seen.delay.is_nan() {
            self.sample(seen);
        }
        self.probability
    }

    /// One sample for this period, and one for each period without an acknowledgement: the delay has not
    /// changed in them.
    fn sample(&mut self, seen: &Seen) {
        let delay = seen.delay.max(0.0) * 1e-9;
        let late = seen.now.since(self.due).as_nanos() / self.period.as_nanos();
        // The clock starts with the first sample.
        let missed = if self.due == Time::ZERO { 0.0 } else { late as f64 };
        let change = self.a * (delay - self.target) - self.b * (self.last - self.target);
        let further = missed * (self.a - self.b) * (delay - self.target);
        self.probability = (self.probability + change + further).clamp(0.0, 1.0);
        self.last = delay;
        self.due = seen.now + self.period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme;
    use proptest::prelude::*;

    fn pi() -> Pi {
        Pi::new(&Settings::defaults(scheme("pert").expect("pert is there")))
    }

    fn at(pi: &mut Pi, ms: u64, delay_ms: f64) -> f64 {
        let delay = delay_ms * 1e6;
        pi.probability(&Seen { now: Time::from_nanos(ms * 1_000_000), base: 6e7, delay, raw: delay })
    }

    #[test]
    fn it_rises_above_the_target_and_falls_below_it() {
        let mut pi = pi();
        let high = (0..60_000).map(|ms| at(&mut pi, ms, 20.0)).last().expect("a last one");
        assert!(high > 0.01, "{high}");
        let low = (60_000..400_000).map(|ms| at(&mut pi, ms, 0.0)).last();
        assert_eq!(low, Some(0.0));
    }

    #[test]
    fn at_the_target_it_rests() {
        let mut pi = pi();
        for ms in 0..5000 {
            at(&mut pi, ms, 15.0);
        }
        let before = at(&mut pi, 5010, 5.0);
        let after = (5011..9000).map(|ms| at(&mut pi, ms, 5.0)).last().expect("a last one");
        assert!((before - after).abs() < 1e-12, "{before} {after}");
    }

    proptest! {
        #[test]
        fn it_is_a_probability(steps in prop::collection::vec((0u64..100_000, -10.0f64..1e5), 1..200)) {
            let (mut pi, mut now) = (pi(), 0);
            for (later, delay) in steps {
                now += later;
                let p = at(&mut pi, now, delay);
                prop_assert!((0.0..=1.0).contains(&p), "{p}");
            }
        }
    }
}
