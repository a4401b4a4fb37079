//! Gates at dequeue-driven links: the queue decides about a packet when the transmitter is free. A decision
//! goes before packets that arrive at the same instant, and before the look of a probe.

use super::Phases;
use super::cause::Cause;
use super::inbox::{Gate, Key};
use super::layout::Leg;
use super::watch::{Place, Watch, When, seen};
use crate::engine::dequeue::behind_the_transmitter;
use crate::engine::owners::Owners;
use crate::engine::packets::{Acknowledgement, Kind, Segment};
use crate::engine::timers::Timer;
use crate::engine::transmitters::{Held, QueuedPacket};
use ackclock_net::{Detour, Link, Settled};
use ackclock_units::Time;

/// A decision goes before everything else.
const DECISION: Cause = Cause::of(0);

impl<W: Watch> Phases<W> {
    /// What [`Phases::run_gate`] does, at the gate of a transmitter.
    pub(super) fn run_stepped(&mut self, gate: usize, transmitter: usize, until: Time) {
        let link = self.transmitters.get_mut(transmitter).link;
        let Gate { mut data, mut acks } = std::mem::take(&mut self.gates[gate]);
        let ends = (data.sort(until, &mut self.room), acks.sort(until, &mut self.room));
        self.taken += (ends.0 + ends.1) as u64;
        let (mut segments, mut all_acks) = (0, 0);
        loop {
            let segment = data.ready(ends.0).0.get(segments).copied();
            let ack = acks.ready(ends.1).0.get(all_acks).copied();
            let turn = |key: Option<Key>| key.map(|key| (key.due(), key.cause()));
            let is_segment = ack.is_none() || segment.is_some() && turn(segment) < turn(ack);
            let next = if is_segment { segment } else { ack };
            let due = next.map_or(Time::NEVER, Key::due);
            let decision = self.links[link].due().unwrap_or(Time::NEVER);
            match next {
                _ if decision < until && decision <= due => {
                    self.settle(transmitter, decision, decided(transmitter))
                }
                Some(key) if is_segment => {
                    segments += 1;
                    self.pass_segment(key, &mut data.ready(0).1[key.place()]);
                }
                Some(key) => {
                    all_acks += 1;
                    self.pass_ack(key, &mut acks.ready(0).1[key.place()]);
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
                self.settle(transmitter, now, decided(transmitter));
            }
        }
    }

    /// A segment waits at the gate of a leg. `from`: the instant at which it came, and the cause.
    #[cold]
    pub(super) fn hold_segment(&mut self, leg: usize, from: (Time, Cause), packet: Segment) {
        let Leg { stage, end, .. } = &self.data[leg];
        let Some(link) = stage.gate else { return };
        let headers = packet.headers(self.key(end.owner as usize));
        let ticket = self.links[link as usize].hold(from.0, headers, &packet);
        self.keep(link as usize, from, ticket, Held { exit: leg, packet: QueuedPacket::Segment(packet) });
    }

    /// An acknowledgement waits at the gate of a leg. `from`: as above.
    #[cold]
    pub(super) fn hold_ack(&mut self, leg: usize, from: (Time, Cause), packet: Acknowledgement) {
        let Leg { stage, end, .. } = &self.acks[leg];
        let Some(link) = stage.gate else { return };
        let mut headers = packet.headers(self.key(end.owner as usize));
        if self.owners.as_agent(end.owner as usize).is_some() {
            headers.ack = None; // what an agent's receiver sends is no acknowledgement of TCP
        }
        let ticket = self.links[link as usize].hold(from.0, headers, &packet);
        let held = Held { exit: leg, packet: QueuedPacket::Acknowledgement(packet) };
        self.keep(link as usize, from, ticket, held);
    }

    /// What tells an owner's packets from those of others in a queue for each flow.
    fn key(&self, owner: usize) -> u64 {
        match (self.flows.get(owner), self.owners.as_agent(owner), self.owners.as_stream(owner)) {
            (Some(flow), ..) => flow.plan.key,
            (_, Some(agent), _) => self.agents[agent].plan.key,
            (.., stream) => stream.map_or(0, |stream| self.sources[stream].stream.plan.key),
        }
    }

    fn keep(&mut self, link: usize, from: When, ticket: u32, held: Held) {
        if let Some(transmitter) = self.transmitters.of(link) {
            self.transmitters.get_mut(transmitter).put(ticket, held);
            self.settle(transmitter, from.0, from.1);
        }
    }

    /// Forwards the packets that a dequeue-driven link has decided about up to `now`. `cause`: what made it
    /// decide.
    fn settle(&mut self, transmitter: usize, now: Time, cause: Cause) {
        let link = self.transmitters.get_mut(transmitter).link;
        while let Some(settled) = self.links[link].settle(now) {
            let from = (settled.at, DECISION);
            let held = self.transmitters.get_mut(transmitter).take(settled.ticket);
            let Phases { data, acks, links, watch, owners, .. } = self;
            match held.map(|Held { exit, packet }| (exit, packet)) {
                Some((leg, QueuedPacket::Segment(mut packet))) => {
                    let end = data[leg].end;
                    match take_on(&data[leg], links, &settled, &mut packet, (watch, (now, cause), owners)) {
                        Ok(due) => self.forward_segment(leg, end, due, from, &packet),
                        Err(detour) => self.divert_segment(leg, from, detour, packet),
                    }
                }
                Some((leg, QueuedPacket::Acknowledgement(mut packet))) => {
                    let end = acks[leg].end;
                    match take_on(&acks[leg], links, &settled, &mut packet, (watch, (now, cause), owners)) {
                        Ok(due) => self.forward_ack(leg, end, due, &packet),
                        Err(detour) => self.divert_ack(leg, from, detour, packet),
                    }
                }
                None => {}
            }
        }
    }
}

/// What makes a transmitter decide when it is free.
fn decided(transmitter: usize) -> Cause {
    Cause::timer(Timer::Transmitter(transmitter as u32))
}

/// A packet goes on that has waited at the gate of a leg. The last argument: who watches, when and why the
/// link decides, and the owners of packets.
fn take_on<P: Kind, W: Watch>(
    leg: &Leg,
    links: &mut [Link],
    settled: &Settled,
    packet: &mut P,
    (watch, when, owners): (&mut W, When, &Owners),
) -> Result<Time, Detour> {
    if settled.marked {
        packet.mark();
    }
    let link = leg.stage.gate.map_or(usize::MAX, |link| link as usize);
    let (delay, fate) = (behind_the_transmitter(settled), settled.fate);
    let place = Place { when, link, first: leg.first };
    watch.at_transmitter(place, settled.at, delay, packet.seen(leg.end.owner as usize, owners), fate);
    leg.stage.pass_on(links, fate, packet, seen(watch, when, leg, owners))
}
