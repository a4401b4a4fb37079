//! What was measured of a run, as counts and times: results put names and units to it.

use crate::series::Series;
use crate::writing::BurstTally;
use ackclock_net::Counters as LinkCounters;
use ackclock_tcp::Counters;
use ackclock_units::Duration;

/// What a run measured; everything but `series` and `completions` within the measuring window.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One entry per flow.
    pub flows: Vec<FlowTally>,
    /// One entry per unresponsive stream.
    pub streams: Vec<StreamTally>,
    /// One entry per link.
    pub links: Vec<LinkTally>,
    /// Segments delivered in order over the whole run, all flows together.
    pub delivered_segments: u64,
    /// What the probes saw, if they were on.
    pub series: Option<Series>,
}

/// A flow's figures.
#[derive(Clone, Debug, Default)]
pub struct FlowTally {
    /// Segments delivered in order.
    pub delivered: u64,
    /// Segments that reached the receiver, duplicates included.
    pub arrived: u64,
    /// Segments that reached the receiver although it had them.
    pub duplicates: u64,
    /// What the sender did.
    pub counters: Counters,
    /// Smallest raw round-trip time of the whole run, if there was a sample.
    pub rtt_min: Option<Duration>,
    /// Time average of cwnd while the flow was running, segments.
    pub cwnd_mean: f64,
    /// How long each finished transfer took, over the whole run.
    pub completions: Vec<Duration>,
    /// What became of its bursts over the whole run, if it writes bursts.
    pub bursts: Option<BurstTally>,
    /// Over the whole run: segments sent, segments that arrived, and data packets still on their way at the end.
    pub whole_run: (u64, u64, u64),
}

/// An unresponsive stream's figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamTally {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub delivered: u64,
    /// Bytes that arrived, headers included.
    pub delivered_bytes: u64,
}

/// A link's figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkTally {
    /// What happened to packets.
    pub counters: LinkCounters,
    /// Time that the transmitter worked.
    pub busy: Duration,
}
