//! What happened to single flows segment by segment: when each segment was sent, dropped, delivered and acknowledged, what
//! the sender made of its round-trip times, and its loss episodes.

use serde::{Deserialize, Serialize};

/// What happened to one flow. Segments are counted on over all its transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Number of the flow.
    pub flow: usize,
    /// Every event, in order of time.
    pub events: Vec<Event>,
    /// Every segment, in order.
    pub segments: Vec<Life>,
    /// The sender after each acknowledgement and timeout, in order of time.
    pub estimates: Vec<Estimate>,
    /// Its loss episodes, in order of time.
    pub episodes: Vec<Episode>,
}

/// Something that happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// What.
    pub what: What,
    /// The segment; for an acknowledgement, the next one expected.
    pub segment: u64,
}

/// What can happen to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// It is sent for the first time.
    New,
    /// It is sent again.
    Again,
    /// It reaches a link that drops it.
    Dropped,
    /// It reaches the receiver.
    Arrived,
    /// An acknowledgement reaches the sender.
    Acked,
}

/// The life of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// When it was first sent, in nanoseconds.
    pub sent_ns: u64,
    /// How often it was sent again.
    pub again: u32,
    /// When it first reached the receiver, in nanoseconds.
    pub arrived_ns: Option<u64>,
}

/// A sender after an acknowledgement or a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// The raw round-trip time that was taken, in seconds; none under Karn's rule.
    pub rtt_s: Option<f64>,
    /// Smoothed round-trip time, in seconds.
    pub srtt_s: f64,
    /// Its mean deviation, in seconds (RFC 6298: RTTVAR).
    pub rttvar_s: f64,
    /// Congestion window, in segments.
    pub cwnd: f64,
}

/// From the detection of a loss, or a timeout, until everything sent before is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// When it begins, in nanoseconds.
    pub begins_ns: u64,
    /// When it ends, in nanoseconds; none if the run ends before.
    pub ends_ns: Option<u64>,
    /// The first unacknowledged segment at its beginning.
    pub from: u64,
    /// And at its end.
    pub to: u64,
}

impl What {
    /// Every word.
    pub const ALL: [(&'static str, What); 5] = [
        ("new", What::New),
        ("again", What::Again),
        ("dropped", What::Dropped),
        ("arrived", What::Arrived),
        ("acked", What::Acked),
    ];
}
