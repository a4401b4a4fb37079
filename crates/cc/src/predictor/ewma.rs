//! Exponentially weighted moving average of round-trip times.
//!
//! Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks" (dissertation, Texas
//! A&M University, 2006), section IV.A: weight 7/8 as in the estimate of TCP itself, and 0.99, its srtt_0.99.

use ackclock_units::Duration;

/// The average. It has no value before the first sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ewma {
    /// The weight of a new sample.
    gain: f64,
    /// The average in nanoseconds. NaN before the first sample, so that every comparison with it is false.
    value_ns: f64,
}

impl Ewma {
    /// An average that keeps the share `weight` (0 to 1) of its value at each sample.
    pub const fn new(weight: f64) -> Ewma {
        Ewma { gain: 1.0 - weight, value_ns: f64::NAN }
    }

    /// The same, but with the initial value `value` instead of the first sample.
    pub const fn starting_at(weight: f64, value: Duration) -> Ewma {
        Ewma { gain: 1.0 - weight, value_ns: value.as_nanos() as f64 }
    }

    /// Adds a sample: s = weight * s + (1 - weight) * rtt.
    #[inline]
    pub fn add(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos() as i64 as f64; // a signed conversion is one instruction
        self.value_ns =
            if self.value_ns.is_nan() { rtt } else { self.value_ns + self.gain * (rtt - self.value_ns) };
    }

    /// Adds a sample, and lowers the average to the sample if it is above: the conservative form of V.C.1.
    /// The order of both steps does not matter.
    #[inline]
    pub fn add_conservatively(&mut self, rtt: Duration) {
        self.add(rtt);
        self.value_ns = self.value_ns.min(rtt.as_nanos() as f64);
    }

    /// The average in nanoseconds; NaN before the first sample.
    #[inline]
    pub const fn nanos(&self) -> f64 {
        self.value_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_is_the_average() {
        let mut ewma = Ewma::new(0.99);
        assert!(ewma.nanos().is_nan());
        ewma.add(Duration::from_nanos(1000));
        assert_eq!(ewma.nanos(), 1000.0);
        ewma.add(Duration::from_nanos(2000));
        assert!((ewma.nanos() - 1010.0).abs() < 1e-9);
    }

    #[test]
    fn a_beginning_at_zero_is_a_low_pass() {
        let mut ewma = Ewma::starting_at(0.875, Duration::ZERO);
        for _ in 0..3 {
            ewma.add(Duration::from_nanos(512));
        }
        assert_eq!(ewma.nanos(), 512.0 - 343.0); // 512 (1 - (7/8)^3)
    }

    #[test]
    fn the_conservative_form_follows_downwards_at_once() {
        let mut ewma = Ewma::new(0.99);
        for ns in [1000, 2000, 900] {
            ewma.add_conservatively(Duration::from_nanos(ns));
        }
        assert_eq!(ewma.nanos(), 900.0);
        ewma.add_conservatively(Duration::from_nanos(1900));
        assert!((ewma.nanos() - 910.0).abs() < 1e-9);
    }
}
