//! The packets that wait in dequeue-driven links, and the instants at which the links are asked again.

use super::packets::{Acknowledgement, Segment};
use ackclock_net::Link;
use ackclock_units::Time;

/// A packet of either kind.
#[derive(Clone, Copy)]
pub(crate) enum QueuedPacket {
    Segment(Segment),
    Acknowledgement(Acknowledgement),
}

/// A waiting packet, and the exit before its link.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) exit: usize,
    pub(crate) packet: QueuedPacket,
}

/// A dequeue-driven link.
pub(crate) struct Transmitter {
    pub(crate) link: usize,
    /// Its earliest entry in the timers.
    pub(crate) entry: Time,
    /// The waiting packets, by ticket.
    held: Vec<Option<Held>>,
}

impl Transmitter {
    pub(crate) fn put(&mut self, ticket: u32, held: Held) {
        let place = ticket as usize;
        if place >= self.held.len() {
            self.held.resize(place + 1, None);
        }
        self.held[place] = Some(held);
    }

    pub(crate) fn take(&mut self, ticket: u32) -> Option<Held> {
        self.held.get_mut(ticket as usize)?.take()
    }
}

/// All dequeue-driven links of a run.
pub(crate) struct Transmitters(Vec<Transmitter>);

impl Transmitters {
    pub(crate) fn new(links: &[Link]) -> Transmitters {
        let stepped = links.iter().enumerate().filter(|(_, link)| link.is_stepped());
        let transmitter = |(link, _)| Transmitter { link, entry: Time::NEVER, held: Vec::new() };
        Transmitters(stepped.map(transmitter).collect())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of a link's transmitter.
    pub(crate) fn of(&self, link: usize) -> Option<usize> {
        self.0.binary_search_by_key(&link, |transmitter| transmitter.link).ok()
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> &mut Transmitter {
        &mut self.0[number]
    }

    /// All waiting packets.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Held> {
        self.0.iter().flat_map(|transmitter| transmitter.held.iter().flatten())
    }
}
