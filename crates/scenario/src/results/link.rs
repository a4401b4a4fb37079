//! What happened on a link, and to unresponsive traffic.

use super::is_zero;
use crate::measured::CbrTally;
use crate::read::LinkInfo;
use ackclock_net::LinkTally;
use serde::{Deserialize, Serialize};

/// The results of a link in the measuring window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkResult {
    /// The name.
    pub name: String,
    /// The rate, bit/s.
    pub rate_bps: f64,
    /// True if it is the narrowest of the topology's links on the way of some flow; the first of them, if
    /// several are.
    #[serde(default, rename = "narrowest", skip_serializing_if = "std::ops::Not::not")]
    pub is_narrowest: bool,
    /// The share of the time that the transmitter was busy.
    pub utilisation: f64,
    /// Packets offered.
    pub arrivals: u64,
    /// All packets dropped, for any reason.
    pub drops: u64,
    /// Packets dropped because the queue was full; included in `drops`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overflows: u64,
    /// Packets that the AQM dropped before the queue was full; included in `drops`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early_drops: u64,
    /// Packets lost at random; included in `drops`.
    pub random_losses: u64,
    /// Packets lost in outages; included in `drops`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outage_losses: u64,
    /// ACKs dropped because a newer one of their flow waited; included in `drops`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub filtered: u64,
    /// Packets that were delayed so that others may overtake them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Packets that arrived twice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copies: u64,
    /// Corrupted packets that error correction repaired.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrected: u64,
    /// Transmissions of packets that the link had corrupted before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Drops per packet offered.
    pub drop_rate: f64,
    /// Packets marked with CE.
    pub marks: u64,
    /// The time average of the number of waiting packets.
    pub queue_mean: f64,
    /// The largest number of waiting packets.
    pub queue_max: u32,
}

/// The name of a cause of drops, and the number of packets that it took.
type DropCause = (&'static str, fn(&LinkResult) -> u64);

/// The causes of drops. Their sum is `drops`.
pub const CAUSES: &[DropCause] = &[
    ("overflows", |link| link.overflows),
    ("early_drops", |link| link.early_drops),
    ("random_losses", |link| link.random_losses),
    ("outage_losses", |link| link.outage_losses),
    ("filtered", |link| link.filtered),
];

/// The results of an unresponsive stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrafficResult {
    /// The label.
    pub label: String,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub delivered: u64,
    /// The bytes on the wire that arrived, as a rate, bit/s.
    pub throughput_bps: f64,
}

impl LinkResult {
    /// Adds name and units to the measurements of a link.
    pub(super) fn new(info: &LinkInfo, is_narrowest: bool, tally: &LinkTally, window_s: f64) -> LinkResult {
        let counters = &tally.counters;
        LinkResult {
            name: info.name.clone(),
            rate_bps: info.rate.bps_f64(),
            is_narrowest,
            // The window's length is a difference of two roundings: without a bound it may give
            // 1.0000000000000002.
            utilisation: (tally.busy.as_secs_f64() / window_s).min(1.0),
            arrivals: counters.arrivals,
            drops: counters.drops(),
            overflows: counters.overflows,
            early_drops: counters.early,
            random_losses: counters.errors,
            outage_losses: counters.outages,
            filtered: counters.filtered,
            late: counters.late,
            copies: counters.copies,
            corrected: counters.corrected,
            resent: counters.resent,
            drop_rate: counters.drops() as f64 / counters.arrivals.max(1) as f64,
            marks: counters.marks,
            queue_mean: counters.waited_ns as f64 * 1e-9 / window_s,
            queue_max: counters.longest,
        }
    }

    /// True if the link is worth a line in a table: packets waited or were lost here, or it is where they
    /// would.
    pub fn is_telling(&self) -> bool {
        self.drops > 0 || self.queue_max > 0 || self.is_narrowest
    }
}

impl TrafficResult {
    /// Adds a label and units to the measurements of a stream.
    pub(super) fn new(label: &str, tally: &CbrTally, window_s: f64) -> TrafficResult {
        TrafficResult {
            label: label.to_owned(),
            sent: tally.sent,
            delivered: tally.delivered,
            throughput_bps: tally.delivered_bytes as f64 * 8.0 / window_s,
        }
    }
}
