//! Gates at dequeue-driven links: the queue decides about a packet when the transmitter is free. A decision
//! goes before packets that arrive at the same instant, and before the look of a probe.

use super::Phases;
use super::cause::Cause;
use super::inbox::{Gate, Key};
use crate::engine::packets::{Acknowledgement, Kind, Segment};
use crate::engine::transmitters::{Held, QueuedPacket};
use ackclock_net::Packet;
use ackclock_units::Time;

/// A decision goes before everything else.
const DECISION: Cause = Cause::of(0);

impl Phases {
    /// What [`Phases::run_gate`] does, at the gate of a transmitter.
    pub(super) fn run_stepped(&mut self, gate: usize, transmitter: usize, until: Time) {
        let link = self.transmitters.get_mut(transmitter).link;
        let Gate { mut data, mut acks } = std::mem::take(&mut self.gates[gate]);
        let ends = (data.sort(until, &mut self.room.0), acks.sort(until, &mut self.room.1));
        self.taken += (ends.0 + ends.1) as u64;
        let (mut segments, mut all_acks) = (0, 0);
        loop {
            let segment = (segments < ends.0).then(|| data.key(segments));
            let ack = (all_acks < ends.1).then(|| acks.key(all_acks));
            let turn = |key: Option<Key>| key.map(|key| (key.due(), key.cause()));
            let is_segment = ack.is_none() || segment.is_some() && turn(segment) < turn(ack);
            let next = if is_segment { segment } else { ack };
            let due = next.map_or(Time::NEVER, Key::due);
            let decision = self.links[link].due().unwrap_or(Time::NEVER);
            match next {
                _ if decision < until && decision <= due => self.settle(transmitter, decision),
                Some(key) if is_segment => {
                    segments += 1;
                    self.pass_segment(key, data.get(key));
                }
                Some(key) => {
                    all_acks += 1;
                    self.pass_ack(key, acks.get(key));
                }
                None => break,
            }
        }
        self.put_back(gate, data, acks, ends);
    }

    /// A barrier is at `now`: the decisions of this instant go before it.
    pub(super) fn settle_all(&mut self, now: Time) {
        for transmitter in 0..self.transmitters.len() {
            let link = self.transmitters.get_mut(transmitter).link;
            while self.links[link].due().is_some_and(|due| due <= now) {
                self.settle(transmitter, now);
            }
        }
    }

    /// A segment waits in the link behind `exit`. `from`: the instant at which it came, and the cause.
    #[cold]
    pub(super) fn hold_segment(&mut self, exit: usize, from: (Time, Cause), packet: Segment) {
        let end = &self.data[exit];
        let Some(link) = end.stage.as_ref().and_then(|stage| stage.gate) else { return };
        let headers = packet.headers(self.key(end.owner as usize));
        let ticket = self.links[link as usize].hold(from.0, headers, &packet);
        self.keep(link as usize, from.0, ticket, Held { exit, packet: QueuedPacket::Segment(packet) });
    }

    /// An acknowledgement waits in the link behind `exit`. `from`: as above.
    #[cold]
    pub(super) fn hold_ack(&mut self, exit: usize, from: (Time, Cause), packet: Acknowledgement) {
        let end = &self.acks[exit];
        let Some(link) = end.stage.as_ref().and_then(|stage| stage.gate) else { return };
        let headers = packet.headers(self.key(end.owner as usize));
        let ticket = self.links[link as usize].hold(from.0, headers, &packet);
        self.keep(
            link as usize,
            from.0,
            ticket,
            Held { exit, packet: QueuedPacket::Acknowledgement(packet) },
        );
    }

    /// What tells an owner's packets from those of others in a queue for each flow.
    fn key(&self, owner: usize) -> u64 {
        match (self.flows.get(owner), self.owners.as_stream(owner)) {
            (Some(flow), _) => flow.plan.key,
            (None, stream) => stream.map_or(0, |stream| self.sources[stream].stream.plan.key),
        }
    }

    fn keep(&mut self, link: usize, at: Time, ticket: u32, held: Held) {
        if let Some(transmitter) = self.transmitters.of(link) {
            self.transmitters.get_mut(transmitter).put(ticket, held);
            self.settle(transmitter, at);
        }
    }

    /// Forwards the packets that a dequeue-driven link has decided about up to `now`.
    fn settle(&mut self, transmitter: usize, now: Time) {
        let link = self.transmitters.get_mut(transmitter).link;
        while let Some(settled) = self.links[link].settle(now) {
            let Some(Held { exit, packet }) = self.transmitters.get_mut(transmitter).take(settled.ticket)
            else {
                continue;
            };
            let from = (settled.at, DECISION);
            match packet {
                QueuedPacket::Segment(mut packet) => {
                    if settled.marked {
                        packet.mark();
                    }
                    let Some(stage) = &self.data[exit].stage else { continue };
                    match stage.pass_on(&mut self.links, settled.fate, &mut packet, |_, _, _, _| {}) {
                        Ok(due) => self.forward_segment(exit + 1, due, from, packet),
                        Err(detour) => self.divert_segment(exit + 1, from, detour, packet),
                    }
                }
                QueuedPacket::Acknowledgement(mut packet) => {
                    if settled.marked {
                        packet.mark();
                    }
                    let Some(stage) = &self.acks[exit].stage else { continue };
                    match stage.pass_on(&mut self.links, settled.fate, &mut packet, |_, _, _, _| {}) {
                        Ok(due) => self.forward_ack(exit + 1, due, packet),
                        Err(detour) => self.divert_ack(exit + 1, from, detour, packet),
                    }
                }
            }
        }
    }
}
