//! Links whose queue decides when the transmitter is free: packets wait in the link's own queue, and the host is told
//! when to ask again.
//!
//! The host [holds](Link::hold) what [waits](Fate::Waits) under the ticket that it is given, asks what
//! [became settled](Link::settle) after that and whenever a decision is [due](Link::due), and takes each packet from there.
//! Decisions are made at their own instants, however late the host asks: before anything that comes later is taken in.

use super::{Cause, Fate, Link};
use crate::Carried;
use crate::queue::{Queue, Sent, Stepped, Waiting};
use ackclock_units::Time;
use std::collections::VecDeque;

/// What became of a packet that had waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// Which one it is.
    pub ticket: u32,
    /// When that was decided.
    pub at: Time,
    /// When its last bit leaves the transmitter, if it gets there.
    pub departure: Time,
    /// Whether and when it arrives.
    pub fate: Fate,
    /// Has it been marked?
    pub marked: bool,
}

/// What a link keeps of its queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// What was decided and not yet asked for.
    settled: VecDeque<Settled>,
    /// When the queue last ceased to be empty.
    filled_at: Time,
    /// Up to when the waiting packets' time is counted.
    counted_to: Time,
    /// Has the transmitter been given a packet since it last found the queue empty?
    worked: bool,
}

impl Link {
    /// Does its queue decide when the transmitter is free?
    pub fn is_stepped(&self) -> bool {
        self.stepped().is_some()
    }

    pub(super) fn stepped(&self) -> Option<&Stepped> {
        if let Queue::Stepped(queue) = &self.queue { Some(queue) } else { None }
    }

    /// Takes a packet in of which it was said that it [waits](Fate::Waits), at the same instant. `flow` tells the
    /// packet's flow from others. Returns the ticket under which it will be settled; tickets are small, and used again.
    pub fn hold<P: Carried>(&mut self, now: Time, flow: u64, packet: &P) -> u32 {
        self.decide(now);
        self.count_waiting(now);
        let idle = self.free_at <= now;
        let Queue::Stepped(queue) = &mut self.queue else { return u32::MAX }; // nothing waits at a computed link
        if queue.pool().packets() == 0 {
            queue.steps.filled_at = now;
        }
        let ticket =
            queue.enqueue(Waiting { since: now, flow, bytes: packet.bytes(), ecn: packet.ecn() }, idle);
        self.counters.overflows += queue.settle_dropped(now, Cause::Overflow);
        // What the transmitter takes at once does not wait.
        let waiting = if idle { 0 } else { queue.pool().packets() };
        self.counters.longest = self.counters.longest.max(waiting);
        ticket
    }

    /// When the next decision is due, if something waits.
    pub fn due(&self) -> Option<Time> {
        let queue = self.stepped().filter(|queue| queue.pool().packets() > 0)?;
        Some(self.free_at.max(queue.steps.filled_at))
    }

    /// The next packet whose fate is settled by `now`; to be called until there is none.
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
        // The transmitter asks for a packet when it becomes free, even if there is none.
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
        self.counters.early += queue.settle_dropped(at, Cause::Early);
        let Some(Sent { place, marked }) = sent else { return };
        let bytes = queue.pool()[place].bytes;
        self.counters.marks += u64::from(marked);
        self.size(bytes);
        let departure = self.transmit(at);
        let fate = self.behind_the_channel(Fate::Arrives(departure + self.delay));
        if let Queue::Stepped(queue) = &mut self.queue {
            queue.steps.settled.push_back(Settled { ticket: place, at, departure, fate, marked });
        }
    }

    /// Adds what packets have waited up to `now`.
    fn count_waiting(&mut self, now: Time) {
        self.counters.waited_ns = self.counters.waited_ns.saturating_add(self.waited_uncounted(now));
        if let Queue::Stepped(queue) = &mut self.queue {
            queue.steps.counted_to = queue.steps.counted_to.max(now);
        }
    }

    /// Time that packets have waited since that was counted last, summed over packets, ns.
    pub(super) fn waited_uncounted(&self, now: Time) -> u64 {
        self.stepped().map_or(0, |queue| {
            let span = now.since(queue.steps.counted_to).as_nanos();
            span.saturating_mul(u64::from(queue.pool().packets()))
        })
    }
}

impl Stepped {
    /// Settles what was dropped last; returns how many packets that are.
    fn settle_dropped(&mut self, at: Time, cause: Cause) -> u64 {
        let fate = Fate::Dropped(cause);
        let settled = |&ticket: &u32| Settled { ticket, at, departure: at, fate, marked: false };
        self.steps.settled.extend(self.dropped.iter().map(settled));
        self.dropped.len() as u64
    }
}
