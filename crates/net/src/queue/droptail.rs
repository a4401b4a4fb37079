//! DropTail: first in, first out. Arrivals are dropped when the queue is full.
//!
//! The limit counts the waiting packets. A packet in transmission has left the queue, as in ns-2.

use super::Queue;
use super::discipline::{Discipline, always};
use ackclock_registry::{Entry, Parameter};
use ackclock_units::Room;

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "droptail",
        title: "DropTail",
        source: "as in ns-2: the packet being transmitted does not count",
        summary: "first in, first out; arrivals are dropped when the room is used up",
        equations: &[],
        notes: &["The limit alone may stand in the place of the table: { droptail = \"1 bdp\" }."],
        parameters: &[LIMIT],
    },
    example: "{ droptail = \"1 bdp\" }",
    dequeue_driven: false,
    check: always,
    build: |settings, scale, _| Queue::DropTail(DropTail::new(scale.limit(settings.get("limit")))),
};

/// The limit that must be given.
pub(super) const LIMIT: Parameter = Parameter::room(
    "limit",
    Room::Bdp(1.0),
    "what may wait; 1 bdp is the link's rate times the longest propagation round-trip time of its flows",
)
.needed();

/// The capacity of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(u64),
}

impl Limit {
    /// True if a packet of `bytes` fits behind `waiting` packets with `waiting_bytes` bytes.
    #[inline]
    pub fn admits(self, bytes: u32, waiting: u32, waiting_bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => waiting < limit,
            Limit::Bytes(limit) => waiting_bytes + u64::from(bytes) <= limit,
        }
    }
}

/// The queue discipline.
#[derive(Clone, Copy, Debug)]
pub struct DropTail {
    limit: Limit,
}

impl DropTail {
    /// An empty queue that holds at most `limit`.
    pub fn new(limit: Limit) -> DropTail {
        DropTail { limit }
    }

    /// The capacity.
    pub fn limit(&self) -> Limit {
        self.limit
    }
}
