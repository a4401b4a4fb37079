//! Links with a dequeue-driven queue. The queue decides when the transmitter is free, so a packet waits in
//! the link's own queue, and the host is told when to ask again.
//!
//! If the fate of a packet is [`Fate::Queued`], the host [holds](Link::hold) the packet under a ticket. The
//! host asks for [decisions](Link::settle) right after that, and whenever one is [due](Link::due). Each
//! decision names a ticket, and the host forwards that packet. A decision is made for its own instant,
//! however late the host asks: all decisions that are due are made before a later packet is queued.

use super::{Cause, Fate, Link};
use crate::queue::{Queue, Sent, Stepped, Waiting};
use crate::{Headers, Packet};
use ackclock_units::Time;
use std::collections::VecDeque;

/// The decision about a packet that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The ticket of the packet.
    pub ticket: u32,
    /// The instant of the decision.
    pub at: Time,
    /// The instant at which the last bit leaves the transmitter. Equal to `at` if the packet was dropped by
    /// the queue.
    pub departure: Time,
    /// Whether the packet arrives, and when.
    pub fate: Fate,
    /// True if the queue marked the packet.
    pub marked: bool,
}

/// The link's own state for such a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// Decisions that the host has not asked for yet.
    settled: VecDeque<Settled>,
    /// The instant at which the queue last became non-empty.
    filled_at: Time,
    /// The instant up to which the waiting time of the queued packets is counted.
    counted_to: Time,
    /// True if the queue gave the transmitter a packet when it was last asked.
    worked: bool,
}

impl Link {
    /// True if the queue decides when the transmitter is free.
    pub fn is_stepped(&self) -> bool {
        self.stepped().is_some()
    }

    pub(super) fn stepped(&self) -> Option<&Stepped> {
        if let Queue::Stepped(queue) = &self.queue { Some(queue) } else { None }
    }

    /// Queues a packet whose fate was [`Fate::Queued`]. To be called at the same instant `now`. Returns the
    /// ticket under which the decision will come. Tickets are small numbers and are reused.
    pub fn hold<P: Packet>(&mut self, now: Time, headers: Headers, packet: &P) -> u32 {
        self.decide(now);
        self.count_waiting(now);
        let idle = self.free_at <= now;
        // A computed link never holds packets.
        let Queue::Stepped(queue) = &mut self.queue else { return u32::MAX };
        if queue.pool().packets() == 0 {
            queue.steps.filled_at = now;
        }
        let Headers { flow, ack } = headers;
        let waiting = Waiting { since: now, flow, bytes: packet.bytes(), ecn: packet.ecn(), ack };
        let (ticket, cause) = queue.enqueue(waiting, idle);
        let dropped = queue.settle_dropped(now, cause);
        // A packet that the transmitter takes at once does not wait.
        let waiting = if idle { 0 } else { queue.pool().packets() };
        self.counters.longest = self.counters.longest.max(waiting);
        self.counters.add_drops(cause, dropped);
        ticket
    }

    /// The instant of the next decision, if a packet waits.
    pub fn due(&self) -> Option<Time> {
        let queue = self.stepped().filter(|queue| queue.pool().packets() > 0)?;
        Some(self.free_at.max(queue.steps.filled_at))
    }

    /// The next decision that was due by `now`. Call it until it returns `None`.
    pub fn settle(&mut self, now: Time) -> Option<Settled> {
        if self.stepped()?.steps.settled.is_empty() {
            self.decide(now);
        }
        let Queue::Stepped(queue) = &mut self.queue else { return None };
        let settled = queue.steps.settled.pop_front()?;
        queue.release(settled.ticket);
        Some(settled)
    }

    /// Makes all decisions that are due by `now`.
    fn decide(&mut self, now: Time) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
            self.step(due);
        }
        // A transmitter that becomes free asks for a packet even if the queue is empty.
        if self.free_at <= now && self.stepped().is_some_and(|queue| queue.steps.worked) {
            self.step(self.free_at);
        }
    }

    /// The transmitter asks for a packet at `at`.
    fn step(&mut self, at: Time) {
        self.count_waiting(at);
        let Queue::Stepped(queue) = &mut self.queue else { return };
        let sent = queue.dequeue(at);
        queue.steps.worked = sent.is_some();
        let dropped = queue.settle_dropped(at, Cause::Early);
        self.counters.add_drops(Cause::Early, dropped);
        let Some(Sent { place, marked }) = sent else { return };
        let bytes = queue.pool()[place].bytes;
        if marked {
            self.counters.others().marks += 1;
        }
        self.size(bytes);
        let departure = self.transmit_at_any_rate(at);
        let fate = self.leave(departure);
        if let Queue::Stepped(queue) = &mut self.queue {
            queue.steps.settled.push_back(Settled { ticket: place, at, departure, fate, marked });
        }
    }

    /// Adds the waiting time of the queued packets up to `now`.
    fn count_waiting(&mut self, now: Time) {
        self.counters.waited_ns = self.counters.waited_ns.saturating_add(self.waited_uncounted(now));
        if let Queue::Stepped(queue) = &mut self.queue {
            queue.steps.counted_to = queue.steps.counted_to.max(now);
        }
    }

    /// The waiting time that is not counted yet, summed over packets, in ns.
    pub(super) fn waited_uncounted(&self, now: Time) -> u64 {
        self.stepped().map_or(0, |queue| {
            let span = now.since(queue.steps.counted_to).as_nanos();
            span.saturating_mul(u64::from(queue.pool().packets()))
        })
    }
}

impl Stepped {
    /// Records a drop for each packet in `dropped`. Returns their number.
    fn settle_dropped(&mut self, at: Time, cause: Cause) -> u64 {
        let fate = Fate::Dropped(cause);
        let settled = |&ticket: &u32| Settled { ticket, at, departure: at, fate, marked: false };
        self.steps.settled.extend(self.dropped.iter().map(settled));
        self.dropped.len() as u64
    }
}
