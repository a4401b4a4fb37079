//! Queue disciplines: does an arriving packet get in, marked or not?
//!
//! The [link](crate::Link) keeps the backlog; a discipline only judges arrivals. One file each.

mod droptail;
mod red;

pub use droptail::{DropTail, Limit};
pub use red::{Red, RedConfig};

use ackclock_units::{Duration, Time};

/// What an arriving packet finds.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Packets waiting; the one being transmitted does not count.
    pub packets: u32,
    /// Bytes waiting; the packet being transmitted does not count.
    pub bytes: u64,
    /// When the transmitter last became idle, if it is.
    pub idle_since: Option<Time>,
    /// How long one packet of the arriving size takes to transmit.
    pub transmission: Duration,
}

impl Backlog {
    /// Whether there is room for a packet of `bytes`. An idle transmitter takes it at once: it never waits.
    pub fn verdict(&self, limit: Limit, bytes: u32) -> Verdict {
        if self.idle_since.is_some() || limit.admits(bytes, self.packets, self.bytes) {
            Verdict::Enqueue
        } else {
            Verdict::Overflow
        }
    }
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waits its turn.
    Enqueue,
    /// It waits its turn, marked.
    Mark,
    /// It is dropped because there is no room.
    Overflow,
    /// It is dropped before the room runs out.
    Early,
}

/// A queue discipline.
#[derive(Clone, Debug)]
pub enum Queue {
    /// Room for everything.
    Unlimited,
    /// Arrivals are dropped when the room is used up.
    DropTail(DropTail),
    /// Random early detection.
    Red(Box<Red>),
}

impl Queue {
    /// Judges a packet of `bytes` that arrives at `now`; `markable` if it may be marked instead of dropped.
    pub fn judge(&mut self, now: Time, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        match self {
            Queue::Unlimited => Verdict::Enqueue,
            Queue::DropTail(queue) => backlog.verdict(queue.limit(), bytes),
            Queue::Red(queue) => queue.judge(now, bytes, markable, backlog),
        }
    }

    /// Is there room for everything?
    pub fn is_unlimited(&self) -> bool {
        matches!(self, Queue::Unlimited)
    }
}
