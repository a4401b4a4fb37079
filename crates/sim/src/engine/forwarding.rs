//! Forwarding: packets pass gates and links to endpoints, and endpoints send in response.

use super::Engine;
use super::in_flight::{Entrance, Exit};
use super::observe::{Observer, SenderView};
use super::owners::Owners;
use super::packets::{Acknowledgement, Kind, Lent, Segment};
use super::timers::Timer;
use ackclock_net::{Detour, Fate, Link, Stage};
use ackclock_tcp::Ack;
use ackclock_units::{Duration, Time};

impl<O: Observer> Engine<O> {
    /// A segment has reached a gate or its receiver.
    #[inline]
    pub(super) fn on_segment(&mut self) {
        let (exit, packet) = self.data.first();
        let mut packet = *packet;
        if self.data.pop() {
            return self.on_packet_back(exit, packet);
        }
        if let Some(due) = self.take_segment(exit, self.now, &mut packet) {
            self.forward_segment(exit + 1, due, packet);
        }
    }

    /// An acknowledgement has reached a gate or its sender.
    #[inline]
    pub(super) fn on_acknowledgement(&mut self) {
        let (exit, packet) = self.acks.first();
        let Exit { owner, stage, .. } = self.acks.exit(exit);
        if stage.is_some() {
            let mut packet = *packet;
            if self.acks.pop() {
                return self.on_packet_back(exit, packet);
            }
            return match self.pass(exit, self.now, &mut packet) {
                Ok(due) => self.forward_ack(exit + 1, due, packet),
                Err(detour) => self.divert(exit + 1, detour, packet),
            };
        }
        let owner = *owner as usize;
        let Some(flow) = self.flows.get_mut(owner) else { return self.on_ack_of_agent(owner) };
        self.tally.before_window_changes(owner, self.now, flow);
        let draws = &mut flow.draws;
        flow.sender.on_ack(self.now, &packet.0, || draws.uniform());
        self.acks.pop();
        if self.write(owner) {
            self.on_transfer_done(owner);
        }
        self.transmit(owner);
    }

    /// A packet is back at the gate behind `exit`, because the link there corrupted it.
    #[cold]
    fn on_packet_back<P: Kind>(&mut self, exit: usize, packet: P) {
        let now = self.now;
        let Lent { in_flight, links, observer, owners } = P::lent(self);
        let Exit { owner, stage: Some(stage), .. } = in_flight.exit(exit) else { return };
        let owner = *owner as usize;
        let passed = stage.pass_again(links, now, &packet, |link, over, packet, fate| {
            observer.at_link(link as usize, on_the_way(over, fate), packet.seen(owner, owners), fate);
        });
        match passed {
            Ok(due) => packet.forward(self, exit + 1, due),
            Err(detour) => self.divert(exit + 1, detour, packet),
        }
    }

    /// A packet passes the gate behind `exit` at this instant, and the links up to the next exit. Returns the
    /// time there, if the packet gets there once. An endpoint's exit has no gate.
    #[inline(always)] // the packet stays in registers
    fn pass<P: Kind>(&mut self, exit: usize, at: Time, packet: &mut P) -> Result<Time, Detour> {
        let Lent { in_flight, links, observer, owners } = P::lent(self);
        let Exit { owner, stage: Some(stage), .. } = in_flight.exit(exit) else { return Ok(at) };
        enter(stage, links, observer, at, (*owner as usize, owners), packet)
    }

    /// Forwards a segment to `exit`, where it is due at `due`.
    #[inline]
    pub(super) fn forward_segment(&mut self, mut exit: usize, mut due: Time, mut packet: Segment) {
        while self.data.runs_ahead(exit) && due < self.looks.next && self.is_undisturbed(exit, due) {
            match self.take_segment(exit, due, &mut packet) {
                Some(later) => (exit, due) = (exit + 1, later),
                None => return,
            }
        }
        if due < self.looks.over {
            self.data.push(exit, due, packet);
        } else {
            self.is_beyond_the_end(self.data.exit(exit).owner as usize);
        }
    }

    /// Forwards an acknowledgement to `exit`, where it is due at `due`.
    #[inline(always)] // the packet stays in registers
    pub(super) fn forward_ack(&mut self, mut exit: usize, mut due: Time, mut packet: Acknowledgement) {
        while self.acks.runs_ahead(exit) && due < self.looks.next && self.acks.exit(exit).stage.is_some() {
            match self.pass(exit, due, &mut packet) {
                Ok(later) => (exit, due) = (exit + 1, later),
                Err(detour) => return self.divert(exit + 1, detour, packet),
            }
        }
        if due < self.looks.over {
            self.acks.push(exit, due, packet);
        }
    }

    /// True if only segments act on the receiver behind `exit` until `due`, and no other packet enters its
    /// first link.
    #[inline]
    fn is_undisturbed(&self, exit: usize, due: Time) -> bool {
        let Exit { owner, stage, .. } = self.data.exit(exit);
        if stage.is_some() {
            return true;
        }
        match self.flows.get(*owner as usize) {
            // Between transfers the receiver is replaced.
            Some(flow) => {
                flow.back.alone
                    && flow.transfers_left == 0
                    && flow.receiver.poll_timeout().is_none_or(|deadline| due < deadline)
            }
            None => {
                let agent = self.owners.as_agent(*owner as usize);
                agent.is_none_or(|agent| self.agents[agent].is_undisturbed(due))
            }
        }
    }

    /// A segment will not arrive before the run ends.
    #[cold]
    fn is_beyond_the_end(&mut self, owner: usize) {
        if let Some(flow) = self.flows.get_mut(owner) {
            flow.beyond_the_end += 1;
        } else if let Some(agent) = self.owners.as_agent(owner) {
            self.agents[agent].beyond_the_end += 1;
        }
    }

    /// The first acknowledgement is at the sender of an agent.
    #[inline(never)] // keeps this code away from the common case
    fn on_ack_of_agent(&mut self, owner: usize) {
        let (_, packet) = self.acks.first();
        let number = packet.0.ack;
        self.acks.pop();
        if let Some(agent) = self.owners.as_agent(owner) {
            self.on_agent_ack(agent, number);
        }
    }

    /// A segment is at `exit` at this instant. Returns the time at the next exit, if there is one and the
    /// segment gets there.
    #[inline]
    fn take_segment(&mut self, exit: usize, at: Time, packet: &mut Segment) -> Option<Time> {
        let Exit { owner, stage, .. } = self.data.exit(exit);
        if stage.is_some() {
            return match self.pass(exit, at, packet) {
                Ok(due) => Some(due),
                Err(detour) => {
                    self.divert(exit + 1, detour, *packet);
                    None
                }
            };
        }
        let owner = *owner as usize;
        if owner < self.flows.len() {
            let flow = &mut self.flows[owner];
            let ack = flow.receiver.on_data(at, &packet.0);
            if flow.writer.is_some() {
                self.read_some(owner, at);
            }
            let flow = &mut self.flows[owner];
            if let Some(ack) = ack {
                self.acknowledge(owner, at, ack);
            } else if let Some(deadline) = flow.receiver.poll_timeout()
                && deadline < flow.delayed_ack_entry
            {
                flow.delayed_ack_entry = deadline;
                self.timers.add(deadline, Timer::DelayedAck(owner as u32));
            }
        } else if let Some(stream) = self.owners.as_stream(owner) {
            self.sources[stream].receive(packet);
        } else if let Some(agent) = self.owners.as_agent(owner) {
            self.on_agent_data(agent, at, packet.0.seq);
        }
        None
    }

    /// The application of a flow writes what its socket has room for. True if everything is written and
    /// acknowledged.
    #[inline]
    fn write(&mut self, owner: usize) -> bool {
        let flow = &self.flows[owner];
        if flow.writer.is_none() { flow.sender.is_done() } else { self.write_some(owner) }
    }

    #[cold]
    pub(super) fn write_some(&mut self, owner: usize) -> bool {
        let (due, all) = self.flows[owner].write(self.now);
        if let Some(due) = due {
            self.timers.add(due, Timer::Write(owner as u32));
        }
        all
    }

    /// Sends what a flow's sender may send, and updates its timers.
    #[inline]
    pub(super) fn transmit(&mut self, owner: usize) {
        if !self.flows[owner].active {
            return; // between two transfers
        }
        loop {
            if self.flows[owner].plan.config.local_congestion && self.is_refused(owner) {
                break;
            }
            let flow = &mut self.flows[owner];
            let Some(data) = flow.sender.poll_transmit(self.now) else { break };
            let Entrance { stage, exit, .. } = &flow.out;
            let (mut packet, exit) = (Segment(data), *exit);
            match enter(
                stage,
                &mut self.links,
                &mut self.observer,
                self.now,
                (owner, &self.owners),
                &mut packet,
            ) {
                Ok(due) => self.forward_segment(exit, due, packet),
                Err(detour) => self.data.divert(exit, detour, packet),
            }
        }
        let flow = &mut self.flows[owner];
        self.observer.at_sender(self.now, flow.number as usize, &SenderView::of(&flow.sender));
        let deadline = flow.sender.poll_timeout();
        let pacing = flow.sender.poll_pacing(self.now);
        if let Some(deadline) = deadline
            && deadline < flow.rto_entry
        {
            flow.rto_entry = deadline;
            self.timers.add(deadline, Timer::Retransmission(owner as u32));
        }
        if let Some(due) = pacing
            && due < flow.pace_entry
        {
            flow.pace_entry = due;
            self.timers.add(due, Timer::Pacing(owner as u32));
        }
    }

    /// True if the next segment of a flow would find the first queue full, which its own host would notice.
    /// The sender is told.
    #[cold]
    fn is_refused(&mut self, owner: usize) -> bool {
        let flow = &mut self.flows[owner];
        let Stage { gate, along } = &flow.out.stage;
        let first = gate.or_else(|| along.first().copied());
        let bytes = u32::from(flow.plan.config.segment_bytes());
        let refuses = flow.sender.is_about_to_send(self.now)
            && first.is_some_and(|link| self.links[link as usize].is_full(self.now, bytes));
        if refuses {
            flow.sender.on_local_congestion(self.now);
        }
        refuses
    }

    /// A stream sends a datagram.
    pub(super) fn send_datagram(&mut self, stream: usize, mut packet: Segment) {
        let Entrance { stage, exit, .. } = &self.sources[stream].out;
        let exit = *exit;
        let whose = (self.owners.stream(stream), &self.owners);
        match enter(stage, &mut self.links, &mut self.observer, self.now, whose, &mut packet) {
            Ok(due) => self.forward_segment(exit, due, packet),
            Err(detour) => self.data.divert(exit, detour, packet),
        }
    }

    /// A receiver sends an acknowledgement at `at`.
    #[inline(always)] // the packet stays in registers
    pub(super) fn acknowledge(&mut self, owner: usize, at: Time, ack: Ack) {
        let Entrance { stage, exit, .. } = &self.flows[owner].back;
        let (mut packet, exit) = (Acknowledgement(ack), *exit);
        match enter(stage, &mut self.links, &mut self.observer, at, (owner, &self.owners), &mut packet) {
            Ok(due) => self.forward_ack(exit, due, packet),
            Err(detour) => self.acks.divert(exit, detour, packet),
        }
    }
}

/// A packet enters a stage at `at`. `whose`: the owner of its path, and all owners. Returns the time at the
/// end of the stage, if the packet gets there once.
#[inline(always)] // the packet stays in registers
pub(super) fn enter<P: Kind, O: Observer>(
    stage: &Stage,
    links: &mut [Link],
    observer: &mut O,
    at: Time,
    whose: (usize, &Owners),
    packet: &mut P,
) -> Result<Time, Detour> {
    stage.pass(links, at, packet, |link, over, packet, fate| {
        observer.at_link(link as usize, on_the_way(over, fate), packet.seen(whose.0, whose.1), fate);
    })
}

/// The time from the transmitter to the far end, for the packet that was just offered to this link.
#[inline]
pub(super) fn on_the_way(link: &Link, fate: Fate) -> Duration {
    match fate {
        Fate::Arrives(at) | Fate::ArrivesTwice(at) => at.since(link.departure()),
        Fate::LinkRetry(_) | Fate::Queued | Fate::Dropped(_) => link.delay(),
    }
}
