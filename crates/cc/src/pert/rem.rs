//! REM at the sender: a price from the mismatch of delay and of rate, and a probability from the price.
//!
//! Source: Bhandarkar 2006, section IV.C.8, equations 4.1 and 4.2, after S. Athuraliya, S. Low, V. Li, Q.
//! Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001. The delay of this acknowledgement is the
//! queue. Its change since the acknowledgement before is the rate mismatch. An empty queue cannot show that
//! the arrival rate is below the capacity; in that case the price decays.

use super::seen::Seen;
use crate::Settings;

/// The unit of equation 4.1.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Milliseconds,
    /// Multiples of the resolution. If that is one packet at the bottleneck, the unit is packets.
    Packets,
}

/// The curve. Delays are in nanoseconds above the smallest round-trip time.
#[derive(Clone)]
pub(super) struct Rem {
    gamma: f64,
    alpha: f64,
    phi: f64,
    /// The target delay, as a multiple of the resolution.
    target: f64,
    decay: f64,
    unit: Unit,
    /// True if a delay below the target lowers the price.
    lowers: bool,
    price: f64,
    /// The number of measurements in a row that did not change the price.
    unchanged: i32,
    /// The delay before; NaN at first.
    last: f64,
    resolution: Resolution,
}

impl Rem {
    pub(super) fn new(settings: &Settings) -> Rem {
        Rem {
            gamma: settings.number("rem_gamma"),
            alpha: settings.number("rem_alpha"),
            phi: settings.number("rem_phi"),
            target: settings.number("rem_target"),
            decay: settings.number("rem_decay"),
            unit: if settings.choice("rem_unit") == "packets" { Unit::Packets } else { Unit::Milliseconds },
            lowers: settings.choice("rem_below") == "lower",
            price: 0.0,
            unchanged: 0,
            last: f64::NAN,
            resolution: Resolution::default(),
        }
    }

    pub(super) fn probability(&mut self, seen: &Seen) -> f64 {
        if !seen.raw.is_nan() {
            self.measure(seen.raw);
        }
        1.0 - libm::pow(self.phi, -self.price) // equation 4.2
    }

    /// Equation 4.1, or the decay of the price.
    fn measure(&mut self, delay: f64) {
        let change = if self.last.is_nan() { 0.0 } else { delay - self.last };
        self.last = delay;
        if change > 0.0 {
            self.resolution.add(change);
        }
        let Some(resolution) = self.resolution.mode() else { return };
        let above = delay - self.target * resolution;
        let mismatch = if self.lowers { above } else { above.max(0.0) };
        let unit = match self.unit {
            Unit::Milliseconds => 1e6,
            Unit::Packets => resolution,
        };
        let step = self.gamma * (self.alpha * mismatch + change) / unit;
        let price = (self.price + step).max(0.0);
        if price == self.price && price > 0.0 {
            self.unchanged = self.unchanged.saturating_add(1);
            self.price *= libm::pow(self.decay, f64::from(self.unchanged));
        } else {
            self.unchanged = 0;
            self.price = price;
        }
    }

    pub(super) fn price(&self) -> f64 {
        self.price
    }
}

/// Quarter octaves from a nanosecond to nine seconds.
const BINS: usize = 132;

/// The most frequent positive change of the round-trip time: the mean of the fullest bin of a histogram.
#[derive(Clone)]
struct Resolution {
    bins: [(u32, f64); BINS],
    fullest: Option<usize>,
}

impl Default for Resolution {
    fn default() -> Resolution {
        Resolution { bins: [(0, 0.0); BINS], fullest: None }
    }
}

impl Resolution {
    fn add(&mut self, change: f64) {
        let octaves = 4.0 * libm::log2(change.max(1.0));
        let at = (octaves as usize).min(BINS - 1);
        let (count, mean) = &mut self.bins[at];
        *count = count.saturating_add(1);
        *mean += (change - *mean) / f64::from(*count);
        if self.fullest.is_none_or(|fullest| self.bins[fullest].0 < self.bins[at].0) {
            self.fullest = Some(at);
        }
    }

    fn mode(&self) -> Option<f64> {
        self.fullest.map(|fullest| self.bins[fullest].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme};
    use ackclock_units::Time;
    use proptest::prelude::*;

    fn rem(words: &[(&str, &str)]) -> Rem {
        let mut settings = Settings::defaults(scheme("pert").expect("pert is there"));
        for &(name, word) in words {
            settings.set(name, Given::Word(word)).expect("a known word");
        }
        Rem::new(&settings)
    }

    fn at(rem: &mut Rem, raw: f64) -> f64 {
        rem.probability(&Seen { now: Time::ZERO, base: 6e7, delay: raw, raw })
    }

    #[test]
    fn the_resolution_is_the_most_frequent_rise() {
        let mut resolution = Resolution::default();
        for change in [80_000.0, 80_000.0, 80_000.0, 160_000.0, 5e6] {
            resolution.add(change);
        }
        assert_eq!(resolution.mode(), Some(80_000.0));
    }

    #[test]
    fn equation_4_1() {
        let mut rem = rem(&[("rem_unit", "milliseconds")]);
        at(&mut rem, 0.0);
        at(&mut rem, 1e6); // the resolution is 1 ms, so the target is 2 ms: only the change counts
        assert!((rem.price() - 0.02).abs() < 1e-12);
        at(&mut rem, 2e6);
        let p = at(&mut rem, 5e6);
        let price = 0.04 + 0.02 * (0.8 * 3.0 + 3.0);
        assert!((rem.price() - price).abs() < 1e-12, "{}", rem.price());
        assert!((p - (1.0 - 1.001f64.powf(-price))).abs() < 1e-12);
    }

    #[test]
    fn packets_are_multiples_of_the_resolution() {
        let mut rem = rem(&[("rem_unit", "packets")]);
        for raw in [0.0, 80_000.0, 160_000.0, 240_000.0, 480_000.0] {
            at(&mut rem, raw);
        }
        let price = 0.02 * (1.0 + 1.0 + (0.8 + 1.0) + (0.8 * 4.0 + 3.0));
        assert!((rem.price() - price).abs() < 1e-9, "{}", rem.price());
    }

    #[test]
    fn an_unchanged_price_decays_faster_and_faster() {
        let mut rem = rem(&[]);
        for raw in [0.0, 1e6, 9e6, 0.0] {
            at(&mut rem, raw);
        }
        let before = rem.price();
        assert!(before > 0.0);
        for _ in 0..10 {
            at(&mut rem, 0.0);
        }
        let expected = before * 0.999f64.powi(10 * 11 / 2);
        assert!((rem.price() / expected - 1.0).abs() < 1e-9, "{} {expected}", rem.price());
    }

    #[test]
    fn a_delay_below_the_target_lowers_the_price_if_so_wanted() {
        let prices = ["hold", "lower"].map(|word| {
            let mut rem = rem(&[("rem_below", word)]);
            for raw in [0.0, 1e6, 9e6, 1e6, 1e6] {
                at(&mut rem, raw);
            }
            rem.price()
        });
        assert!(prices[1] < prices[0], "{prices:?}");
    }

    proptest! {
        #[test]
        fn it_is_a_probability(
            delays in prop::collection::vec(prop_oneof![0.0f64..1e3, 0.0f64..1e8, 0.0f64..1e11], 1..300),
            unit in prop::sample::select(vec!["milliseconds", "packets"]),
            below in prop::sample::select(vec!["hold", "lower"]),
        ) {
            let mut rem = rem(&[("rem_unit", unit), ("rem_below", below)]);
            for delay in delays {
                let p = at(&mut rem, delay);
                prop_assert!((0.0..=1.0).contains(&p), "{p}");
            }
        }

        #[test]
        fn the_more_delay_the_more_probability(
            delays in prop::collection::vec(0.0f64..1e8, 1..100),
            more in 1.0f64..3.0,
        ) {
            // Longer delays, with the resolution already known. Falling values are not compared.
            let mut one = rem(&[("rem_unit", "milliseconds")]);
            let mut other = rem(&[("rem_unit", "milliseconds")]);
            for each in [&mut one, &mut other] {
                for _ in 0..1000 {
                    at(each, 0.0);
                    at(each, 1e5);
                }
            }
            let mut rising = delays;
            rising.sort_by(f64::total_cmp);
            for delay in rising {
                let (less, greater) = (at(&mut one, delay), at(&mut other, delay * more));
                prop_assert!(greater >= less - 1e-12, "{greater} < {less}");
            }
        }
    }
}
