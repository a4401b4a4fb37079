//! Packets of one kind in flight: their next exit, and the lanes in which they wait for it.
//!
//! An exit is the end of a stage: the next gate, or the endpoint. Every exit has a lane of its own, which is
//! always in order. Exits at the same distance from the same start also share a lane. Packets for these exits
//! usually come in order, because what delays one delays the others. Then one head stands for all. A packet
//! that would break the order of a shared lane takes the lane of its own exit. Nothing is ever reordered
//! here. Two kinds of packets have no lane, but a heap: those for exits behind links that reorder, and those
//! that come back to the exit before a link that corrupted them.
//!
//! Of packets due at the same instant, the one for the lowest exit goes first, whatever its lane is and
//! whenever it got there. So a shared lane takes at most one packet per instant.

use super::lanes::Lanes;
use super::reorder_heap::ReorderHeap;
use super::tree::{Head, WinnerTree};
use ackclock_net::{Access, Detour, Stage};
use ackclock_net::{Link, stages};
use ackclock_units::{Duration, Time};
use std::collections::HashMap;

/// The end of a stage.
pub(crate) struct Exit {
    /// The flow or stream that owns the path.
    pub(crate) owner: u32,
    /// The next stage, whose exit is the next number; `None` at the endpoint.
    pub(crate) stage: Option<Stage>,
    shared_lane: u32,
    /// True if all packets that come here take the same route and keep their order. Then a packet may run
    /// ahead of time.
    alone: bool,
    /// True if packets come here in order of time.
    ordered: bool,
    /// The counter for packets that wait for the same gate, or this endpoint.
    count: u32,
}

/// The start of a path.
pub(crate) struct Entrance {
    pub(crate) stage: Stage,
    pub(crate) exit: usize,
    /// True if only packets from here enter the first link.
    pub(crate) alone: bool,
}

/// The exits that may share a lane: behind the same gate (or at endpoints), before the same gate (or at
/// endpoints), at the same distance.
#[derive(PartialEq, Eq, Hash)]
struct Class {
    behind: Option<u32>,
    before: Option<u32>,
    distance: Duration,
}

/// The shared lane of an exit that has none.
const NO_LANE: u32 = u32::MAX;

/// Shared lanes come first, then each exit's own lane. The last lane always stays empty: it stands for the
/// heap.
pub(crate) struct InFlight<P> {
    exits: Vec<Exit>,
    lanes: Lanes<P>,
    shared: usize,
    /// The packets for exits at which they arrive out of order.
    reorder_heap: ReorderHeap<P>,
    /// The lane that stands for the heap.
    reorder_lane: u32,
    /// The heads of the shared lanes: few, and busy.
    busy: WinnerTree,
    /// The heads of the exits' own lanes, many and mostly idle, and the head of the heap.
    own: WinnerTree,
    /// The number of packets that wait for each gate, by its link, and then for each endpoint, by its exit.
    waiting: Vec<u32>,
    /// The earliest of all heads.
    next: Head,
}

impl<P: Copy + Default> InFlight<P> {
    /// Creates the lanes for `paths`. Returns the start of each path. `ahead`: true if packets may reach
    /// endpoints ahead of time.
    pub(crate) fn new(
        paths: &[&[usize]],
        accesses: &[Access],
        links: &[Link],
        ahead: bool,
    ) -> (InFlight<P>, Vec<Entrance>) {
        let mut exits = Vec::new();
        let mut classes = HashMap::new();
        let mut entrances = Vec::with_capacity(paths.len());
        for (owner, path) in paths.iter().enumerate() {
            let stages = stages(path, accesses, links);
            let mut following = stages.iter().skip(1).cloned();
            let first = exits.len();
            for stage in &stages {
                let next = following.next();
                let gate = next.as_ref().and_then(|next| next.gate);
                let distance = stage.along.iter().map(|&link| links[link as usize].delay());
                let class = Class {
                    behind: stage.gate,
                    before: gate,
                    distance: distance.fold(Duration::ZERO, |sum, delay| sum + delay),
                };
                let ordered =
                    stage.keeps_order(links) && gate.is_none_or(|gate| !links[gate as usize].retransmits());
                let fresh = classes.len() as u32;
                let shared_lane = if ordered { *classes.entry(class).or_insert(fresh) } else { NO_LANE };
                let alone = ordered && gate.map_or(ahead, |gate| accesses[gate as usize] == Access::Alone);
                let count = gate.unwrap_or((links.len() + exits.len()) as u32);
                exits.push(Exit { owner: owner as u32, stage: next, shared_lane, alone, ordered, count });
            }
            entrances.extend(stages.into_iter().take(1).map(|stage| {
                let alone = stage.gate.is_none_or(|gate| accesses[gate as usize] != Access::InTurn);
                Entrance { stage, exit: first, alone }
            }));
        }
        let shared = classes.len();
        let reorder_lane = shared + exits.len();
        let mut lanes = Lanes::new(reorder_lane + 1);
        lanes.close(reorder_lane);
        for exit in exits.iter_mut().filter(|exit| !exit.ordered) {
            exit.shared_lane = reorder_lane as u32;
        }
        let traffic = InFlight {
            lanes,
            reorder_heap: ReorderHeap::default(),
            reorder_lane: reorder_lane as u32,
            busy: WinnerTree::new(0, shared),
            own: WinnerTree::new(shared, exits.len() + 1),
            waiting: vec![0; links.len() + exits.len()],
            next: Head::new(Time::NEVER, 0, 0),
            shared,
            exits,
        };
        (traffic, entrances)
    }

    /// The time at which the next packet reaches its exit.
    #[inline]
    pub(crate) fn earliest(&self) -> Time {
        self.next.time()
    }

    /// True if a packet may run ahead of time at `exit`: no other packet can come between those for it, and
    /// none waits.
    #[inline]
    pub(crate) fn runs_ahead(&self, exit: usize) -> bool {
        let exit = &self.exits[exit];
        exit.alone && self.waiting[exit.count as usize] == 0
    }

    /// Adds a packet that is due at `due`, at `exit`, to a lane.
    #[inline(always)] // the packet stays in registers
    pub(crate) fn push(&mut self, exit: usize, due: Time, packet: P) {
        let at = &self.exits[exit];
        if at.alone {
            self.waiting[at.count as usize] += 1;
        }
        let mut lane = at.shared_lane as usize;
        if !self.lanes.takes(lane, due) {
            if !at.ordered {
                return self.push_out_of_order(exit as u32, due, false, packet);
            }
            lane = self.shared + exit;
        }
        if self.lanes.push(lane, due, exit as u32, packet) {
            self.head(lane, due, exit as u32);
        }
    }

    /// Adds a packet that comes out of order, or comes back, to the heap.
    #[inline(never)] // keeps this code away from the common case
    fn push_out_of_order(&mut self, exit: u32, due: Time, back: bool, packet: P) {
        if self.reorder_heap.push(exit, due, back, packet) {
            self.head(self.reorder_lane as usize, due, exit);
        }
    }

    /// Handles a packet that does not reach the exit `next` once, at a known time.
    #[cold]
    pub(crate) fn divert(&mut self, next: usize, detour: Detour, packet: P) {
        match detour {
            Detour::Gone(_) | Detour::Waits => {} // a waiting packet is not in flight
            Detour::Twice(due) => {
                self.push(next, due, packet);
                self.push(next, due, packet);
            }
            Detour::Back(due) => {
                let exit = next - 1; // the exit before the gate, where nothing runs ahead
                self.push_out_of_order(exit as u32, due, true, packet);
            }
        }
    }

    /// The packet that reaches its exit first, and that exit.
    #[inline]
    pub(crate) fn first(&self) -> (usize, &P) {
        let lane = self.next.lane();
        let exit = self.next.rank() as usize;
        if lane == self.reorder_lane
            && let Some(packet) = self.reorder_heap.first()
        {
            return (exit, packet);
        }
        (exit, self.lanes.first(lane as usize))
    }

    /// Removes that packet. True if it comes back to a link that has corrupted it.
    #[inline]
    pub(crate) fn pop(&mut self) -> bool {
        let exit = &self.exits[self.next.rank() as usize];
        if exit.alone {
            self.waiting[exit.count as usize] -= 1;
        }
        let lane = self.next.lane() as usize;
        if self.next.lane() == self.reorder_lane {
            let (back, due, exit) = self.reorder_heap.pop();
            self.head(lane, due, exit);
            return back;
        }
        let (due, exit) = self.lanes.pop(lane);
        self.head(lane, due, exit);
        false
    }

    /// An exit, by its number.
    #[inline]
    pub(crate) fn exit(&self, exit: usize) -> &Exit {
        &self.exits[exit]
    }

    /// Calls `see` with the owner of every packet in flight.
    pub(crate) fn count(&self, mut see: impl FnMut(usize)) {
        let mut see = |exit: u32| see(self.exits[exit as usize].owner as usize);
        self.lanes.count(&mut see);
        self.reorder_heap.exits().for_each(see);
    }

    /// Sets the head of `lane`: due at `time`, at `exit`.
    #[inline]
    fn head(&mut self, lane: usize, time: Time, exit: u32) {
        let tree = if lane < self.shared { &mut self.busy } else { &mut self.own };
        tree.set(lane, time, exit);
        self.next = self.busy.earliest().min(self.own.earliest());
    }
}
