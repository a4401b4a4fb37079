//! Queue disciplines: does an arriving packet get in, marked or not?
//!
//! The [link](crate::Link) keeps the backlog; a discipline only judges arrivals. One file each.

mod clock;
mod droptail;
mod pi;
mod pie;
mod red;
mod rem;

pub use droptail::{DropTail, Limit};
pub use pi::{Pi, PiConfig};
pub use pie::{Pie, PieConfig};
pub use red::{Red, RedConfig};
pub use rem::{Rem, RemConfig};

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
    /// A price from queue and rate.
    Rem(Box<Rem>),
    /// A proportional-integral controller of the queue.
    Pi(Box<Pi>),
    /// A proportional-integral controller of the delay.
    Pie(Box<Pie>),
}

impl Queue {
    /// Judges a packet of `bytes` that arrives at `now`; `markable` if it may be marked instead of dropped.
    pub fn judge(&mut self, now: Time, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        match self {
            Queue::Unlimited => Verdict::Enqueue,
            Queue::DropTail(queue) => backlog.verdict(queue.limit(), bytes),
            Queue::Red(queue) => queue.judge(now, bytes, markable, backlog),
            Queue::Rem(queue) => queue.judge(bytes, markable, backlog),
            Queue::Pi(queue) => queue.judge(bytes, markable, backlog),
            Queue::Pie(queue) => queue.judge(bytes, markable, backlog),
        }
    }

    /// How much may wait, if there is a bound.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Queue::Unlimited => None,
            Queue::DropTail(queue) => Some(queue.limit()),
            Queue::Red(queue) => Some(queue.limit()),
            Queue::Rem(queue) => Some(queue.limit()),
            Queue::Pi(queue) => Some(queue.limit()),
            Queue::Pie(queue) => Some(queue.limit()),
        }
    }

    /// When it next looks at the backlog, if it does so by a clock of its own.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        match self {
            Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_) => None,
            Queue::Rem(queue) => Some(queue.clock().due()),
            Queue::Pi(queue) => Some(queue.clock().due()),
            Queue::Pie(queue) => Some(queue.clock().due()),
        }
    }

    /// Looks at the backlog at the instant that was due. Would further looks change nothing while nothing arrives?
    pub fn renew(&mut self, backlog: &Backlog) -> bool {
        match self {
            Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_) => true,
            Queue::Rem(queue) => queue.renew(backlog),
            Queue::Pi(queue) => queue.renew(backlog),
            Queue::Pie(queue) => queue.renew(backlog),
        }
    }

    /// The next look is after `now`: nothing would have changed before.
    pub fn skip(&mut self, now: Time) {
        match self {
            Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_) => {}
            Queue::Rem(queue) => queue.clock_mut().skip(now),
            Queue::Pi(queue) => queue.clock_mut().skip(now),
            Queue::Pie(queue) => queue.clock_mut().skip(now),
        }
    }

    /// Is there room for everything?
    pub fn is_unlimited(&self) -> bool {
        matches!(self, Queue::Unlimited)
    }
}
