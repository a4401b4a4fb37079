//! The rate law of XRTP: rise towards the estimate, slow down by jitter, halve on congestion.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, sections 3.3 and 3.4, equations 3.4 and
//! 3.13.
//!
//! What differs: equation 3.13, rate = 3 / (sum of the last three positive jitters), is packets per second
//! only if jitter were an interval, and it answers a *small* jitter with an enormous rate. [`JitterLaw`] has
//! four readings. Only with [`JitterLaw::Arrivals`] does one set of constants share a link with TCP and fill
//! it beside constant traffic, as the thesis's tables 4.2 and 4.1 have it. The source states neither a start
//! nor limits: the start is a number of packets per handshake's round trip, and the rate stays between
//! [`Limits`].

use ackclock_units::{Duration, Time};

/// What a positive jitter does to the rate r. J is the mean of the last three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JitterLaw {
    /// r = min(r, S/I), where I is the mean inter-arrival time of the last three packets with positive
    /// jitter: equation 3.13 with intervals, which give it its unit. The rate falls to what arrives while the
    /// queue grows. A packet behind a loss has no interval.
    Arrivals,
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
    /// The last positive jitters, or the inter-arrival times of their packets, seconds; how many there were.
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

    /// A jitter in nanoseconds, and the inter-arrival time per packet, if the packets are successive. Only
    /// positive jitters count (equation 3.13).
    pub fn on_jitter(&mut self, jitter: i64, interval: Option<Duration>) {
        if jitter <= 0 {
            return;
        }
        self.positive[self.seen % 3] = match (self.law, interval) {
            (JitterLaw::Arrivals, Some(interval)) => interval.as_secs_f64(),
            (JitterLaw::Arrivals, None) => return,
            _ => jitter as f64 * 1e-9,
        };
        self.seen += 1;
        let known = self.seen.min(3);
        let mean = self.positive[..known].iter().sum::<f64>() / known as f64;
        self.set(match self.law {
            JitterLaw::Interval => (self.bits / (self.bits / self.rate + mean)).min(self.rate),
            JitterLaw::Arrivals | JitterLaw::Capped => self.rate.min(self.bits / mean),
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
    fn four_readings_of_equation_3_13() {
        let after = |reading, jitters: &[i64]| {
            let mut law = law(reading);
            let interval = |jitter: i64| Some(Duration::from_nanos((4_000_000 + jitter).unsigned_abs()));
            jitters.iter().for_each(|&jitter| law.on_jitter(jitter, interval(jitter)));
            law.rate()
        };
        // 4 ms per packet at 2 Mbit/s. A mean jitter of 1, 8 and 20 ms: 8, 1 and 0.4 Mbit/s as printed.
        for (ms, interval, capped, printed) in
            [(1, 1.6e6, 2e6, 8e6), (8, 8000.0 / 0.012, 1e6, 1e6), (20, 8000.0 / 0.024, 0.4e6, 0.4e6)]
        {
            let jitter = [-5, 0, ms * 1_000_000];
            assert!((after(JitterLaw::Interval, &jitter) - interval).abs() < 1e-3);
            assert!((after(JitterLaw::Arrivals, &jitter) - interval).abs() < 1e-3); // of a single packet
            assert!((after(JitterLaw::Capped, &jitter) - capped).abs() < 1e-3);
            assert!((after(JitterLaw::Printed, &jitter) - printed).abs() < 1e-3);
        }
        // Only the last three count.
        let four = [90_000_000, 1_000_000, 2_000_000, 3_000_000];
        assert!((after(JitterLaw::Printed, &four) - 4e6).abs() < 1e-3);
        // Each jitter of the reading Interval makes the interval longer, 4 + 90 + 45.5 + 31 + 2 ms here.
        assert!((after(JitterLaw::Interval, &four) - 8000.0 / 0.1725).abs() < 1e-3);
        // Intervals of 94, 5, 6 and 7 ms: the mean of the first three is the longest.
        assert!((after(JitterLaw::Arrivals, &four) - 8000.0 / 0.094).abs() < 1e-3);
        assert!((after(JitterLaw::Arrivals, &four[1..]) - 8000.0 / 0.006).abs() < 1e-3);
    }

    #[test]
    fn a_packet_behind_a_loss_has_no_interval_and_slows_nobody_down() {
        let mut law = law(JitterLaw::Arrivals);
        law.on_jitter(4_000_000, None);
        assert!((law.rate() - 2e6).abs() < 1e-3);
        law.on_jitter(4_000_000, Some(Duration::ZERO));
        assert!((law.rate() - 2e6).abs() < 1e-3, "no limit from packets that arrive at once");
        law.on_jitter(4_000_000, Some(Duration::from_millis(16)));
        assert!((law.rate() - 1e6).abs() < 1e-3, "the mean of 0 and 16 ms");
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
            reading in prop_oneof![
                Just(JitterLaw::Arrivals), Just(JitterLaw::Interval), Just(JitterLaw::Capped), Just(JitterLaw::Printed)
            ],
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
                        law.on_jitter(jitter, Some(Duration::from_nanos(jitter.unsigned_abs())));
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
