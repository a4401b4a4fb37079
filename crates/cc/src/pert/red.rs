//! The response curve of gentle RED, over delay instead of queue length (section IV.B, Figure 42).

use super::seen::Seen;
use crate::Settings;

const NS_PER_S: f64 = 1e9;

/// The end of the second ramp. The ramp begins at maxthresh.
#[derive(Clone, Copy, PartialEq)]
enum Ramp {
    /// Twice the queueing delay of maxthresh.
    Delay,
    /// Twice maxthresh, with the path's own round-trip time included.
    Literal,
}

/// The curve. Delays are in nanoseconds above the smallest round-trip time.
#[derive(Clone)]
pub(super) struct Red {
    min: f64,
    max: f64,
    /// The probability at `max`.
    most: f64,
    ramp: Ramp,
}

impl Red {
    pub(super) fn new(settings: &Settings) -> Red {
        Red {
            min: settings.number("min_delay") * NS_PER_S,
            max: settings.number("max_delay") * NS_PER_S,
            most: settings.number("max_probability"),
            ramp: if settings.choice("ramp") == "literal" { Ramp::Literal } else { Ramp::Delay },
        }
    }

    #[inline]
    pub(super) fn probability(&self, seen: &Seen) -> f64 {
        // Without a sample the delay is NaN, and the comparison is false.
        if seen.delay > self.min { self.above(seen) } else { 0.0 }
    }

    fn above(&self, seen: &Seen) -> f64 {
        if seen.delay < self.max {
            return self.most * (seen.delay - self.min) / (self.max - self.min);
        }
        let width = match self.ramp {
            Ramp::Delay => self.max,
            Ramp::Literal => seen.base + self.max,
        };
        (self.most + (1.0 - self.most) * (seen.delay - self.max) / width).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme};
    use ackclock_units::Time;
    use proptest::prelude::*;

    const MS: f64 = 1e6;

    fn red(numbers: &[(&str, f64)], ramp: &str) -> Red {
        let mut settings = Settings::defaults(scheme("pert").expect("pert is there"));
        settings.set("ramp", Given::Word(ramp)).expect("a known word");
        for &(name, number) in numbers {
            settings.set(name, Given::Number(number)).expect("in range");
        }
        Red::new(&settings)
    }

    fn at(red: &Red, base: f64, delay: f64) -> f64 {
        red.probability(&Seen { now: Time::ZERO, base, delay, raw: delay })
    }

    #[test]
    fn figure_42() {
        for (ramp, end) in [("delay", 20.0), ("literal", 80.0)] {
            let red = red(&[], ramp);
            let p = |ms: f64| at(&red, 60.0 * MS, ms * MS);
            assert_eq!((p(-1.0), p(0.0), p(5.0), p(f64::NAN)), (0.0, 0.0, 0.0, 0.0));
            assert!((p(7.5) - 0.025).abs() < 1e-12);
            assert!((p(10.0) - 0.05).abs() < 1e-12);
            assert!(p(end - 0.1) < 1.0);
            assert_eq!((p(end), p(1000.0)), (1.0, 1.0));
            assert!((p((10.0 + end) / 2.0) - 0.525).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn it_never_falls_with_the_delay_and_stays_a_probability(
            min in 0.0f64..10.0,
            max in 0.0f64..10.0,
            most in 0.0f64..=1.0,
            base in 0.0f64..1e10,
            literal: bool,
            mut delays in prop::collection::vec(-1e9f64..1e11, 2..40),
        ) {
            let numbers = [("min_delay", min), ("max_delay", max), ("max_probability", most)];
            let red = red(&numbers, if literal { "literal" } else { "delay" });
            delays.sort_by(f64::total_cmp);
            let mut last = 0.0;
            for delay in delays {
                let p = at(&red, base, delay);
                prop_assert!((0.0..=1.0).contains(&p) && p >= last, "{p} at {delay}, {last} before");
                last = p;
            }
        }
    }
}
