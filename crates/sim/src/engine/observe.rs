//! What may watch a run. A watcher is a type parameter of the engine, so one that is off costs nothing.

use ackclock_net::Fate;
use ackclock_tcp::{Ack, Data, Sender};
use ackclock_units::{Duration, Time};

/// A packet as it is offered to a link.
#[derive(Clone, Copy, Debug)]
pub enum Carrying<'a> {
    /// A segment of this flow.
    Data(u32, &'a Data),
    /// An acknowledgement of this flow.
    Ack(u32, &'a Ack),
    /// A datagram of this stream, with its number and bytes.
    Datagram(u32, &'a Data),
}

/// A watcher of runs. Nothing has a default: a watcher that holds others and forgets to pass a call on would watch less
/// than it seems to, and nobody would notice.
pub trait Observer {
    /// A packet met its fate at a link; if it arrives, it left the transmitter `delay` before: the propagation
    /// delay, and more if the packet is late. One that returns or waits meets another fate at the same link later.
    fn at_link(&mut self, link: usize, delay: Duration, packet: Carrying<'_>, fate: Fate);

    /// The fate of a packet that has waited in a link's own queue was settled at `now`; `delay` is as above.
    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: Carrying<'_>, fate: Fate);

    /// A sender has dealt with an acknowledgement or a timeout.
    fn at_sender(&mut self, now: Time, flow: usize, sender: &Sender);
}

/// Two watchers of the same run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn at_link(&mut self, link: usize, delay: Duration, packet: Carrying<'_>, fate: Fate) {
        self.0.at_link(link, delay, packet, fate);
        self.1.at_link(link, delay, packet, fate);
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: Carrying<'_>, fate: Fate) {
        self.0.at_transmitter(now, link, delay, packet, fate);
        self.1.at_transmitter(now, link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &Sender) {
        self.0.at_sender(now, flow, sender);
        self.1.at_sender(now, flow, sender);
    }
}

/// A watcher that is perhaps not there.
impl<A: Observer> Observer for Option<A> {
    fn at_link(&mut self, link: usize, delay: Duration, packet: Carrying<'_>, fate: Fate) {
        if let Some(watcher) = self {
            watcher.at_link(link, delay, packet, fate);
        }
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: Carrying<'_>, fate: Fate) {
        if let Some(watcher) = self {
            watcher.at_transmitter(now, link, delay, packet, fate);
        }
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &Sender) {
        if let Some(watcher) = self {
            watcher.at_sender(now, flow, sender);
        }
    }
}

/// Nobody watches.
pub struct Nobody;

impl Observer for Nobody {
    #[inline(always)]
    fn at_link(&mut self, _: usize, _: Duration, _: Carrying<'_>, _: Fate) {}

    #[inline(always)]
    fn at_transmitter(&mut self, _: Time, _: usize, _: Duration, _: Carrying<'_>, _: Fate) {}

    #[inline(always)]
    fn at_sender(&mut self, _: Time, _: usize, _: &Sender) {}
}
