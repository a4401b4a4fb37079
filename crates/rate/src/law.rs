//! The rate law of XRTP: rise towards the estimate, slow down by jitter, halve on congestion.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, sections 3.3 and 3.4, equations 3.4 and
//! 3.13.
//!
//! What differs: equation 3.13, rate = 3 / (sum of the last three positive jitters), is packets per second
//! only if jitter were an interval, and it answers a *small* jitter with an enormous rate. [`JitterLaw`] has
//! the reading that reproduces the thesis's results, the same equation as a limit, and the printed one. The
//! source states neither a start nor limits: the start is a number of packets per handshake's round trip, and
//! the rate stays between [`Limits`].

use ackclock_units::{Duration, Time};

/// What a positive jitter does to the rate r. J is the mean of the last three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JitterLaw {
    /// The interval grows by J: r = S / (S/r + J). It never raises the rate.
    Interval,
    /// r = min(r, S/J).
    Capped,
    /// r = S/J, as equation 3.13 is printed.
    Printed,
}

/// The least and the highest rate, bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// The least rate, above 0.
    pub least: f64,
    /// The highest rate.
    pub most: f64,
}

impl Limits {
    /// `rate` within the limits; the least for what is no number.
    pub fn hold(&self, rate: f64) -> f64 {
        if rate.is_nan() { self.least } else { rate.clamp(self.least, self.most.max(self.least)) }
    }
}

/// The rate before the first estimate: `packets` of `bits` each per round trip of the handshake, bit/s.
pub fn start(packets: f64, bits: f64, handshake: Duration) -> f64 {
    packets * bits / handshake.as_secs_f64().max(1e-6)
}

/// The rate and what moves it.
#[derive(Clone, Debug)]
pub struct RateLaw {
    law: JitterLaw,
    limits: Limits,
    /// S, bits.
    bits: f64,
    /// bit/s
    rate: f64,
    /// The last positive jitters, seconds; how many there were.
    positive: [f64; 3],
    seen: usize,
    /// No halving before this instant.
    guard: Time,
    halvings: u64,
}

impl RateLaw {
    /// The law for packets of `bits`, from `rate` bit/s on.
    pub fn new(law: JitterLaw, limits: Limits, bits: f64, rate: f64) -> RateLaw {
        let rate = limits.hold(rate);
        RateLaw { law, limits, bits, rate, positive: [0.0; 3], seen: 0, guard: Time::ZERO, halvings: 0 }
    }

    /// The rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Halvings so far.
    pub fn halvings(&self) -> u64 {
        self.halvings
    }

    /// Sets the rate, bit/s.
    pub fn set(&mut self, rate: f64) {
        self.rate = self.limits.hold(rate);
    }

    /// A pair gave the estimate `target`, bit/s (equation 3.4).
    pub fn on_estimate(&mut self, alpha: f64, target: f64) {
        self.set(alpha * self.rate + (1.0 - alpha) * target);
    }

    /// A jitter in nanoseconds. Only positive ones count (equation 3.13).
    pub fn on_jitter(&mut self, jitter: i64) {
        if jitter <= 0 {
            return;
        }
        self.positive[self.seen % 3] = jitter as f64 * 1e-9;
        self.seen += 1;
        let known = self.seen.min(3);
        let mean = self.positive[..known].iter().sum::<f64>() / known as f64;
        self.set(match self.law {
            JitterLaw::Interval => (self.bits / (self.bits / self.rate + mean)).min(self.rate),
            JitterLaw::Capped => self.rate.min(self.bits / mean),
            JitterLaw::Printed => self.bits / mean,
        });
    }

    /// True while labels have no effect: within a round trip after a halving.
    pub fn is_guarded(&self, now: Time) -> bool {
        now < self.guard
    }

    /// A loss labelled congestion: halves the rate, at most once per `srtt`.
    pub fn on_congestion(&mut self, now: Time, srtt: Duration) {
        if !self.is_guarded(now) {
            self.set(self.rate / 2.0);
            self.guard = now + srtt;
            self.halvings += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits { least: 8000.0, most: 1e11 };

    fn law(law: JitterLaw) -> RateLaw {
        RateLaw::new(law, LIMITS, 8000.0, 2e6)
    }

    #[test]
    fn three_readings_of_equation_3_13() {
        let after = |reading, jitters: &[i64]| {
            let mut law = law(reading);
            jitters.iter().for_each(|&jitter| law.on_jitter(jitter));
            law.rate()
        };
        // 4 ms per packet at 2 Mbit/s. A mean jitter of 1, 8 and 20 ms: 8, 1 and 0.4 Mbit/s as printed.
        for (ms, interval, capped, printed) in
            [(1, 1.6e6, 2e6, 8e6), (8, 8000.0 / 0.012, 1e6, 1e6), (20, 8000.0 / 0.024, 0.4e6, 0.4e6)]
        {
            let jitter = [-5, 0, ms * 1_000_000];
            assert!((after(JitterLaw::Interval, &jitter) - interval).abs() < 1e-3);
            assert!((after(JitterLaw::Capped, &jitter) - capped).abs() < 1e-3);
            assert!((after(JitterLaw::Printed, &jitter) - printed).abs() < 1e-3);
        }
        // Only the last three count.
        let four = [90_000_000, 1_000_000, 2_000_000, 3_000_000];
        assert!((after(JitterLaw::Printed, &four) - 4e6).abs() < 1e-3);
    }

    #[test]
    fn estimates_are_smoothed_and_halvings_guarded() {
        let mut law = law(JitterLaw::Interval);
        law.on_estimate(0.8, 4e6);
        assert!((law.rate() - 2.4e6).abs() < 1e-3);
        let (at, srtt) = (|ms: u64| Time::from_nanos(ms * 1_000_000), Duration::from_millis(82));
        for (ms, halvings) in [(0, 1), (81, 1), (82, 2), (163, 2), (164, 3)] {
            law.on_congestion(at(ms), srtt);
            assert_eq!(law.halvings(), halvings);
        }
        assert!((law.rate() - 0.3e6).abs() < 1e-3);
    }

    #[test]
    fn the_start_is_two_packets_per_round_trip() {
        assert!((start(2.0, 8000.0, Duration::from_millis(80)) - 2e5).abs() < 1e-6);
        assert!(start(2.0, 8000.0, Duration::ZERO).is_finite());
    }

    proptest! {
        #[test]
        fn rates_are_bounded_and_the_interval_never_raises_one(
            reading in prop_oneof![Just(JitterLaw::Interval), Just(JitterLaw::Capped), Just(JitterLaw::Printed)],
            events in proptest::collection::vec((0..3, any::<i64>(), any::<f64>()), 1..200),
        ) {
            let mut law = law(reading);
            let mut now = Time::ZERO;
            let mut last = None;
            for (what, jitter, estimate) in events {
                let (before, halvings) = (law.rate(), law.halvings());
                now += Duration::from_millis(jitter.unsigned_abs() % 40);
                match what {
                    0 => {
                        law.on_jitter(jitter);
                        prop_assert!(reading == JitterLaw::Printed || law.rate() <= before);
                    }
                    1 => law.on_estimate(0.8, estimate),
                    _ => law.on_congestion(now, Duration::from_millis(82)),
                }
                prop_assert!((LIMITS.least..=LIMITS.most).contains(&law.rate()));
                if law.halvings() > halvings {
                    prop_assert!(last.is_none_or(|last| now.since(last) >= Duration::from_millis(82)));
                    last = Some(now);
                }
            }
        }
    }
}
