//! Packets of one kind on their way: which exit they head for, and the lanes in which they wait for it.
//!
//! An exit is the end of a stage: the next gate, or the endpoint. Every exit has a lane of its own, which is
//! always in order. Exits that are equally far from the same start also share a lane: packets for all of them
//! usually come in order, because what delays one delays the others, and then one head stands for all. A
//! packet that would break a shared lane's order takes its exit's own lane; nothing is ever reordered.

use super::lanes::Lanes;
use super::route::Stage;
use super::tree::WinnerTree;
use ackclock_net::Link;
use ackclock_units::{Duration, Time};
use std::collections::HashMap;

/// A packet that can note which exit it heads for.
pub(crate) trait Tagged: Copy + Default {
    fn tag(&self) -> usize;
    fn set_tag(&mut self, tag: usize);
}

/// Where a stage ends.
pub(crate) struct Exit {
    /// The flow or stream whose path this is.
    pub(crate) owner: u32,
    /// What follows: another stage, whose exit is the next number; `None` at the endpoint.
    pub(crate) stage: Option<Stage>,
    shared_lane: u32,
}

/// Where a path begins.
pub(crate) struct Entrance {
    pub(crate) stage: Stage,
    pub(crate) exit: usize,
}

/// Exits that may share a lane: behind the same gate (or at endpoints), before the same gate (or at
/// endpoints), at the same distance.
#[derive(PartialEq, Eq, Hash)]
struct Class {
    behind: Option<u32>,
    before: Option<u32>,
    distance: Duration,
}

/// Shared lanes come first, each exit's own lane after them.
pub(crate) struct Traffic<P> {
    exits: Vec<Exit>,
    lanes: Lanes<P>,
    shared: usize,
    /// Heads of the shared lanes: few, and busy.
    busy: WinnerTree,
    /// Heads of the exits' own lanes: many, and mostly idle.
    own: WinnerTree,
    /// The earliest head of all.
    next: (Time, u32),
}

impl<P: Tagged> Traffic<P> {
    /// Lays lanes for `paths`; returns where each begins.
    pub(crate) fn new(paths: &[&[usize]], gates: &[bool], links: &[Link]) -> (Traffic<P>, Vec<Entrance>) {
        let mut exits = Vec::new();
        let mut classes = HashMap::new();
        let mut entrances = Vec::with_capacity(paths.len());
        for (owner, path) in paths.iter().enumerate() {
            let stages = super::route::stages(path, gates);
            let mut following = stages.iter().skip(1).cloned();
            let first = exits.len();
            for stage in &stages {
                let next = following.next();
                let distance = stage.along.iter().map(|&link| links[link as usize].delay());
                let class = Class {
                    behind: stage.gate,
                    before: next.as_ref().and_then(|next| next.gate),
                    distance: distance.fold(Duration::ZERO, |sum, delay| sum + delay),
                };
                let fresh = classes.len() as u32;
                let shared_lane = *classes.entry(class).or_insert(fresh);
                exits.push(Exit { owner: owner as u32, stage: next, shared_lane });
            }
            entrances.extend(stages.into_iter().take(1).map(|stage| Entrance { stage, exit: first }));
        }
        let shared = classes.len();
        let traffic = Traffic {
            lanes: Lanes::new(shared + exits.len()),
            busy: WinnerTree::new(shared),
            own: WinnerTree::new(exits.len()),
            next: (Time::NEVER, 0),
            shared,
            exits,
        };
        (traffic, entrances)
    }

    /// When the next packet reaches its exit.
    #[inline]
    pub(crate) fn earliest(&self) -> Time {
        self.next.0
    }

    /// Sends a packet on its way to `exit`, where it is due at `due`.
    #[inline]
    pub(crate) fn push(&mut self, exit: usize, due: Time, mut packet: P) {
        packet.set_tag(exit);
        let mut lane = self.exits[exit].shared_lane as usize;
        if !self.lanes.takes(lane, due) {
            lane = self.shared + exit;
        }
        if self.lanes.push(lane, due, packet) {
            self.head(lane, due);
        }
    }

    /// Takes the packet that reaches its exit first.
    #[inline]
    pub(crate) fn pop(&mut self) -> P {
        let lane = self.next.1 as usize;
        let (packet, next) = self.lanes.pop(lane);
        self.head(lane, next);
        packet
    }

    /// The exit that a packet heads for.
    #[inline]
    pub(crate) fn exit(&self, packet: &P) -> &Exit {
        &self.exits[packet.tag()]
    }

    /// Calls `see` with the owner of every packet that is on its way.
    pub(crate) fn count(&self, mut see: impl FnMut(usize)) {
        self.lanes.count(|_, packet: &P| see(self.exit(packet).owner as usize));
    }

    /// The head of `lane` is now at `time`.
    #[inline]
    fn head(&mut self, lane: usize, time: Time) {
        match lane.checked_sub(self.shared) {
            None => self.busy.set(lane, time),
            Some(own) => self.own.set(own, time),
        }
        let ((busy, busy_lane), (own, own_lane)) = (self.busy.earliest(), self.own.earliest());
        self.next =
            if busy <= own { (busy, busy_lane as u32) } else { (own, (self.shared + own_lane) as u32) };
    }
}
