//! DropTail: first in, first out, and arrivals are dropped when the room is used up.
//!
//! The limit is on what waits; the packet being transmitted has left the queue, as in ns-2.

/// How much may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

impl Limit {
    /// Does a packet of `bytes` still fit behind so many packets and bytes?
    #[inline]
    pub fn admits(self, bytes: u32, waiting: u32, waiting_bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => waiting < limit,
            Limit::Bytes(limit) => waiting_bytes + u64::from(bytes) <= limit,
        }
    }
}

/// The discipline.
#[derive(Clone, Copy, Debug)]
pub struct DropTail {
    limit: Limit,
}

impl DropTail {
    /// Room for `limit`.
    pub fn new(limit: Limit) -> DropTail {
        DropTail { limit }
    }

    /// Its room.
    pub fn limit(&self) -> Limit {
        self.limit
    }
}
