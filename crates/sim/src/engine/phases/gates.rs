//! Gates: packets that come from several sources pass in order of time, and go on to the next gate or to an
//! endpoint.

use super::cause::Cause;
use super::inbox::{Gate, Inbox, Key};
use super::layout::{ENDPOINT, ENTRY};
use super::{Phases, Source};
use crate::engine::flow::Flow;
use crate::engine::in_flight::Entrance;
use crate::engine::owners::Owners;
use crate::engine::packets::{Acknowledgement, Segment};
use ackclock_net::Detour;
use ackclock_units::Time;

impl Phases {
    /// Everything that is due at a gate before `until` passes it, in order of time, and then of causes.
    pub(super) fn run_gate(&mut self, gate: usize, until: Time) {
        if let Some(transmitter) = self.transmitters.of(self.gate_links[gate] as usize) {
            return self.run_stepped(gate, transmitter, until);
        }
        let Gate { mut data, mut acks } = std::mem::take(&mut self.gates[gate]);
        let segments = data.sort(until, &mut self.room.0);
        let all_acks = acks.sort(until, &mut self.room.1);
        self.taken += (segments + all_acks) as u64;
        let mut passed = 0;
        for number in 0..segments {
            let key = data.key(number);
            while passed < all_acks
                && let ack = acks.key(passed)
                && (ack.due(), ack.cause()) < (key.due(), key.cause())
            {
                self.pass_ack(ack, acks.get(ack));
                passed += 1;
            }
            self.pass_segment(key, data.get(key));
        }
        for number in passed..all_acks {
            let key = acks.key(number);
            self.pass_ack(key, acks.get(key));
        }
        self.put_back(gate, data, acks, (segments, all_acks));
    }

    /// Puts back what a gate has not taken: all but so many segments and acknowledgements.
    pub(super) fn put_back(
        &mut self,
        gate: usize,
        mut data: Inbox<Segment>,
        mut acks: Inbox<Acknowledgement>,
        taken: (usize, usize),
    ) {
        data.remove(taken.0, &mut self.room.0);
        acks.remove(taken.1, &mut self.room.1);
        // A path may lead to the same gate again.
        data.append(&self.gates[gate].data);
        acks.append(&self.gates[gate].acks);
        self.gates[gate] = Gate { data, acks };
    }

    /// A segment passes a gate.
    #[inline]
    pub(super) fn pass_segment(&mut self, key: Key, (exit, mut packet): (u32, Segment)) {
        let (at, cause) = (key.due(), key.cause());
        let (stage, next) = if exit & ENTRY == 0 {
            let Some(stage) = &self.data[exit as usize].stage else { return };
            (stage, exit as usize + 1)
        } else {
            let Some(out) = entrance(&self.flows, &self.sources, &self.owners, exit & !ENTRY) else { return };
            (&out.stage, out.exit)
        };
        match stage.pass(&mut self.links, at, &mut packet, |_, _, _, _| {}) {
            Ok(due) => self.forward_segment(next, due, (at, cause), packet),
            Err(detour) => self.divert_segment(next, (at, cause), detour, packet),
        }
    }

    /// An acknowledgement passes a gate.
    #[inline]
    pub(super) fn pass_ack(&mut self, key: Key, (exit, mut packet): (u32, Acknowledgement)) {
        let (at, cause) = (key.due(), key.cause());
        let (stage, next) = if exit & ENTRY == 0 {
            let Some(stage) = &self.acks[exit as usize].stage else { return };
            (stage, exit as usize + 1)
        } else {
            let back = &self.flows[(exit & !ENTRY) as usize].back;
            (&back.stage, back.exit)
        };
        match stage.pass(&mut self.links, at, &mut packet, |_, _, _, _| {}) {
            Ok(due) => self.forward_ack(next, due, packet),
            Err(detour) => self.divert_ack(next, (at, cause), detour, packet),
        }
    }

    /// A segment is due at `due`, at `exit`. `from`: the instant at which it left the last gate or its
    /// endpoint, and the cause.
    #[inline(always)] // the packet stays in registers
    pub(super) fn forward_segment(&mut self, exit: usize, due: Time, from: (Time, Cause), packet: Segment) {
        let at = &self.data[exit];
        let owner = at.owner as usize;
        if due >= self.looks.over {
            return self.is_beyond_the_end(owner);
        }
        // Set off by an acknowledgement, it comes right after that, and not with the segments before.
        let cause = if due == from.0 && from.1.is_ack() { from.1 } else { Cause::segment(exit as u32) };
        if at.gate == ENDPOINT {
            let ordered = at.ordered;
            return self.arrive(owner, due, cause, packet, ordered);
        }
        self.gates[at.gate as usize].data.push(exit as u32, due, cause, packet);
    }

    /// An acknowledgement is due at `due`, at `exit`.
    #[inline(always)] // the packet stays in registers
    pub(super) fn forward_ack(&mut self, exit: usize, due: Time, packet: Acknowledgement) {
        if due >= self.looks.over {
            return;
        }
        let at = &self.acks[exit];
        if at.gate != ENDPOINT {
            return self.gates[at.gate as usize].acks.push(exit as u32, due, Cause::ack(exit as u32), packet);
        }
        let owner = at.owner as usize;
        self.agenda.sooner(owner, due);
        if at.ordered {
            self.ends[owner].acks.push(due, packet);
        } else {
            self.ends[owner].acks.insert(due, packet);
        }
    }

    /// A segment does not reach `exit` once, at a known time. `from`: as above.
    #[cold]
    pub(super) fn divert_segment(
        &mut self,
        exit: usize,
        from: (Time, Cause),
        detour: Detour,
        packet: Segment,
    ) {
        match detour {
            Detour::Twice(due) => {
                self.forward_segment(exit, due, from, packet);
                self.forward_segment(exit, due, from, packet);
            }
            Detour::Waits => self.hold_segment(exit - 1, from, packet),
            Detour::Gone(_) => {}
            Detour::Back(_) => debug_assert!(false, "such a run is unfit"),
        }
    }

    /// An acknowledgement does not reach `exit` once, at a known time.
    #[cold]
    pub(super) fn divert_ack(
        &mut self,
        exit: usize,
        from: (Time, Cause),
        detour: Detour,
        packet: Acknowledgement,
    ) {
        match detour {
            Detour::Twice(due) => {
                self.forward_ack(exit, due, packet);
                self.forward_ack(exit, due, packet);
            }
            Detour::Waits => self.hold_ack(exit - 1, from, packet),
            Detour::Gone(_) => {}
            Detour::Back(_) => debug_assert!(false, "such a run is unfit"),
        }
    }

    /// A segment will not arrive before the run ends.
    #[cold]
    fn is_beyond_the_end(&mut self, owner: usize) {
        if let Some(flow) = self.flows.get_mut(owner) {
            flow.beyond_the_end += 1;
        }
    }
}

/// Where the packets of an owner enter the network.
#[cold]
fn entrance<'a>(
    flows: &'a [Flow],
    sources: &'a [Source],
    owners: &Owners,
    owner: u32,
) -> Option<&'a Entrance> {
    let owner = owner as usize;
    match flows.get(owner) {
        Some(flow) => Some(&flow.out),
        None => owners.as_stream(owner).map(|stream| &sources[stream].stream.out),
    }
}
