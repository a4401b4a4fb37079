//! The path between endpoints: links with their queues and impairments, and routes over a graph of links.
//!
//! A [`Link`] is *computed*. When a packet is offered, everything that was offered before is known. So one
//! call returns the result: the packet is dropped, or it arrives at a known instant. The same code serves
//! virtual time and real time. In virtual time the answer becomes an event; in real time the host sleeps
//! until the arrival is due. The host decides what a link carries: anything that implements [`Packet`].
//!
//! Some queue disciplines decide at dequeue time: CoDel, FQ-CoDel and DualPI2. A link with such a queue is
//! *stepped*. A packet [waits](Fate::Queued) there, and the link tells the host when to ask for decisions.

mod distribution;
mod ecn;
mod graph;
mod jitter;
mod link;
mod loss;
mod multipath;
mod path;
mod queue;
mod random;
mod reorder;
mod share;

pub use distribution::{BelowZero, Distribution};
pub use ecn::Ecn;
pub use graph::{Edge, Graph, NoRoute};
pub use jitter::Jitter;
pub use link::{Cause, Counters, Fate, Impairments, Link, LinkMeter, LinkTally, Retransmission, Settled};
pub use loss::{Loss, Span};
pub use multipath::Multipath;
pub use path::{Access, Detour, Stage, accesses, stages};
pub use queue::{
    Backlog, CoDel, CoDelConfig, Contradiction, Discipline, DropTail, DualPi2, DualPi2Config, FqCoDel,
    FqCoDelConfig, Limit, Pi, PiConfig, Pie, PieConfig, Queue, Red, RedConfig, Rem, RemConfig, Scale, Scheme,
    Stepped, UNLIMITED, Verdict, discipline, disciplines,
};
pub use random::Rng;
pub use reorder::Reorder;
pub use share::Share;

/// What a link needs to know about a packet.
pub trait Packet {
    /// The size on the wire in bytes, headers included.
    fn bytes(&self) -> u32;
    /// The ECN codepoint. It decides whether a queue may mark the packet instead of dropping it.
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    /// Sets the CE codepoint (RFC 3168): the packet has met congestion.
    fn mark(&mut self) {}
}

impl Packet for u32 {
    fn bytes(&self) -> u32 {
        *self
    }
}
