//! Dequeue-driven links in the engine: it holds their waiting packets, and forwards them when they are
//! decided.

use super::forwarding::{carrying, on_the_way};
use super::in_flight::Exit;
use super::timers::Timer;
use super::transmitters::{Held, QueuedPacket};
use super::{Acknowledgement, Engine, Observer, PacketRef, Segment};
use ackclock_net::Detour;
use ackclock_net::{Fate, Settled};
use ackclock_units::Duration;

impl<O: Observer> Engine<O> {
    /// Handles a segment that does not reach `exit` once, at a known time.
    #[cold]
    pub(super) fn divert_segment(&mut self, exit: usize, detour: Detour, packet: Segment) {
        match (detour, exit.checked_sub(1)) {
            (Detour::Waits, Some(before)) => self.hold(before, QueuedPacket::Segment(packet)),
            _ => self.data.divert(exit, detour, packet),
        }
    }

    /// Handles such an acknowledgement.
    #[cold]
    pub(super) fn divert_ack(&mut self, exit: usize, detour: Detour, packet: Acknowledgement) {
        match (detour, exit.checked_sub(1)) {
            (Detour::Waits, Some(before)) => self.hold(before, QueuedPacket::Acknowledgement(packet)),
            _ => self.acks.divert(exit, detour, packet),
        }
    }

    /// Holds a packet that waits at the gate behind `exit`.
    fn hold(&mut self, exit: usize, packet: QueuedPacket) {
        // Data and acknowledgements take different routes. Each connection between two hosts is a flow of its
        // own.
        let (exits, is_ack, epoch) = match &packet {
            QueuedPacket::Segment(packet) => (self.data.exit(exit), 0, packet.0.flags.epoch()),
            QueuedPacket::Acknowledgement(packet) => (self.acks.exit(exit), 1, packet.0.flags.epoch()),
        };
        let flow = u64::from(exits.owner) << 9 | u64::from(epoch) << 1 | is_ack;
        let Some(link) = exits.stage.as_ref().and_then(|stage| stage.gate) else { return };
        let Some(number) = self.transmitters.of(link as usize) else { return };
        let at = &mut self.links[link as usize];
        let ticket = match &packet {
            QueuedPacket::Segment(packet) => at.hold(self.now, flow, packet),
            QueuedPacket::Acknowledgement(packet) => at.hold(self.now, flow, packet),
        };
        self.transmitters.get_mut(number).put(ticket, Held { exit, packet });
        self.settle(number);
    }

    /// A transmitter is free.
    pub(super) fn on_transmitter_timer(&mut self, number: usize) {
        let transmitter = self.transmitters.get_mut(number);
        if transmitter.entry == self.now {
            transmitter.entry = ackclock_units::Time::NEVER;
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
                QueuedPacket::Segment(packet) => self.take_on_segment(link, exit, settled, packet),
                QueuedPacket::Acknowledgement(packet) => self.take_on_ack(link, exit, settled, packet),
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

    fn take_on_segment(&mut self, link: usize, exit: usize, settled: Settled, mut packet: Segment) {
        if settled.marked {
            ackclock_net::Packet::mark(&mut packet);
        }
        let Exit { owner, stage: Some(stage), .. } = self.data.exit(exit) else { return };
        let owner = *owner as usize;
        let is_flow = owner < self.flows.len();
        let of = if is_flow { owner } else { owner - self.flows.len() };
        let delay = behind_the_transmitter(&settled);
        self.observer.at_transmitter(settled.at, link, delay, carrying(of, is_flow, &packet), settled.fate);
        let observer = &mut self.observer;
        let passed = stage.pass_on(&mut self.links, settled.fate, &mut packet, |link, over, packet, fate| {
            observer.at_link(link as usize, on_the_way(over, fate), carrying(of, is_flow, packet), fate);
        });
        match passed {
            Ok(due) => self.forward_segment(exit + 1, due, packet),
            Err(detour) => self.divert_segment(exit + 1, detour, packet),
        }
    }

    fn take_on_ack(&mut self, link: usize, exit: usize, settled: Settled, mut packet: Acknowledgement) {
        let Exit { owner, stage: Some(stage), .. } = self.acks.exit(exit) else { return };
        let owner = *owner;
        let delay = behind_the_transmitter(&settled);
        self.observer.at_transmitter(settled.at, link, delay, PacketRef::Ack(owner, &packet.0), settled.fate);
        let observer = &mut self.observer;
        let passed = stage.pass_on(&mut self.links, settled.fate, &mut packet, |link, over, packet, fate| {
            observer.at_link(link as usize, on_the_way(over, fate), PacketRef::Ack(owner, &packet.0), fate);
        });
        match passed {
            Ok(due) => self.forward_ack(exit + 1, due, packet),
            Err(detour) => self.divert_ack(exit + 1, detour, packet),
        }
    }
}

/// The time between a packet's departure from the transmitter and its arrival.
fn behind_the_transmitter(settled: &Settled) -> Duration {
    match settled.fate {
        Fate::Arrives(at) | Fate::ArrivesTwice(at) => at.since(settled.departure),
        Fate::LinkRetry(_) | Fate::Queued | Fate::Dropped(_) => Duration::ZERO,
    }
}
