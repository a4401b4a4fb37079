//! Gates at links that retransmit: a packet that the link has corrupted comes back to its gate. It goes
//! before a packet that comes there at the same instant for the first time.

use super::Phases;
use super::cause::Cause;
use super::inbox::{Gate, Key};
use super::layout::Leg;
use crate::engine::packets::{Acknowledgement, Segment};
use ackclock_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A packet that comes back.
struct Returned<P> {
    due: Time,
    /// That of a packet which comes to the gate on this leg for the first time.
    cause: Cause,
    /// Those that came here before.
    order: u64,
    leg: usize,
    packet: P,
}

impl<P> Returned<P> {
    fn key(&self) -> (Time, Cause, u64) {
        (self.due, self.cause, self.order)
    }
}

impl<P> PartialEq for Returned<P> {
    fn eq(&self, other: &Returned<P>) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Returned<P> {}

impl<P> PartialOrd for Returned<P> {
    fn partial_cmp(&self, other: &Returned<P>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Returned<P> {
    fn cmp(&self, other: &Returned<P>) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The packets of a kind that come back to a gate, the earliest first.
pub(super) struct Returning<P> {
    heap: BinaryHeap<Reverse<Returned<P>>>,
    count: u64,
}

impl<P> Default for Returning<P> {
    fn default() -> Returning<P> {
        Returning { heap: BinaryHeap::new(), count: 0 }
    }
}

impl<P> Returning<P> {
    /// A packet is back at `due`, at the gate where `leg` begins.
    fn push(&mut self, due: Time, cause: Cause, leg: usize, packet: P) {
        self.count += 1;
        self.heap.push(Reverse(Returned { due, cause, order: self.count, leg, packet }));
    }

    /// When and with which cause the next one is back.
    fn turn(&self) -> Option<(Time, Cause)> {
        self.heap.peek().map(|Reverse(first)| (first.due, first.cause))
    }

    /// When the next one is back.
    pub(super) fn due(&self) -> Time {
        self.turn().map_or(Time::NEVER, |(due, _)| due)
    }

    fn pop(&mut self) -> Option<Returned<P>> {
        self.heap.pop().map(|Reverse(first)| first)
    }

    /// The legs of all of them.
    pub(super) fn legs(&self) -> impl Iterator<Item = usize> {
        self.heap.iter().map(|Reverse(entry)| entry.leg)
    }
}

/// Those of both kinds that come back to one gate.
#[derive(Default)]
pub(super) struct Back {
    pub(super) data: Returning<Segment>,
    pub(super) acks: Returning<Acknowledgement>,
}

/// Who passes the gate next.
enum Next {
    Segment(Key),
    Ack(Key),
    SegmentBack,
    AckBack,
}

impl Phases {
    /// What [`Phases::run_gate`] does, at the gate of a link that retransmits.
    pub(super) fn run_returning(&mut self, gate: usize, until: Time) {
        let Gate { mut data, mut acks } = std::mem::take(&mut self.gates[gate]);
        let ends = (data.sort(until, &mut self.room.0), acks.sort(until, &mut self.room.1));
        self.taken += (ends.0 + ends.1) as u64;
        let (mut segments, mut all_acks) = (0, 0);
        loop {
            let segment = data.ready(ends.0).0.get(segments).copied();
            let ack = acks.ready(ends.1).0.get(all_acks).copied();
            match self.next_at(gate, until, segment, ack) {
                Some(Next::Segment(key)) => {
                    segments += 1;
                    self.pass_segment(key, &mut data.ready(0).1[key.place()]);
                }
                Some(Next::Ack(key)) => {
                    all_acks += 1;
                    self.pass_ack(key, &mut acks.ready(0).1[key.place()]);
                }
                Some(Next::SegmentBack) => self.pass_segment_again(gate),
                Some(Next::AckBack) => self.pass_ack_again(gate),
                None => break,
            }
        }
        self.put_back(gate, data, acks, ends);
    }

    /// Of a segment and an acknowledgement that come, and of those that come back before `until`, the next
    /// one.
    fn next_at(&self, gate: usize, until: Time, segment: Option<Key>, ack: Option<Key>) -> Option<Next> {
        let back = &self.back[gate];
        let turn = |key: Key| (key.due(), key.cause());
        // Of the same turn, the first one goes first.
        let all = [
            back.data.turn().map(|turn| (turn, Next::SegmentBack)),
            segment.map(|key| (turn(key), Next::Segment(key))),
            back.acks.turn().map(|turn| (turn, Next::AckBack)),
            ack.map(|key| (turn(key), Next::Ack(key))),
        ];
        let before = all.into_iter().flatten().filter(|((due, _), _)| *due < until);
        before.min_by_key(|(turn, _)| *turn).map(|(_, next)| next)
    }

    fn pass_segment_again(&mut self, gate: usize) {
        let Some(Returned { due, cause, leg, packet, .. }) = self.back[gate].data.pop() else { return };
        self.taken += 1;
        let (from, Leg { stage, end }) = ((due, cause), &self.data[leg]);
        let end = *end;
        match stage.pass_again(&mut self.links, due, &packet, |_, _, _, _| {}) {
            Ok(later) => self.forward_segment(leg, end, later, from, &packet),
            Err(detour) => self.divert_segment(leg, from, detour, packet),
        }
    }

    fn pass_ack_again(&mut self, gate: usize) {
        let Some(Returned { due, cause, leg, packet, .. }) = self.back[gate].acks.pop() else { return };
        self.taken += 1;
        let Leg { stage, end } = &self.acks[leg];
        let end = *end;
        match stage.pass_again(&mut self.links, due, &packet, |_, _, _, _| {}) {
            Ok(later) => self.forward_ack(leg, end, later, &packet),
            Err(detour) => self.divert_ack(leg, (due, cause), detour, packet),
        }
    }

    /// A segment comes back to the gate of a leg at `due`.
    #[cold]
    pub(super) fn segment_returns(&mut self, leg: usize, due: Time, packet: Segment) {
        // Who comes for the first time does so at the exit of the leg before.
        let cause = Cause::segment(leg.saturating_sub(1) as u32);
        if let Some(gate) = self.gate_of(self.data[leg].stage.gate) {
            self.back[gate].data.push(due, cause, leg, packet);
        }
    }

    /// An acknowledgement comes back to the gate of a leg at `due`.
    #[cold]
    pub(super) fn ack_returns(&mut self, leg: usize, due: Time, packet: Acknowledgement) {
        let cause = Cause::ack(leg.saturating_sub(1) as u32);
        if let Some(gate) = self.gate_of(self.acks[leg].stage.gate) {
            self.back[gate].acks.push(due, cause, leg, packet);
        }
    }

    /// The gate at a link.
    fn gate_of(&self, link: Option<u32>) -> Option<usize> {
        self.gate_links.iter().position(|&other| Some(other) == link)
    }
}
