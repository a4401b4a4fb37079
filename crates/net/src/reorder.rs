//! Reordering: some packets take longer, and later ones overtake them.
//!
//! Source of the model: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks", 2006,
//! sections II.B and V.A: a share of the packets, chosen uniformly, is delayed by a normal variate of mean
//! 25 ms and standard deviation 8 ms. Left open there, and decided here: the delay comes behind the transmitter,
//! so that a delayed packet does not hold up the others, and what becomes of draws below zero is [`BelowZero`].
//!
//! [`BelowZero`]: crate::BelowZero

use crate::{Share, Stream, Variate};
use ackclock_units::Duration;

/// Delays some of the packets.
#[derive(Clone, Debug)]
pub struct Reorder {
    share: Share,
    delay: Variate,
    /// Apart from the share's, so that the same packets are chosen whatever their delay.
    stream: Stream,
}

impl Reorder {
    /// Delays those that `share` takes by a `delay` that is drawn from `stream`.
    pub fn new(share: Share, delay: Variate, stream: Stream) -> Reorder {
        Reorder { share, delay, stream }
    }

    /// By how much the next packet is late, if it is chosen.
    pub fn lateness(&mut self) -> Option<Duration> {
        self.share.takes().then(|| self.delay.draw(&mut self.stream))
    }
}
