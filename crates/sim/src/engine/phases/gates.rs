//! Gates: packets that come from several sources pass in order of time, and go on to the next gate or to an
//! endpoint.

use super::Phases;
use super::cause::Cause;
use super::inbox::{Gate, Inbox, Key};
use super::layout::{ENDPOINT, End, Leg};
use super::watch::{Watch, seen};
use crate::engine::packets::{Acknowledgement, Segment};
use ackclock_net::Detour;
use ackclock_units::Time;

impl<W: Watch> Phases<W> {
    /// Everything that is due at a gate before `until` passes it, in order of time, and then of causes.
    #[inline(never)] // registers are for one gate
    pub(super) fn run_gate(&mut self, gate: usize, until: Time) {
        if let Some(transmitter) = self.transmitters.of(self.gate_links[gate] as usize) {
            return self.run_stepped(gate, transmitter, until);
        }
        if self.links[self.gate_links[gate] as usize].retransmits() {
            return self.run_returning(gate, until);
        }
        let Gate { mut data, mut acks } = std::mem::take(&mut self.gates[gate]);
        let taken = (data.sort(until, &mut self.room), acks.sort(until, &mut self.room));
        self.taken += (taken.0 + taken.1) as u64;
        let (keys, segments) = data.ready(taken.0);
        let (mut ack_keys, all_acks) = acks.ready(taken.1);
        for &key in keys {
            while let Some((&ack, later)) = ack_keys.split_first()
                && (ack.due(), ack.cause()) < (key.due(), key.cause())
            {
                self.pass_ack_between(ack, &mut all_acks[ack.place()]);
                ack_keys = later;
            }
            self.pass_segment(key, &mut segments[key.place()]);
        }
        for &key in ack_keys {
            self.pass_ack(key, &mut all_acks[key.place()]);
        }
        self.put_back(gate, data, acks, taken);
    }

    /// Puts back what a gate has not taken: all but so many segments and acknowledgements.
    pub(super) fn put_back(
        &mut self,
        gate: usize,
        mut data: Inbox<Segment>,
        mut acks: Inbox<Acknowledgement>,
        taken: (usize, usize),
    ) {
        data.remove(taken.0, &mut self.room);
        acks.remove(taken.1, &mut self.room);
        // A path may lead to the same gate again.
        data.append(&mut self.gates[gate].data);
        acks.append(&mut self.gates[gate].acks);
        self.gates[gate] = Gate { data, acks };
    }

    /// Sorts what is on its way to gates, for who takes it over.
    pub(super) fn sort_segments(&mut self) {
        for gate in &mut self.gates {
            gate.data.sort(Time::NEVER, &mut self.room);
        }
    }

    /// A segment passes a gate, and the leg behind it.
    #[inline(always)] // one call in a loop
    pub(super) fn pass_segment(&mut self, key: Key, (leg, packet): &mut (u32, Segment)) {
        let (leg, from) = (*leg as usize, (key.due(), key.cause()));
        let Phases { data, links, watch, owners, .. } = self;
        let way @ Leg { stage, end, .. } = &data[leg];
        let end = *end;
        match stage.pass(links, from.0, packet, seen(watch, from, way, owners)) {
            Ok(due) => self.forward_segment(leg, end, due, from, packet),
            Err(detour) => self.divert_segment(leg, from, detour, *packet),
        }
    }

    /// An acknowledgement passes a gate, and the leg behind it.
    #[inline(always)] // one call in a loop
    pub(super) fn pass_ack(&mut self, key: Key, (leg, packet): &mut (u32, Acknowledgement)) {
        let (leg, from) = (*leg as usize, (key.due(), key.cause()));
        let Phases { acks, links, watch, owners, .. } = self;
        let way @ Leg { stage, end, .. } = &acks[leg];
        let end = *end;
        match stage.pass(links, from.0, packet, seen(watch, from, way, owners)) {
            Ok(due) => self.forward_ack(leg, end, due, packet),
            Err(detour) => self.divert_ack(leg, from, detour, *packet),
        }
    }

    /// The same among segments.
    #[inline(never)] // keeps this code away from segments
    fn pass_ack_between(&mut self, key: Key, packet: &mut (u32, Acknowledgement)) {
        self.pass_ack(key, packet);
    }

    /// A segment is due at `due`, at the end of a leg. `from`: the instant at which it left the last gate or
    /// its endpoint, and the cause.
    #[inline(always)] // the packet stays where it is
    pub(super) fn forward_segment(
        &mut self,
        leg: usize,
        end: End,
        due: Time,
        from: (Time, Cause),
        packet: &Segment,
    ) {
        if due >= self.looks.over {
            return self.is_beyond_the_end(end.owner as usize);
        }
        let cause = Cause::of_segment(leg as u32, due, from);
        if end.gate != ENDPOINT {
            return self.gates[end.gate as usize].data.push(leg as u32 + 1, due, cause, packet);
        }
        if end.ahead && due < self.looks.next {
            return self.receive(end.owner as usize, due, cause, packet);
        }
        self.arrive(end, due, packet);
    }

    /// An acknowledgement is due at `due`, at the end of a leg.
    #[inline(always)] // the packet stays where it is
    pub(super) fn forward_ack(&mut self, leg: usize, end: End, due: Time, packet: &Acknowledgement) {
        if due >= self.looks.over {
            return;
        }
        if end.gate != ENDPOINT {
            let inbox = &mut self.gates[end.gate as usize].acks;
            return inbox.push(leg as u32 + 1, due, Cause::ack(leg as u32), packet);
        }
        let owner = end.owner as usize;
        let Some(mail) = self.post.boxes.get_mut(owner).map(|mail| &mut mail.acks) else {
            return self.arrive_back_at_agent(end, due, packet);
        };
        if mail.is_empty() || !end.ordered {
            self.post.agenda.sooner(owner, due);
        }
        if end.ordered {
            mail.push(due, packet);
        } else {
            mail.insert(due, packet);
        }
    }

    /// A segment does not reach the end of a leg once, at a known time. `from`: as above.
    #[cold]
    pub(super) fn divert_segment(
        &mut self,
        leg: usize,
        from: (Time, Cause),
        detour: Detour,
        packet: Segment,
    ) {
        if let Some(agent) = self.owners.as_agent(self.data[leg].end.owner as usize) {
            self.agents[agent].detour(true, packet.0.seq, detour);
        }
        match detour {
            Detour::Twice(due) => {
                let end = self.data[leg].end;
                self.forward_segment(leg, end, due, from, &packet);
                self.forward_segment(leg, end, due, from, &packet);
            }
            Detour::Waits => self.hold_segment(leg, from, packet),
            Detour::Gone(_) => {}
            Detour::Back(due) => self.segment_returns(leg, due, packet),
        }
    }

    /// An acknowledgement does not reach the end of a leg once, at a known time.
    #[cold]
    pub(super) fn divert_ack(
        &mut self,
        leg: usize,
        from: (Time, Cause),
        detour: Detour,
        packet: Acknowledgement,
    ) {
        if let Some(agent) = self.owners.as_agent(self.acks[leg].end.owner as usize) {
            self.agents[agent].detour(false, packet.0.ack, detour);
        }
        match detour {
            Detour::Twice(due) => {
                let end = self.acks[leg].end;
                self.forward_ack(leg, end, due, &packet);
                self.forward_ack(leg, end, due, &packet);
            }
            Detour::Waits => self.hold_ack(leg, from, packet),
            Detour::Gone(_) => {}
            Detour::Back(due) => self.ack_returns(leg, due, packet),
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
}
