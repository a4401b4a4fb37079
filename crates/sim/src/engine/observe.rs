//! Observers of a run. The observer is a type parameter of the engine of events, so that no observer costs
//! nothing. [`Simulation`](super::Simulation) has it compiled for none and for any, and nobody else needs to.

use ackclock_net::Fate;
use ackclock_tcp::{Ack, Data, Sender};
use ackclock_units::{Duration, Time};

/// A packet at the moment when it is offered to a link.
#[derive(Clone, Copy, Debug)]
pub enum PacketRef<'a> {
    /// A segment of this flow.
    Data(u32, &'a Data),
    /// An acknowledgement of this flow.
    Ack(u32, &'a Ack),
    /// A packet of this rate-based flow. The segment holds a number that counts its packets, and bytes.
    Datagram(u32, &'a Data),
    /// An acknowledgement of this rate-based flow. It holds a number that counts them, and bytes.
    Report(u32, &'a Ack),
    /// A datagram of this stream. The segment holds its number and bytes.
    CbrPacket(u32, &'a Data),
}

/// An observer of runs. No method has a default: an observer that wraps others and forgets to forward a call
/// would miss events, and nobody would notice.
pub trait Observer {
    /// A packet met its fate at a link. If it arrives, it left the transmitter `delay` before: the
    /// propagation delay, and more if the packet is late. A packet that returns or waits meets another fate
    /// at the same link later.
    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate);

    /// The fate of a packet that waited in a link's own queue was decided at `now`. `delay` is as above.
    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate);

    /// A sender has processed an acknowledgement or a timeout.
    fn at_sender(&mut self, now: Time, flow: usize, sender: &Sender);
}

/// Several observers of the same run. Each sees an event before the next one does.
impl Observer for Vec<&mut dyn Observer> {
    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.iter_mut().for_each(|watcher| watcher.at_link(link, delay, packet, fate));
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.iter_mut().for_each(|watcher| watcher.at_transmitter(now, link, delay, packet, fate));
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &Sender) {
        self.iter_mut().for_each(|watcher| watcher.at_sender(now, flow, sender));
    }
}

/// Any observer.
impl Observer for &mut dyn Observer {
    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        (**self).at_link(link, delay, packet, fate);
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        (**self).at_transmitter(now, link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &Sender) {
        (**self).at_sender(now, flow, sender);
    }
}

/// No observer.
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline(always)]
    fn at_link(&mut self, _: usize, _: Duration, _: PacketRef<'_>, _: Fate) {}

    #[inline(always)]
    fn at_transmitter(&mut self, _: Time, _: usize, _: Duration, _: PacketRef<'_>, _: Fate) {}

    #[inline(always)]
    fn at_sender(&mut self, _: Time, _: usize, _: &Sender) {}
}
