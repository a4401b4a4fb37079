//! DropTail: first in, first out. Arrivals are dropped when the queue is full.
//!
//! The limit counts the waiting packets. A packet in transmission has left the queue, as in ns-2.

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
