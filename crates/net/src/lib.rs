//! The path between endpoints: links with their queues and impairments, and routes over a graph of links.
//!
//! A [`Link`] is *computed*. When a packet is offered, everything that was offered before is known. So one
//! call returns the result: the packet is dropped, or it arrives at a known instant. The same code serves
//! virtual time and real time. In virtual time the answer becomes an event; in real time the host sleeps
//! until the arrival is due. The host decides what a link carries: anything that implements [`Packet`].
//!
//! Some queue disciplines decide at dequeue time: CoDel, FQ-CoDel, DualPI2 and the ACK filter. A link with
//! such a queue is
//! *stepped*. A packet [waits](Fate::Queued) there, and the link tells the host when to ask for decisions.

mod distribution;
mod ecn;
mod graph;
mod jitter;
mod link;
mod loss;
mod multipath;
mod outages;
mod path;
mod queue;
mod random;
mod reorder;
mod share;

pub use distribution::{BelowZero, Distribution};
pub use ecn::Ecn;
pub use graph::{Costs, Edge, Graph, NoRoute};
pub use jitter::Jitter;
pub use link::{
    Cause, Counters, Fate, Impairments, Link, LinkMeter, LinkTally, Retransmission, Schedule, Settled, Trace,
    VariableRate,
};
pub use loss::{Loss, Span};
pub use multipath::Multipath;
pub use outages::Outages;
pub use path::{Access, Detour, Stage, accesses, stages};
pub use queue::{
    AckFilter, Backlog, CoDel, CoDelConfig, Contradiction, Discipline, DropTail, DualPi2, DualPi2Config,
    FqCoDel, FqCoDelConfig, Limit, Pi, PiConfig, Pie, PieConfig, Queue, Red, RedConfig, Rem, RemConfig,
    Scale, Scheme, Stepped, UNLIMITED, Verdict, discipline, disciplines,
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

/// What a queue that keeps its packets reads in their headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// A number that identifies the flow. The two directions of a connection are two flows.
    pub flow: u64,
    /// What the packet acknowledges, if it does nothing else.
    pub ack: Option<PureAck>,
}

/// An acknowledgement without data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureAck {
    /// The cumulative acknowledgement, modulo 2^32.
    pub number: u32,
    /// The ECN flags of the TCP header: what they echo is news by itself.
    pub ecn: u8,
}

impl PureAck {
    /// True if this ACK says all that `older` says, and acknowledges more. A duplicate does not: three of
    /// them start a fast retransmit (RFC 5681 section 3.2).
    pub fn supersedes(&self, older: &PureAck) -> bool {
        let ahead = self.number.wrapping_sub(older.number) as i32;
        self.ecn == older.ecn && ahead > 0
    }
}

impl Packet for u32 {
    fn bytes(&self) -> u32 {
        *self
    }
}
