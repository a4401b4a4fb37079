//! Reordering: some packets are delayed, and later ones overtake them.
//!
//! Source of the model: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks", 2006,
//! sections II.B and V.A. A share of the packets, chosen uniformly, is delayed by a normal random time of
//! mean 25 ms and standard deviation 8 ms. The source leaves two things open, which are decided here. The
//! delay comes after the transmitter, so that a delayed packet does not hold up the others. [`BelowZero`]
//! tells what happens to negative draws.
//!
//! [`BelowZero`]: crate::BelowZero

use crate::{Distribution, Rng, Share};
use ackclock_units::Duration;

/// Delays some of the packets.
#[derive(Clone, Debug)]
pub struct Reorder {
    share: Share,
    delay: Distribution,
    /// Separate from the stream of `share`: the same packets are chosen whatever their delay.
    stream: Rng,
}

impl Reorder {
    /// Delays the packets that `share` chooses. The `delay` is drawn from `stream`.
    pub fn new(share: Share, delay: Distribution, stream: Rng) -> Reorder {
        Reorder { share, delay, stream }
    }

    /// The delay of the next packet, if it is chosen.
    pub fn lateness(&mut self) -> Option<Duration> {
        self.share.takes().then(|| self.delay.draw(&mut self.stream))
    }
}
