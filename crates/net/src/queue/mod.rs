//! Queue disciplines: does a packet get through, marked or not? One file each.
//!
//! Most of them only judge arrivals, and the [link](crate::Link) keeps the backlog. Others decide when the transmitter is
//! free, and keep their packets themselves.

mod codel;
mod droptail;
mod dualpi2;
mod fq_codel;
mod pi;
mod pie;
mod pool;
mod red;
mod rem;
mod sampled;
mod stepped;

pub use codel::{CoDel, CoDelConfig};
pub use droptail::{DropTail, Limit};
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use pi::{Pi, PiConfig};
pub use pie::{Pie, PieConfig};
pub use red::{Red, RedConfig};
pub use rem::{Rem, RemConfig};
pub use stepped::{Scheme, Stepped};

pub(crate) use pool::Waiting;

use ackclock_units::{Duration, Time};
use sampled::Sampled;

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
    /// It waits, and its fate is decided when the transmitter is free.
    Wait,
}

/// A packet that leaves a queue, by its place there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) place: u32,
    pub(crate) marked: bool,
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
    /// One that decides when the transmitter is free.
    Stepped(Box<Stepped>),
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
            Queue::Stepped(_) => Verdict::Wait,
        }
    }

    /// How much may wait, if there is a bound.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Queue::Unlimited => None,
            Queue::DropTail(queue) => Some(queue.limit()),
            Queue::Red(queue) => Some(queue.limit()),
            Queue::Stepped(queue) => Some(queue.limit()),
            Queue::Rem(_) | Queue::Pi(_) | Queue::Pie(_) => self.sampled().map(Sampled::limit),
        }
    }

    /// When it next looks at the backlog, if it does so by a clock of its own.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.sampled().map(|sampled| sampled.clock().due())
    }

    /// Looks at the backlog at the instant that was due. Would further looks change nothing while nothing arrives?
    pub fn renew(&mut self, backlog: &Backlog) -> bool {
        match self {
            Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_) | Queue::Stepped(_) => true,
            Queue::Rem(queue) => queue.renew(backlog),
            Queue::Pi(queue) => queue.renew(backlog),
            Queue::Pie(queue) => queue.renew(backlog),
        }
    }

    /// The next look is after `now`: nothing would have changed before.
    pub fn skip(&mut self, now: Time) {
        let sampled = match self {
            Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_) | Queue::Stepped(_) => return,
            Queue::Rem(queue) => queue.sampled_mut(),
            Queue::Pi(queue) => queue.sampled_mut(),
            Queue::Pie(queue) => queue.sampled_mut(),
        };
        sampled.clock_mut().skip(now);
    }

    /// What it has in common with others that have a clock, if it has one.
    #[inline]
    fn sampled(&self) -> Option<&Sampled> {
        match self {
            Queue::Unlimited | Queue::DropTail(_) | Queue::Red(_) | Queue::Stepped(_) => None,
            Queue::Rem(queue) => Some(queue.sampled()),
            Queue::Pi(queue) => Some(queue.sampled()),
            Queue::Pie(queue) => Some(queue.sampled()),
        }
    }

    /// Is there room for everything?
    pub fn is_unlimited(&self) -> bool {
        matches!(self, Queue::Unlimited)
    }
}
