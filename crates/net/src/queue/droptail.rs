//! DropTail: first in, first out, and arrivals are dropped when the room is used up.
//!
//! The limit is on what waits; the packet being transmitted has left the queue, as in ns-2.

use super::{Backlog, Verdict};

/// How much may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

impl Limit {
    /// Does a packet of `bytes` still fit?
    #[inline]
    pub fn admits(self, bytes: u32, backlog: &Backlog) -> bool {
        // An idle transmitter takes the packet at once: it never waits.
        backlog.idle_since.is_some()
            || match self {
                Limit::Packets(limit) => backlog.packets < limit,
                Limit::Bytes(limit) => backlog.bytes + u64::from(bytes) <= limit,
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

    #[inline]
    pub(crate) fn judge(&self, bytes: u32, backlog: &Backlog) -> Verdict {
        if self.limit.admits(bytes, backlog) { Verdict::Enqueue } else { Verdict::Overflow }
    }
}
