//! The trace of single flows, segment by segment: when each segment was sent, dropped, delivered and
//! acknowledged, the sender's round-trip time estimates, and its loss episodes.

use serde::{Deserialize, Serialize};

/// The trace of a flow. Segment numbers continue over all its transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowTrace {
    /// The number of the flow.
    pub flow: usize,
    /// All events, in order of time.
    pub events: Vec<Event>,
    /// All segments, in order.
    pub segments: Vec<SegmentTrace>,
    /// The state of the sender after each acknowledgement and timeout, in order of time.
    pub estimates: Vec<Estimate>,
    /// The loss episodes, in order of time.
    pub episodes: Vec<Episode>,
    /// True if a capture of a link shows it. What became of its segments is not known then: neither drops nor
    /// arrivals, and no episodes.
    #[serde(default)]
    pub tapped: bool,
    /// The queue in which this flow's segments waited longest. Of several flows that meet the same queue, the
    /// first has it.
    #[serde(default)]
    pub queue: Option<QueueTrace>,
}

/// What passed the queue of a link, packet by packet, from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueTrace {
    /// The number of the link.
    pub link: usize,
    /// The first packets that reached it, in this order.
    pub packets: Vec<Crossing>,
}

/// A packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// Whose it is.
    pub owner: Owner,
    /// When it came, ns.
    pub came_ns: u64,
    /// When its last bit left the link's transmitter, or when it was dropped, ns; `None` if it waited at the
    /// end of the run.
    pub ended_ns: Option<u64>,
    /// True if it was dropped.
    pub dropped: bool,
}

/// Whose packet it is: the number of a flow, or of an unresponsive stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// A flow.
    Flow(u32),
    /// A stream.
    Stream(u32),
}

/// An event of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The time, ns.
    pub at_ns: u64,
    /// The event.
    pub what: EventKind,
    /// The segment. For an acknowledgement: the next expected segment.
    pub segment: u64,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// The segment is sent for the first time.
    New,
    /// The segment is retransmitted.
    Again,
    /// The segment reaches a link that drops it.
    Dropped,
    /// The segment reaches the receiver.
    Arrived,
    /// An acknowledgement reaches the sender.
    Acked,
    /// An acknowledgement that reaches the sender reports a run of segments beyond it. The segment is the
    /// last of the run that changed most recently.
    Sacked,
}

/// The history of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentTrace {
    /// When it was first sent, ns.
    pub sent_ns: u64,
    /// The number of retransmissions.
    pub again: u32,
    /// When it first reached the receiver, ns; `None` if it never did.
    pub arrived_ns: Option<u64>,
}

/// The state of a sender after an acknowledgement or a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The time, ns.
    pub at_ns: u64,
    /// The raw round-trip time sample, s; `None` if Karn's rule excludes it.
    pub rtt_s: Option<f64>,
    /// The smoothed round-trip time, s.
    pub srtt_s: f64,
    /// The mean deviation of the round-trip time, s (RFC 6298: RTTVAR); not a number if nobody knows.
    pub rttvar_s: f64,
    /// The congestion window, segments.
    pub cwnd: f64,
}

/// A loss episode: from the detection of a loss, or a timeout, until everything sent before is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// The start, ns.
    pub begins_ns: u64,
    /// The end, ns; `None` if the run ends first.
    pub ends_ns: Option<u64>,
    /// The first unacknowledged segment at the start.
    pub from: u64,
    /// The first unacknowledged segment at the end.
    pub to: u64,
}

impl EventKind {
    /// All names.
    pub const ALL: [(&'static str, EventKind); 6] = [
        ("new", EventKind::New),
        ("again", EventKind::Again),
        ("dropped", EventKind::Dropped),
        ("arrived", EventKind::Arrived),
        ("acked", EventKind::Acked),
        ("sacked", EventKind::Sacked),
    ];
}
