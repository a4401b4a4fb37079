//! The measurements of a run, as counts and times. [`results`](crate::results) adds names and units.

use crate::series::Series;
use crate::writing::BurstTally;
use ackclock_net::LinkTally;
use ackclock_rate::loss::Tally;
use ackclock_tcp::Counters;
use ackclock_units::{Duration, Time};

/// What a rate-based flow did, beside what all flows do; over the whole run.
#[derive(Clone, Copy, Debug)]
pub struct RateTally {
    /// The rate at the end, bit/s on the wire.
    pub rate: f64,
    /// Packets that the sender found lost.
    pub lost: u64,
    /// The mean over time of the loss event rate that the receiver reported. `None` for transports without
    /// loss events.
    pub loss_event_rate: Option<f64>,
    /// Losses by label and cause, of the last connection. Empty where losses are not labelled.
    pub labels: Tally,
}

/// What a run measured; everything but `series` and `transfers` within the measuring window.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One entry per flow.
    pub flows: Vec<FlowTally>,
    /// One entry per unresponsive stream.
    pub streams: Vec<CbrTally>,
    /// One entry per link.
    pub links: Vec<LinkTally>,
    /// Segments that all flows together delivered in order, over the whole run.
    pub delivered_segments: u64,
    /// The probes' samples, if probes were on.
    pub series: Option<Series>,
}

impl Measured {
    /// Sorts the flows: entry n was measured at the flow number `numbers[n]`.
    #[must_use]
    pub fn in_order(mut self, numbers: &[u32]) -> Measured {
        self.flows = sorted(self.flows, numbers);
        self.series = self.series.map(|series| series.in_order(numbers));
        self
    }
}

pub(crate) fn sorted<T>(values: Vec<T>, numbers: &[u32]) -> Vec<T> {
    let mut numbered: Vec<(u32, T)> = numbers.iter().copied().zip(values).collect();
    numbered.sort_by_key(|&(number, _)| number);
    numbered.into_iter().map(|(_, value)| value).collect()
}

/// The measurements of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowTally {
    /// Segments delivered in order.
    pub delivered: u64,
    /// Segments that reached the receiver, duplicates included.
    pub arrived: u64,
    /// Segments that reached the receiver although it already had them.
    pub duplicates: u64,
    /// The counters of the sender.
    pub counters: Counters,
    /// The smallest raw round-trip time of the whole run; `None` without a sample.
    pub rtt_min: Option<Duration>,
    /// The time average of cwnd while the flow was running, segments.
    pub cwnd_mean: f64,
    /// Transfers that came while the one before was under way, and began when it was over.
    pub waited: u64,
    /// Every transfer of a size that was started, over the whole run.
    pub transfers: Vec<Transfer>,
    /// What became of its bursts over the whole run, if it writes bursts.
    pub bursts: Option<BurstTally>,
    /// What only rate-based flows do; `None` for TCP.
    pub rate: Option<RateTally>,
    /// Over the whole run: segments sent, segments that arrived, and segments still in flight at the end.
    pub whole_run: (u64, u64, u64),
}

/// A transfer of a known size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// When the application asked for it.
    pub begun: Time,
    /// Its payload, bytes; in the simulator whole segments.
    pub bytes: u64,
    /// Time until all of it was acknowledged, in an emulation until all of it was received; `None` if the
    /// run, or the application, ended before that.
    pub took: Option<Duration>,
}

impl FlowTally {
    /// How long each finished transfer took.
    pub fn completions(&self) -> Vec<Duration> {
        self.transfers.iter().filter_map(|transfer| transfer.took).collect()
    }
}

/// An unresponsive stream's figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct CbrTally {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub delivered: u64,
    /// Bytes that arrived, headers included.
    pub delivered_bytes: u64,
}
