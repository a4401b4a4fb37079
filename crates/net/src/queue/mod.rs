//! Queue disciplines, one file each: they decide whether a packet gets through, and whether it is marked.
//!
//! Most disciplines decide about arrivals only, and the [link](crate::Link) keeps the backlog. Dequeue-driven
//! disciplines decide when the transmitter is free, and keep their packets themselves.

mod ack_filter;
mod codel;
mod discipline;
mod droptail;
mod dualpi2;
mod fq_codel;
mod pi;
mod pie;
mod policer;
mod pool;
mod red;
mod rem;
mod sampled;
mod stepped;
mod unlimited;

pub use ack_filter::AckFilter;
pub use codel::{CoDel, CoDelConfig};
pub use discipline::{Contradiction, Discipline, Scale, discipline, disciplines};
pub use droptail::{DropTail, Limit};
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use pi::{Pi, PiConfig};
pub use pie::{Pie, PieConfig};
pub use policer::Policer;
pub use red::{Red, RedConfig};
pub use rem::{Rem, RemConfig};
pub use stepped::{Scheme, Stepped};
pub use unlimited::DISCIPLINE as UNLIMITED;

pub(crate) use pool::Waiting;

use ackclock_units::{Duration, Time};
use sampled::Sampled;

/// The state of the queue that an arriving packet finds.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// The number of waiting packets, without the one in transmission.
    pub packets: u32,
    /// The number of waiting bytes, without the packet in transmission.
    pub bytes: u64,
    /// The instant at which the transmitter became idle; `None` while it is busy.
    pub idle_since: Option<Time>,
    /// The transmission time of a packet of the arriving size.
    pub transmission: Duration,
}

impl Backlog {
    /// Whether there is room for a packet of `bytes`. An idle transmitter takes the packet at once, so there
    /// always is.
    pub fn verdict(&self, limit: Limit, bytes: u32) -> Verdict {
        if self.idle_since.is_some() || limit.admits(bytes, self.packets, self.bytes) {
            Verdict::Enqueue
        } else {
            Verdict::Overflow
        }
    }
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet is queued.
    Enqueue,
    /// The packet is marked and queued.
    Mark,
    /// The packet is dropped because the queue is full.
    Overflow,
    /// The packet is dropped before the queue is full.
    Early,
    /// The packet waits. A dequeue-driven discipline will decide.
    Wait,
}

/// A packet that leaves a queue, named by its place in the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) place: u32,
    pub(crate) marked: bool,
}

/// A queue discipline.
#[derive(Clone, Debug)]
pub enum Queue {
    /// No limit.
    Unlimited,
    /// Arrivals are dropped when the queue is full.
    DropTail(DropTail),
    /// Random early detection: RED, with its gentle and adaptive forms.
    Red(Box<Red>),
    /// REM: a price from queue length and rate.
    Rem(Box<Rem>),
    /// PI: a proportional-integral controller of the queue length.
    Pi(Box<Pi>),
    /// PIE: a proportional-integral controller of the queue delay.
    Pie(Box<Pie>),
    /// A token bucket before a DropTail queue.
    Policer(Box<Policer>),
    /// A dequeue-driven discipline.
    Stepped(Box<Stepped>),
}

impl From<Scheme> for Queue {
    fn from(scheme: Scheme) -> Queue {
        Queue::Stepped(Box::new(Stepped::from(scheme)))
    }
}

impl Queue {
    /// Decides about a packet of `bytes` that arrives at `now`. `markable`: true if it may be marked instead
    /// of dropped.
    pub fn judge(&mut self, now: Time, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        match self {
            Queue::Unlimited => Verdict::Enqueue,
            Queue::DropTail(queue) => backlog.verdict(queue.limit(), bytes),
            Queue::Red(queue) => queue.judge(now, bytes, markable, backlog),
            Queue::Rem(queue) => queue.judge(bytes, markable, backlog),
            Queue::Pi(queue) => queue.judge(bytes, markable, backlog),
            Queue::Pie(queue) => queue.judge(bytes, markable, backlog),
            Queue::Policer(queue) => queue.judge(now, bytes, backlog),
            Queue::Stepped(_) => Verdict::Wait,
        }
    }

    /// The capacity, if there is a limit.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Queue::Unlimited => None,
            Queue::DropTail(queue) => Some(queue.limit()),
            Queue::Red(queue) => Some(queue.limit()),
            Queue::Policer(queue) => Some(queue.limit()),
            Queue::Stepped(queue) => Some(queue.limit()),
            Queue::Rem(_) | Queue::Pi(_) | Queue::Pie(_) => self.sampled().map(Sampled::limit),
        }
    }

    /// A queue with the same limit, first in, first out.
    pub fn without_aqm(self) -> Queue {
        self.limit().map_or(Queue::Unlimited, |limit| Queue::DropTail(DropTail::new(limit)))
    }

    /// The largest number of packets of `bytes` that can wait. `None` without a limit: then only what the
    /// hosts may have in flight bounds it.
    pub fn capacity(&self, bytes: u32) -> Option<f64> {
        self.limit().map(|limit| match limit {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(limit) => limit as f64 / f64::from(bytes.max(1)),
        })
    }

    /// The instant of the next periodic update, if the discipline has any.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.sampled().map(|sampled| sampled.clock().due())
    }

    /// Runs the periodic update that was due, with the backlog of that instant. True if further updates would
    /// change nothing until a packet arrives.
    pub fn renew(&mut self, backlog: &Backlog) -> bool {
        match self {
            Queue::Rem(queue) => queue.renew(backlog),
            Queue::Pi(queue) => queue.renew(backlog),
            Queue::Pie(queue) => queue.renew(backlog),
            _ => true, // no periodic updates
        }
    }

    /// Skips the updates up to `now`. To be called if they would change nothing.
    pub fn skip(&mut self, now: Time) {
        let sampled = match self {
            Queue::Rem(queue) => queue.sampled_mut(),
            Queue::Pi(queue) => queue.sampled_mut(),
            Queue::Pie(queue) => queue.sampled_mut(),
            _ => return,
        };
        sampled.clock_mut().skip(now);
    }

    /// The state of a discipline with periodic updates.
    #[inline]
    fn sampled(&self) -> Option<&Sampled> {
        match self {
            Queue::Rem(queue) => Some(queue.sampled()),
            Queue::Pi(queue) => Some(queue.sampled()),
            Queue::Pie(queue) => Some(queue.sampled()),
            _ => None,
        }
    }

    /// True if the queue decides when the transmitter is free, and not when a packet arrives.
    pub fn is_dequeue_driven(&self) -> bool {
        matches!(self, Queue::Stepped(_))
    }

    /// True if the queue has no limit.
    pub fn is_unlimited(&self) -> bool {
        matches!(self, Queue::Unlimited)
    }
}
