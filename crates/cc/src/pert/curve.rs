//! Response curves: the probability that an acknowledgement's delay deserves an early response.

use super::{pi::Pi, red::Red, rem::Rem};
use ackclock_units::Time;

/// What a curve sees at an acknowledgement; spans in nanoseconds.
pub(super) struct Seen {
    /// The host's clock.
    pub(super) now: Time,
    /// The smallest round-trip time, P.
    pub(super) base: f64,
    /// The smoothed round-trip time above it; NaN before the first sample.
    pub(super) delay: f64,
    /// This acknowledgement's own round-trip time above it; NaN without a sample.
    pub(super) raw: f64,
}

/// One of the curves.
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
