//! Endpoints: senders take acknowledgements and timers in order of time, and send; receivers take segments,
//! and acknowledge.
//!
//! A receiver runs ahead of its sender, up to the next barrier, unless the sender may replace it: the
//! receiver of a flow with several transfers takes its turn with its sender.

use super::cause::Cause;
use super::layout::{End, Leg};
use super::watch::{Watch, seen};
use super::{Phases, Source};
use crate::engine::flow::Flow;
use crate::engine::in_flight::Entrance;
use crate::engine::packets::{Acknowledgement, Segment};
use crate::engine::timers::Timer;
use ackclock_tcp::Ack;
use ackclock_units::Time;

impl<W: Watch> Phases<W> {
    /// All senders, and the receivers that take turns with them, do what is due before `until`.
    pub(super) fn run_flows(&mut self, until: Time) {
        let mut next = self.post.agenda.from(0, until);
        while let Some(number) = next {
            let due = self.run_flow(number, until);
            self.post.agenda.set(number, due);
            next = self.post.agenda.from(number + 1, until);
        }
        self.run_agents(until);
        for number in 0..self.sources.len() {
            while let Source { next, .. } = self.sources[number]
                && next < until
            {
                self.send_datagram(number, next);
            }
        }
    }

    /// One of them. Returns when it has something to do again. Of what is due at the same instant, timers go
    /// first, then segments, then acknowledgements.
    #[inline(never)] // registers are for one flow
    fn run_flow(&mut self, number: usize, until: Time) -> Time {
        loop {
            let (flow, ends, mail) = (&self.flows[number], &self.ends[number], &self.post.boxes[number]);
            let mut timer = flow.timer().min(ends.alarm());
            let mut segment = Time::NEVER;
            if !ends.ahead {
                timer = timer.min(flow.receiver.poll_timeout().unwrap_or(Time::NEVER));
                segment = mail.data.due();
            }
            if let Some(now) = self.take_acks(number, timer.min(segment).min(until)) {
                self.after_ack(number, now);
                continue;
            }
            let (flow, mail) = (&mut self.flows[number], &mut self.post.boxes[number]);
            // Acknowledgements may have set a timer.
            let timer = timer.min(flow.timer());
            let now = timer.min(segment).min(mail.acks.due());
            if now >= until {
                mail.acks.tidy(self.keep);
                return now;
            }
            if timer == now {
                self.on_timer(number, now);
            } else if segment == now {
                self.on_segment(number, now);
            }
        }
    }

    /// A sender takes acknowledgements due before `until`, and sends, as long as there is nothing else to do.
    /// If there is: returns the time of the last one.
    #[inline(always)] // one call in a loop
    fn take_acks(&mut self, number: usize, until: Time) -> Option<Time> {
        let Phases { flows, ends, post, links, data, gates, tally, looks, taken, watch, owners, .. } = self;
        let current = &mut self.cause;
        let (flow, ends, mail) = (&mut flows[number], &ends[number], &mut post.boxes[number].acks);
        let Entrance { exit: first, alone, .. } = flow.out;
        let way @ Leg { stage, end, .. } = &data[first];
        let gate = if alone { end.gate } else { ends.out };
        // On a first leg that keeps order, each segment arrives once or not at all.
        let is_simple = flow.active && flow.writer.is_none() && (end.ordered || !alone);
        let mut gate = gates.get_mut(gate as usize).filter(|_| is_simple);
        let cause = Cause::ack(ends.ack_leg);
        let mut tally = tally.of(number);
        loop {
            let &(now, ref packet) = mail.take_before(until.min(flow.timer()))?;
            *taken += 1;
            let cause = watch.cause_of_ack(now, cause);
            *current = cause;
            tally.before_window_changes(now, flow);
            let Flow { sender, draws, beyond_the_end, .. } = flow;
            let Some(gate) = &mut gate else {
                sender.on_ack(now, &packet.0, || draws.uniform());
                return Some(now);
            };
            let sent = sender.on_ack_send(
                now,
                &packet.0,
                || draws.uniform(),
                |segment| {
                    let mut packet = Segment(segment);
                    if !alone {
                        return gate.data.push(first as u32, now, cause, &packet);
                    }
                    let see = seen(&mut *watch, (now, cause), way, owners);
                    let Ok(due) = stage.pass(links, now, &mut packet, see) else { return };
                    if due >= looks.over {
                        *beyond_the_end += 1;
                        return;
                    }
                    let cause = Cause::of_segment(first as u32, due, (now, cause));
                    gate.data.push(first as u32 + 1, due, cause, &packet);
                },
            );
            if !sent || flow.sender.is_done() {
                return Some(now);
            }
            watch.at_sender((now, cause), flow.number, &flow.sender);
            flow.set_timers(now);
        }
    }

    /// What remains to be done after an acknowledgement.
    #[inline(never)] // keeps this code away from acknowledgements
    fn after_ack(&mut self, number: usize, now: Time) {
        let flow = &self.flows[number];
        let all = if flow.writer.is_none() { flow.sender.is_done() } else { self.write(number, now) };
        if all {
            self.on_transfer_done(number, now);
        }
        self.transmit(number, now);
    }

    /// A segment is at its receiver, which takes turns with its sender.
    #[inline(never)] // keeps this code away from acknowledgements
    fn on_segment(&mut self, number: usize, now: Time) {
        let cause = Cause::segment(self.ends[number].data_leg);
        let mail = &mut self.post.boxes[number].data;
        if let Some(&(_, packet)) = mail.take() {
            mail.tidy(self.keep);
            self.receive(number, now, cause, &packet);
        }
    }

    /// A timer is due. Those of the same instant go in the order of [`Timer`].
    #[inline(never)] // keeps this code away from acknowledgements
    fn on_timer(&mut self, number: usize, now: Time) {
        let (flow, ends) = (&mut self.flows[number], &self.ends[number]);
        let whose = number as u32;
        let alarm = ends.alarms.last().copied().filter(|&(due, ..)| due == now);
        let delayed = !ends.ahead && flow.receiver.poll_timeout() == Some(now);
        let others = [
            (flow.rto_entry == now, Timer::Retransmission(whose)),
            (flow.pace_entry == now, Timer::Pacing(whose)),
            (delayed, Timer::DelayedAck(whose)),
        ];
        let others = others.into_iter().filter_map(|(is_due, timer)| is_due.then_some(timer));
        let Some(timer) = alarm.map(|(_, timer, _)| timer).into_iter().chain(others).min() else { return };
        self.cause = Cause::timer(timer);
        match timer {
            Timer::Retransmission(_) => {
                flow.rto_entry = Time::NEVER;
                self.tally.before_window_changes(number, now, flow);
                flow.sender.on_timeout(now);
                self.transmit(number, now);
            }
            Timer::Pacing(_) => {
                flow.pace_entry = Time::NEVER;
                self.transmit(number, now);
            }
            Timer::DelayedAck(_) => self.acknowledge_late(number, now),
            _ => self.on_alarm(number, now),
        }
    }

    /// The earliest alarm of a flow is due.
    fn on_alarm(&mut self, number: usize, now: Time) {
        let Some((_, timer, cause)) = self.ends[number].alarms.pop() else { return };
        self.cause = cause;
        match timer {
            Timer::Start(_) => self.on_start(number, now),
            Timer::Stop(_) => self.on_stop(number, now),
            _ => self.on_burst(number, now),
        }
    }

    fn on_start(&mut self, number: usize, now: Time) {
        if self.flows[number].begin(number, now, &mut self.tally) {
            self.on_burst(number, now);
        }
    }

    fn on_stop(&mut self, number: usize, now: Time) {
        let flow = &mut self.flows[number];
        if flow.stop() {
            self.tally.before_window_changes(number, now, flow);
            self.on_transfer_done(number, now);
        }
    }

    /// A burst is due, or the application starts.
    fn on_burst(&mut self, number: usize, now: Time) {
        if let Some(writer) = &mut self.flows[number].writer {
            writer.begin(now);
            self.write(number, now);
        }
        self.transmit(number, now);
    }

    /// The application writes what its socket has room for. True if everything is written and acknowledged.
    #[cold]
    fn write(&mut self, number: usize, now: Time) -> bool {
        let (due, all) = self.flows[number].write(now);
        if let Some(due) = due {
            self.ends[number].add(due, Timer::Write(number as u32), Some((now, self.cause)));
        }
        all
    }

    /// A transfer is completely acknowledged.
    #[cold]
    fn on_transfer_done(&mut self, number: usize, now: Time) {
        if let Some(start) = self.flows[number].transfer_done(number, now, &mut self.tally) {
            self.ends[number].add(start, Timer::Start(number as u32), Some((now, self.cause)));
        }
    }

    /// Sends what a flow's sender may send, and updates its timers.
    #[inline(never)] // keeps this code away from acknowledgements
    fn transmit(&mut self, number: usize, now: Time) {
        if !self.flows[number].active {
            return; // between two transfers
        }
        let Entrance { exit, alone, .. } = self.flows[number].out;
        let gate = (!alone).then_some(self.ends[number].out);
        let cause = self.cause;
        while let Some(data) = self.flows[number].sender.poll_transmit(now) {
            self.enter(exit, gate, now, Segment(data));
            self.cause = cause; // a receiver may have taken it, and answered
        }
        let flow = &mut self.flows[number];
        self.watch.at_sender((now, cause), flow.number, &flow.sender);
        flow.set_timers(now);
    }

    /// A segment or datagram enters the network, at a gate or alone on its first leg.
    pub(super) fn enter(&mut self, leg: usize, gate: Option<u32>, now: Time, mut packet: Segment) {
        if let Some(gate) = gate {
            return self.gates[gate as usize].data.push(leg as u32, now, self.cause, &packet);
        }
        let from = (now, self.cause);
        let Phases { data, links, watch, owners, .. } = self;
        let way @ Leg { stage, end, .. } = &data[leg];
        let end = *end;
        match stage.pass(links, now, &mut packet, seen(watch, from, way, owners)) {
            Ok(due) => self.forward_segment(leg, end, due, from, &packet),
            Err(detour) => self.divert_segment(leg, from, detour, packet),
        }
    }

    /// A stream sends the datagram that is due at `now`.
    fn send_datagram(&mut self, number: usize, now: Time) {
        let &mut Source { ref mut stream, ref mut next, gate, .. } = &mut self.sources[number];
        let Some((packet, following)) = stream.send(now) else {
            *next = Time::NEVER;
            return;
        };
        *next = following;
        self.taken += 1;
        let Entrance { exit, alone, .. } = stream.out;
        self.cause = Cause::timer(Timer::CbrPacket(number as u32));
        self.enter(exit, (!alone).then_some(gate), now, packet);
    }

    /// A segment reaches the end of its last leg at `at`. Its receiver does not take it at once.
    #[inline(never)] // keeps this code away from receivers that do
    pub(super) fn arrive(&mut self, end: End, at: Time, packet: &Segment) {
        let owner = end.owner as usize;
        let Some(ends) = self.ends.get_mut(owner) else { return self.arrive_elsewhere(end, at, packet) };
        let mut mail = &mut ends.held;
        if !end.ahead {
            self.post.agenda.sooner(owner, at);
            mail = &mut self.post.boxes[owner].data;
        } else if mail.is_empty() {
            self.held_back.push(owner as u32);
        }
        if end.ordered {
            mail.push(at, packet);
        } else {
            mail.insert(at, packet);
        }
    }

    /// A packet that is not TCP's reaches the end of its path.
    #[cold]
    fn arrive_elsewhere(&mut self, end: End, at: Time, packet: &Segment) {
        let owner = end.owner as usize;
        if let Some(agent) = self.owners.as_agent(owner) {
            return self.arrive_at_agent(agent, end, at, packet);
        }
        let Some(number) = self.owners.as_stream(owner) else { return };
        let Source { stream, held, .. } = &mut self.sources[number];
        if at < self.looks.next {
            return stream.receive(packet);
        }
        if held.is_empty() {
            self.held_back.push(owner as u32);
        }
        held.insert(at, packet);
    }

    /// A barrier is passed: what is due before the next one is received.
    pub(super) fn release(&mut self) {
        let mut held_back = std::mem::take(&mut self.held_back);
        held_back.retain(|&owner| !self.release_one(owner as usize));
        self.held_back.append(&mut held_back);
    }

    /// The same of one owner. True if nothing is left.
    fn release_one(&mut self, owner: usize) -> bool {
        let until = self.looks.next;
        if owner < self.flows.len() {
            while self.ends[owner].held.due() < until
                && let Some(&(at, packet)) = self.ends[owner].held.take()
            {
                let cause = Cause::segment(self.ends[owner].data_leg);
                self.receive(owner, at, cause, &packet);
            }
            self.ends[owner].held.tidy(self.keep);
            return self.ends[owner].held.is_empty();
        }
        let Some(number) = self.owners.as_stream(owner) else { return true };
        let Source { stream, held, .. } = &mut self.sources[number];
        while held.due() < until
            && let Some((_, packet)) = held.take()
        {
            stream.receive(packet);
        }
        held.tidy(self.keep);
        held.is_empty()
    }

    /// A receiver takes a segment at `at`. If it runs ahead, an acknowledgement that was due until then goes
    /// first.
    #[inline(always)] // the acknowledgement stays in registers
    pub(super) fn receive(&mut self, number: usize, at: Time, cause: Cause, packet: &Segment) {
        self.cause = cause;
        let flow = &mut self.flows[number];
        if flow.writer.is_none()
            && let Some(ack) = flow.receiver.on_predicted_data(at, &packet.0)
        {
            return self.acknowledge(number, at, ack);
        }
        self.receive_other(number, at, packet);
    }

    /// What [`Phases::receive`] does where a segment may be out of order, or somebody waits for it.
    #[inline(never)] // keeps this code away from the common case
    fn receive_other(&mut self, number: usize, at: Time, packet: &Segment) {
        let cause = self.cause;
        if self.flows[number].receiver.poll_timeout().is_some_and(|deadline| deadline <= at) {
            self.acknowledge_late(number, at);
        }
        self.cause = cause;
        let flow = &mut self.flows[number];
        let ack = flow.receiver.on_data(at, &packet.0);
        if flow.writer.is_some() {
            self.read_some(number, at);
        }
        if let Some(ack) = ack {
            self.acknowledge(number, at, ack);
        }
    }

    /// The receiving program reads a segment that has arrived at `at`.
    #[cold]
    fn read_some(&mut self, number: usize, at: Time) {
        let flow = &mut self.flows[number];
        let delivered = flow.receiver.delivered();
        let complete = flow.writer.as_mut().is_some_and(|writer| writer.arrived(at, delivered));
        if complete && let Some(start) = flow.on_response(number, at, &mut self.tally) {
            self.ends[number].add(start, Timer::Start(number as u32), Some((at, self.cause)));
        }
    }

    /// The receivers that run ahead send the delayed acknowledgements that are due before `until`.
    pub(super) fn run_receivers(&mut self, until: Time) {
        for place in 0..self.delaying.len() {
            let number = self.delaying[place] as usize;
            if let Some(deadline) = self.flows[number].receiver.poll_timeout().filter(|&it| it < until) {
                self.acknowledge_late(number, deadline);
            }
        }
    }

    /// A receiver's delayed acknowledgement that was due until `at`.
    #[cold]
    fn acknowledge_late(&mut self, number: usize, at: Time) {
        let receiver = &mut self.flows[number].receiver;
        if let Some(deadline) = receiver.poll_timeout().filter(|&deadline| deadline <= at)
            && let Some(ack) = receiver.on_timeout(deadline)
        {
            self.cause = Cause::timer(Timer::DelayedAck(number as u32));
            self.acknowledge(number, deadline, ack);
        }
    }

    /// A receiver sends an acknowledgement at `at`.
    #[inline(always)] // the acknowledgement stays in registers
    fn acknowledge(&mut self, number: usize, at: Time, ack: Ack) {
        let Entrance { exit: leg, alone, .. } = self.flows[number].back;
        let mut packet = Acknowledgement(ack);
        if !alone {
            let gate = self.ends[number].back as usize;
            return self.gates[gate].acks.push(leg as u32, at, self.cause, &packet);
        }
        let from = (at, self.cause);
        let Phases { acks, links, watch, owners, .. } = self;
        let way @ Leg { stage, end, .. } = &acks[leg];
        let end = *end;
        match stage.pass(links, at, &mut packet, seen(watch, from, way, owners)) {
            Ok(due) => self.forward_ack(leg, end, due, &packet),
            Err(detour) => self.divert_ack(leg, from, detour, packet),
        }
    }
}
