//! Response curves: from the delay of an acknowledgement to the probability of an early response.

use super::{pi::Pi, red::Red, rem::Rem};
use ackclock_units::Time;

/// The input of a curve at an acknowledgement. Times are in nanoseconds.
pub(super) struct Seen {
    /// The host's clock.
    pub(super) now: Time,
    /// P, the smallest round-trip time.
    pub(super) base: f64,
    /// The smoothed round-trip time minus `base`; NaN before the first sample.
    pub(super) delay: f64,
    /// The raw round-trip time of this acknowledgement minus `base`; NaN without a sample.
    pub(super) raw: f64,
}

/// A response curve.
pub(super) enum Curve {
    Red(Red),
    Rem(Box<Rem>),
    Pi(Pi),
}

impl Curve {
    /// The probability, 0 to 1.
    #[inline]
    pub(super) fn probability(&mut self, seen: &Seen) -> f64 {
        match self {
            Curve::Red(red) => red.probability(seen),
            Curve::Rem(rem) => rem.probability(seen),
            Curve::Pi(pi) => pi.probability(seen),
        }
    }
}
