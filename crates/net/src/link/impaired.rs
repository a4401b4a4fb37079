//! Links on which things go wrong: what may happen to a packet, and in which order.
//!
//! A packet is lost before the queue; what is let in is transmitted, and may be late behind the transmitter.

use super::{Cause, Fate, Link};
use crate::{Carried, Loss, Reorder};
use ackclock_units::Time;

/// What goes wrong on a link besides what its queue does.
#[derive(Clone, Debug, Default)]
pub struct Impairments {
    /// Which packets are lost before they reach the queue.
    pub loss: Option<Loss>,
    /// Which packets are late, and by how much.
    pub reorder: Option<Reorder>,
}

impl Impairments {
    /// Do packets arrive in the order in which they were offered?
    pub(super) fn keep_order(&self) -> bool {
        self.reorder.is_none()
    }
}

impl Link {
    /// Offers a packet to a link with impairments.
    #[inline(never)] // out of the way of plain links
    pub(super) fn offer_impaired<P: Carried>(&mut self, now: Time, packet: &mut P) -> Fate {
        if self.impaired(|impairments| impairments.loss.as_mut()).is_some_and(Loss::strikes) {
            self.counters.errors += 1;
            return Fate::Dropped(Cause::Error);
        }
        if let Some(cause) = self.refuse(now, packet) {
            return Fate::Dropped(cause);
        }
        let arrival = self.transmit(now) + self.delay;
        let reorder = self.impaired(|impairments| impairments.reorder.as_mut());
        let Some(late) = reorder.and_then(Reorder::lateness) else { return Fate::Arrives(arrival) };
        self.counters.late += 1;
        Fate::Arrives(arrival + late)
    }

    /// One of the impairments, if this link has it.
    fn impaired<T>(&mut self, which: impl FnOnce(&mut Impairments) -> Option<&mut T>) -> Option<&mut T> {
        self.impairments.as_deref_mut().and_then(which)
    }
}
