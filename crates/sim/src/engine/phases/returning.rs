//! Gates at links that retransmit: a packet that the link has corrupted comes back to its gate. It goes
//! before a packet that comes there at the same instant for the first time.

use super::Phases;
use super::cause::Cause;
use super::inbox::{Gate, Key};
use super::layout::Leg;
use super::watch::{Watch, seen};
use crate::engine::packets::{Acknowledgement, Segment};
use crate::engine::reorder_heap::ReorderHeap;
use ackclock_units::Time;

/// The packets of both kinds that come back to one gate. As for those that come for the first time, their
/// exits are those of the legs before.
#[derive(Default)]
pub(super) struct Back {
    pub(super) data: ReorderHeap<Segment>,
    pub(super) acks: ReorderHeap<Acknowledgement>,
}

impl Back {
    /// When the next one is back.
    pub(super) fn due(&self) -> Time {
        let of_both = [self.data.next(), self.acks.next()];
        of_both.into_iter().flatten().map(|(due, _)| due).fold(Time::NEVER, Time::min)
    }
}

/// Who passes the gate next.
enum Next {
    Segment(Key),
    Ack(Key),
    SegmentBack,
    AckBack,
}

impl<W: Watch> Phases<W> {
    /// What [`Phases::run_gate`] does, at the gate of a link that retransmits.
    pub(super) fn run_returning(&mut self, gate: usize, until: Time) {
        let Gate { mut data, mut acks } = std::mem::take(&mut self.gates[gate]);
        let ends = (data.sort(until, &mut self.room), acks.sort(until, &mut self.room));
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
            back.data.next().map(|(due, exit)| ((due, Cause::segment(exit)), Next::SegmentBack)),
            segment.map(|key| (turn(key), Next::Segment(key))),
            back.acks.next().map(|(due, exit)| ((due, Cause::ack(exit)), Next::AckBack)),
            ack.map(|key| (turn(key), Next::Ack(key))),
        ];
        let before = all.into_iter().flatten().filter(|((due, _), _)| *due < until);
        before.min_by_key(|(turn, _)| *turn).map(|(_, next)| next)
    }

    fn pass_segment_again(&mut self, gate: usize) {
        let Some((due, exit, packet)) = self.back[gate].data.take() else { return };
        self.taken += 1;
        let (leg, from) = (exit as usize + 1, (due, Cause::segment(exit)));
        let Phases { data, links, watch, owners, .. } = self;
        let way @ Leg { stage, end, .. } = &data[leg];
        let end = *end;
        match stage.pass_again(links, due, &packet, seen(watch, from, way, owners)) {
            Ok(later) => self.forward_segment(leg, end, later, from, &packet),
            Err(detour) => self.divert_segment(leg, from, detour, packet),
        }
    }

    fn pass_ack_again(&mut self, gate: usize) {
        let Some((due, exit, packet)) = self.back[gate].acks.take() else { return };
        self.taken += 1;
        let (leg, from) = (exit as usize + 1, (due, Cause::ack(exit)));
        let Phases { acks, links, watch, owners, .. } = self;
        let way @ Leg { stage, end, .. } = &acks[leg];
        let end = *end;
        match stage.pass_again(links, due, &packet, seen(watch, from, way, owners)) {
            Ok(later) => self.forward_ack(leg, end, later, &packet),
            Err(detour) => self.divert_ack(leg, from, detour, packet),
        }
    }

    /// A segment comes back to the gate of a leg at `due`. Packets that may come back have a leg before.
    #[cold]
    pub(super) fn segment_returns(&mut self, leg: usize, due: Time, packet: Segment) {
        if let Some(gate) = self.gate_of(self.data[leg].stage.gate) {
            self.back[gate].data.push(leg as u32 - 1, due, true, packet);
        }
    }

    /// An acknowledgement comes back to the gate of a leg at `due`.
    #[cold]
    pub(super) fn ack_returns(&mut self, leg: usize, due: Time, packet: Acknowledgement) {
        if let Some(gate) = self.gate_of(self.acks[leg].stage.gate) {
            self.back[gate].acks.push(leg as u32 - 1, due, true, packet);
        }
    }

    /// The gate at a link.
    fn gate_of(&self, link: Option<u32>) -> Option<usize> {
        self.gate_links.iter().position(|&other| Some(other) == link)
    }
}
