//! Rate-based flows: a sender and a receiver that take turns.
//!
//! A gate tells a receiver at once that it has lost a packet, and may do so before its time: a receiver
//! asks why a packet is missing when a later one has come, and on a path that keeps order that is behind
//! the gate, too.

use super::Phases;
use super::cause::Cause;
use super::layout::{End, Leg};
use super::mail::Mail;
use super::watch::{Watch, seen};
use crate::engine::agents::{Acted, Agent};
use crate::engine::in_flight::Entrance;
use crate::engine::packets::{Acknowledgement, Segment};
use crate::engine::timers::Timer;
use ackclock_rate::packet::Ack;
use ackclock_units::Time;

/// What waits at the endpoints of an agent.
pub(super) struct AgentEnds {
    data: Mail<Segment>,
    acks: Mail<Acknowledgement>,
    /// The next start, with its cause, and the stop.
    start: (Time, Cause),
    stop: Time,
    /// When the sender and the receiver have something to do without a packet.
    departure: Time,
    report: Time,
    /// The gates in which packets and acknowledgements enter the network, if they share their first links.
    out: u32,
    back: u32,
    /// The last legs of packets and of acknowledgements.
    data_leg: u32,
    ack_leg: u32,
}

impl AgentEnds {
    /// Those of the agent with this number. `gates`: where its packets enter. `legs`: its last ones.
    pub(super) fn new(number: u32, agent: &Agent, gates: (u32, u32), legs: (u32, u32)) -> AgentEnds {
        AgentEnds {
            data: Mail::default(),
            acks: Mail::default(),
            start: (agent.plan.start, Cause::timer(Timer::StartAgent(number))),
            stop: agent.plan.stop.unwrap_or(Time::NEVER),
            departure: Time::NEVER,
            report: Time::NEVER,
            out: gates.0,
            back: gates.1,
            data_leg: legs.0,
            ack_leg: legs.1,
        }
    }

    /// When there is something to do.
    pub(super) fn due(&self) -> Time {
        let timers = self.start.0.min(self.stop).min(self.departure).min(self.report);
        timers.min(self.data.due()).min(self.acks.due())
    }
}

impl<W: Watch> Phases<W> {
    /// The tally's number of an agent: agents come after TCP flows.
    fn counted(&self, agent: usize) -> usize {
        self.flows.len() + agent
    }

    /// All agents do what is due before `until`.
    pub(super) fn run_agents(&mut self, until: Time) {
        for number in 0..self.agents.len() {
            while self.agent_ends[number].due() < until {
                self.run_agent(number);
            }
            let ends = &mut self.agent_ends[number];
            ends.data.tidy(self.keep);
            ends.acks.tidy(self.keep);
        }
    }

    /// An agent does what is due next. Of the same instant, timers go first, then packets, then
    /// acknowledgements.
    fn run_agent(&mut self, number: usize) {
        let (counted, whose) = (self.counted(number), number as u32);
        let (agent, ends) = (&mut self.agents[number], &mut self.agent_ends[number]);
        let now = ends.due();
        if ends.start.0 == now {
            self.cause = ends.start.1;
            ends.start.0 = Time::NEVER;
            if agent.begin(counted, now, &mut self.tally) {
                self.transmit_agent(number, now);
            }
        } else if ends.stop == now {
            agent.stop(counted, now, &mut self.tally);
            (ends.stop, ends.departure, ends.report) = (Time::NEVER, Time::NEVER, Time::NEVER);
        } else if ends.departure == now {
            self.cause = Cause::timer(Timer::Departure(whose));
            ends.departure = Time::NEVER;
            agent.on_departure(counted, now, &mut self.tally);
            self.transmit_agent(number, now);
        } else if ends.report == now {
            self.cause = Cause::timer(Timer::Report(whose));
            let ack = agent.receiver.on_timeout(now);
            self.answer(number, now, ack);
        } else if ends.data.due() == now {
            self.cause = Cause::segment(ends.data_leg);
            self.taken += 1;
            let arrived = ends.data.take().and_then(|(_, packet)| agent.receive(now, packet.0.seq));
            if let Some(ack) = arrived {
                self.answer(number, now, ack);
            }
        } else {
            self.cause = self.watch.cause_of_ack(now, Cause::ack(ends.ack_leg));
            self.taken += 1;
            let Some(packet) = ends.acks.take().map(|(_, packet)| packet.0.ack) else { return };
            match agent.take_ack(counted, now, packet, &mut self.tally) {
                Acted::Nothing => {}
                Acted::Sends => self.transmit_agent(number, now),
                Acted::Done => self.on_agent_done(number, now),
            }
        }
    }

    /// Sends what an agent's sender may send, and updates its timer.
    fn transmit_agent(&mut self, number: usize, now: Time) {
        let Entrance { exit, alone, .. } = self.agents[number].out;
        let gate = (!alone).then_some(self.agent_ends[number].out);
        while let Some(packet) = self.agents[number].next_packet(now) {
            self.enter(exit, gate, now, packet);
        }
        if let Some(due) = self.agents[number].departure(now) {
            self.agent_ends[number].departure = due;
        }
    }

    /// An agent's receiver sends an acknowledgement, if it has one, and updates its timer.
    fn answer(&mut self, number: usize, at: Time, ack: Option<Ack>) {
        if let Some(ack) = ack {
            let agent = &mut self.agents[number];
            let Entrance { exit: leg, alone, .. } = agent.back;
            let mut packet = agent.wrap(at, ack);
            if alone {
                let from = (at, self.cause);
                let Phases { acks, links, watch, owners, .. } = self;
                let way @ Leg { stage, end, .. } = &acks[leg];
                let end = *end;
                match stage.pass(links, at, &mut packet, seen(watch, from, way, owners)) {
                    Ok(due) => self.forward_ack(leg, end, due, &packet),
                    Err(detour) => self.divert_ack(leg, from, detour, packet),
                }
            } else {
                let gate = self.agent_ends[number].back as usize;
                self.gates[gate].acks.push(leg as u32, at, self.cause, &packet);
            }
        }
        self.agent_ends[number].report = self.agents[number].report_due(at);
    }

    /// A transfer is completely acknowledged.
    fn on_agent_done(&mut self, number: usize, now: Time) {
        let counted = self.counted(number);
        let ends = &mut self.agent_ends[number];
        (ends.departure, ends.report) = (Time::NEVER, Time::NEVER);
        if let Some(start) = self.agents[number].on_done(counted, now, &mut self.tally) {
            // What is due at once comes right after that.
            let cause =
                if start <= now { self.cause } else { Cause::timer(Timer::StartAgent(number as u32)) };
            ends.start = (start, cause);
        }
    }

    /// A packet of an agent reaches the end of its path at `at`.
    #[cold]
    pub(super) fn arrive_at_agent(&mut self, agent: usize, end: End, at: Time, packet: &Segment) {
        let mail = &mut self.agent_ends[agent].data;
        if end.ordered { mail.push(at, packet) } else { mail.insert(at, packet) }
    }

    /// An acknowledgement of an agent reaches the end of its path at `at`.
    #[cold]
    pub(super) fn arrive_back_at_agent(&mut self, end: End, at: Time, packet: &Acknowledgement) {
        let Some(agent) = self.owners.as_agent(end.owner as usize) else { return };
        let mail = &mut self.agent_ends[agent].acks;
        if end.ordered { mail.push(at, packet) } else { mail.insert(at, packet) }
    }
}
