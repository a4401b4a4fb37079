//! The path between endpoints: links with their queues and impairments, and routes over a graph of them.
//!
//! A [`Link`] is *computed*, not stepped: when a packet is offered, its fate (dropped, or the instant at
//! which it arrives at the far end) follows from what was offered before, so one call per packet is all
//! there is. The same code serves virtual time, where the answer becomes an event, and real time, where a
//! host sleeps until it is due. What a link carries is up to the host: anything that is [`Carried`].
//!
//! Where the queue decides only when the transmitter is free (CoDel, FQ-CoDel, DualPI2), a link is *stepped*: a packet
//! [waits](Fate::Waits), and the link tells when to ask what became of it.

mod alternate;
mod ecn;
mod graph;
mod link;
mod loss;
mod queue;
mod random;
mod reorder;
mod share;
mod variate;

pub use alternate::Alternate;
pub use ecn::Ecn;
pub use graph::{Edge, Graph, NoRoute};
pub use link::{Cause, Counters, Fate, Impairments, Link, Retransmission, Settled};
pub use loss::{Loss, Span};
pub use queue::{
    Backlog, CoDel, CoDelConfig, DropTail, DualPi2, DualPi2Config, FqCoDel, FqCoDelConfig, Limit, Pi,
    PiConfig, Pie, PieConfig, Queue, Red, RedConfig, Rem, RemConfig, Scheme, Stepped, Verdict,
};
pub use random::Stream;
pub use reorder::Reorder;
pub use share::Share;
pub use variate::{BelowZero, Variate};

/// What a link needs to know of a packet.
pub trait Carried {
    /// Size on the wire, headers included.
    fn bytes(&self) -> u32;
    /// What it says of ECN: whether a queue may mark it instead of dropping it.
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    /// Marks the packet as having met congestion (RFC 3168: CE).
    fn mark(&mut self) {}
}

impl Carried for u32 {
    fn bytes(&self) -> u32 {
        *self
    }
}
