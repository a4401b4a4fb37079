//! Dequeue-driven links in the engine: it holds their waiting packets, and forwards them when they are
//! decided.

use super::forwarding::on_the_way;
use super::in_flight::Exit;
use super::packets::{Kind, Lent};
use super::timers::Timer;
use super::transmitters::{Held, QueuedPacket};
use super::{Engine, Observer};
use ackclock_net::{Detour, Fate, Headers, Settled};
use ackclock_units::{Duration, Time};

impl<O: Observer> Engine<O> {
    /// Handles a packet that does not reach `exit` once, at a known time.
    #[cold]
    pub(super) fn divert<P: Kind>(&mut self, exit: usize, detour: Detour, packet: P) {
        let owner = P::lent(self).in_flight.exit(exit).owner as usize;
        if let Some(agent) = self.owners.as_agent(owner) {
            packet.detour(self, agent, detour);
        }
        match (detour, exit.checked_sub(1)) {
            (Detour::Waits, Some(before)) => self.hold(before, packet),
            _ => P::lent(self).in_flight.divert(exit, detour, packet),
        }
    }

    /// Holds a packet that waits at the gate behind `exit`.
    fn hold<P: Kind>(&mut self, exit: usize, packet: P) {
        let Exit { owner, stage: Some(stage), .. } = P::lent(self).in_flight.exit(exit) else { return };
        let (owner, Some(link)) = (*owner as usize, stage.gate) else { return };
        let headers = match (self.flows.get(owner), self.owners.as_agent(owner), self.owners.as_stream(owner))
        {
            (Some(flow), ..) => packet.headers(flow.plan.key),
            // What an agent's receiver sends is no acknowledgement of TCP.
            (_, Some(agent), _) => Headers { ack: None, ..packet.headers(self.agents[agent].plan.key) },
            (.., stream) => packet.headers(stream.map_or(0, |stream| self.sources[stream].plan.key)),
        };
        let ticket = self.links[link as usize].hold(self.now, headers, &packet);
        let Some(number) = self.transmitters.of(link as usize) else { return };
        self.transmitters.get_mut(number).put(ticket, Held { exit, packet: packet.queued() });
        self.settle(number);
    }

    /// A transmitter is free.
    pub(super) fn on_transmitter_timer(&mut self, number: usize) {
        let transmitter = self.transmitters.get_mut(number);
        if transmitter.entry == self.now {
            transmitter.entry = Time::NEVER;
            self.settle(number);
        }
    }

    /// Forwards the packets that a dequeue-driven link has decided about, and updates its timer.
    fn settle(&mut self, number: usize) {
        let link = self.transmitters.get_mut(number).link;
        while let Some(settled) = self.links[link].settle(self.now) {
            let Some(Held { exit, packet }) = self.transmitters.get_mut(number).take(settled.ticket) else {
                continue;
            };
            match packet {
                QueuedPacket::Segment(packet) => self.take_on(link, exit, settled, packet),
                QueuedPacket::Acknowledgement(packet) => self.take_on(link, exit, settled, packet),
            }
        }
        let transmitter = self.transmitters.get_mut(number);
        if let Some(due) = self.links[link].due()
            && due < transmitter.entry
        {
            transmitter.entry = due;
            self.timers.add(due, Timer::Transmitter(number as u32));
        }
    }

    /// A packet goes on that has waited at `link`, behind `exit`.
    fn take_on<P: Kind>(&mut self, link: usize, exit: usize, settled: Settled, mut packet: P) {
        if settled.marked {
            packet.mark();
        }
        let Lent { in_flight, links, observer, owners } = P::lent(self);
        let Exit { owner, stage: Some(stage), .. } = in_flight.exit(exit) else { return };
        let owner = *owner as usize;
        let delay = behind_the_transmitter(&settled);
        observer.at_transmitter(settled.at, link, delay, packet.seen(owner, owners), settled.fate);
        let passed = stage.pass_on(links, settled.fate, &mut packet, |link, over, packet, fate| {
            observer.at_link(link as usize, on_the_way(over, fate), packet.seen(owner, owners), fate);
        });
        match passed {
            Ok(due) => packet.forward(self, exit + 1, due),
            Err(detour) => self.divert(exit + 1, detour, packet),
        }
    }
}

/// The time between a packet's departure from the transmitter and its arrival.
pub(super) fn behind_the_transmitter(settled: &Settled) -> Duration {
    match settled.fate {
        Fate::Arrives(at) | Fate::ArrivesTwice(at) => at.since(settled.departure),
        Fate::LinkRetry(_) | Fate::Queued | Fate::Dropped(_) => Duration::ZERO,
    }
}
