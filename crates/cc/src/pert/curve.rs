//! Response curves: from the delay of an acknowledgement to the probability of an early response.

use super::seen::Seen;
use super::{pi::Pi, red::Red, rem::Rem};

/// A response curve.
#[derive(Clone)]
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
