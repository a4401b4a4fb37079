//! What a flow did.

use super::statistics::Spread;
use super::transfers::Transfers;
use crate::measured::{FlowTally, RateTally};
use crate::plan::Plan;
use crate::read::GroupInfo;
use crate::requests::Size;
use crate::writing::BurstTally;
use ackclock_rate::loss::Label;
use serde::{Deserialize, Serialize};

/// The results of a flow in the measuring window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowResult {
    /// The number of the flow, from 0.
    pub id: usize,
    /// The label of its group.
    pub label: String,
    /// The name of its controller.
    pub control: String,
    /// The name of its recovery; `own` for a rate-based transport.
    pub recovery: String,
    /// The name of its detection; `own` for a rate-based transport.
    #[serde(default)]
    pub detection: String,
    /// The name of its slow start; `own` if the controller sets its window in every state.
    #[serde(default)]
    pub slow_start: String,
    /// The payload of a full segment, bytes. In an emulation: of the kernel's segments.
    pub payload_bytes: u32,
    /// The size of a full segment on the wire, bytes.
    pub segment_bytes: u32,
    /// The payload delivered in order, bit/s.
    pub goodput_bps: f64,
    /// The bytes on the wire that reached the receiver, as a rate, bit/s.
    pub throughput_bps: f64,
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments delivered in order.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Segments that reached the receiver although it already had them: spurious retransmissions, unless the
    /// path duplicates.
    #[serde(default)]
    pub duplicates: u64,
    /// Loss episodes that began because of acknowledgements.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions of the window, or of the rate.
    pub window_cuts: u64,
    /// The smallest round-trip time of the whole run, s.
    pub rtt_min_s: Option<f64>,
    /// The mean of all round-trip time samples, s.
    pub rtt_mean_s: Option<f64>,
    /// The time average of the congestion window, segments. For a rate-based flow: of the packets that its
    /// rate sends in a smoothed round-trip time.
    pub cwnd_mean: f64,
    /// Round-trip time of an empty packet on an empty path, s: the delays of all links there and back.
    pub propagation_rtt_s: f64,
    /// Rate of the narrowest link on the way there, bit/s.
    pub narrowest_bps: f64,
    /// The longest time by which [jitter](ackclock_net::Jitter) delays a packet at its host, s; absent
    /// without jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<f64>,
    /// Mean time of a finished transfer, s; null if none finished.
    pub completion_s: Option<f64>,
    /// When each finished transfer began, s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begins_s: Vec<f64>,
    /// Payload of each finished transfer, bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes_bytes: Vec<u64>,
    /// Time of each finished transfer, s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions_s: Vec<f64>,
    /// [Slowdown](FlowResult::ideal_s) of each finished transfer; empty if the application writes bursts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowdowns: Vec<f64>,
    /// All transfers; absent if the flow's data has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// The flow's bursts over the whole run; absent if it writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstResult>,
    /// What only rate-based flows do; absent for TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateResult>,
}

/// What only rate-based flows do, over the whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RateResult {
    /// The rate at the end of the run, bit/s on the wire.
    pub rate_bps: f64,
    /// Packets that the sender found lost.
    pub lost: u64,
    /// The mean over time of the loss event rate that the receiver reported; absent for transports without
    /// loss events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_event_rate: Option<f64>,
    /// Losses by label and cause; empty where losses are not labelled.
    pub labels: Vec<LabelCount>,
}

/// Losses with the same label and cause.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabelCount {
    /// What the transport took it for: `congestion` or `transmission`.
    pub label: String,
    /// What it was: `congestion`, `transmission`, or `unknown`.
    pub cause: String,
    /// False within the guard after a halving, where labels have no effect.
    pub acted: bool,
    /// The number of such losses.
    pub count: u64,
}

impl RateResult {
    fn of(tally: &RateTally) -> RateResult {
        let named = [(Label::Congestion, "congestion"), (Label::Transmission, "transmission")];
        let causes = named.map(|(cause, name)| (Some(cause), name)).into_iter().chain([(None, "unknown")]);
        let kinds = causes.flat_map(|(cause, of)| named.map(|(label, name)| (label, name, cause, of)));
        let labels = kinds.flat_map(|(label, name, cause, of)| {
            [true, false].map(|acted| LabelCount {
                label: name.to_owned(),
                cause: of.to_owned(),
                acted,
                count: tally.labels.of(label, cause, acted),
            })
        });
        RateResult {
            rate_bps: tally.rate,
            lost: tally.lost,
            loss_event_rate: tally.loss_event_rate,
            labels: labels.filter(|of| of.count > 0).collect(),
        }
    }
}

/// The bursts of a flow, over the whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BurstResult {
    /// The size of a burst, bytes.
    pub size_bytes: u64,
    /// The number of bursts to write.
    pub due: u64,
    /// The number of bursts that were written.
    pub written: u64,
    /// The number of periods that began while a burst was still being written.
    pub failed_cycles: u64,
    /// The bytes that the socket accepted.
    pub written_bytes: u64,
    /// The time from the start of the first burst until the last one was written, or until the end of the
    /// run, s.
    pub writing_s: f64,
    /// The transmitted throughput as the writing application sees it: bytes written per that time, bit/s;
    /// null if the time is zero.
    pub transmitted_bps: Option<f64>,
    /// The bytes that the receiver has in order.
    pub received_bytes: u64,
    /// The time from the first to the last arrival at the receiver, s.
    pub receiving_s: f64,
    /// The received throughput: bytes received per that time, bit/s; null if the time is zero.
    pub received_bps: Option<f64>,
    /// The time at which each burst was written, relative to the start of the first one, s.
    pub ends_s: Vec<f64>,
}

impl BurstResult {
    fn of(tally: &BurstTally) -> BurstResult {
        let (writing_s, receiving_s) = (tally.writing.as_secs_f64(), tally.receiving.as_secs_f64());
        let rate = |bytes: u64, seconds: f64| (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds);
        BurstResult {
            size_bytes: tally.size,
            due: tally.due,
            written: tally.ends.len() as u64,
            failed_cycles: tally.failed_cycles,
            written_bytes: tally.written,
            writing_s,
            transmitted_bps: rate(tally.written, writing_s),
            received_bytes: tally.received,
            receiving_s,
            received_bps: rate(tally.received, receiving_s),
            ends_s: tally.ends.iter().map(|end| end.as_secs_f64()).collect(),
        }
    }
}

impl FlowResult {
    /// Adds names and units to the measurements of the flow `id`, a member of `group`.
    pub(super) fn new(
        id: usize,
        group: &GroupInfo,
        (plan, tally): (&Plan, &FlowTally),
        window_s: f64,
    ) -> FlowResult {
        let (counters, flow) = (&tally.counters, &plan.flows[id]);
        let samples = counters.rtt_samples;
        let delays =
            flow.forward.iter().chain(&flow.reverse).map(|&link| plan.links[link].delay().as_secs_f64());
        let rates = flow.forward.iter().map(|&link| plan.links[link].rate().bps_f64());
        let mut result = FlowResult {
            id,
            label: group.label.clone(),
            control: group.control.to_owned(),
            recovery: group.recovery.to_owned(),
            detection: group.detection.to_owned(),
            slow_start: group.slow_start.to_owned(),
            payload_bytes: group.payload,
            segment_bytes: group.segment,
            goodput_bps: tally.delivered as f64 * f64::from(group.payload) * 8.0 / window_s,
            throughput_bps: tally.arrived as f64 * f64::from(group.segment) * 8.0 / window_s,
            sent: counters.sent,
            delivered: tally.delivered,
            retransmits: counters.retransmits,
            duplicates: tally.duplicates,
            fast_retransmits: counters.fast_retransmits,
            timeouts: counters.timeouts,
            window_cuts: counters.window_cuts,
            rtt_min_s: tally.rtt_min.map(|rtt| rtt.as_secs_f64()),
            rtt_mean_s: (samples > 0).then(|| counters.rtt_sum.as_secs_f64() / samples as f64),
            cwnd_mean: tally.cwnd_mean,
            propagation_rtt_s: delays.sum(),
            narrowest_bps: rates.fold(f64::INFINITY, f64::min),
            jitter_s: plan.jitter(id).map(|jitter| jitter.as_secs_f64()),
            completion_s: None,
            begins_s: Vec::new(),
            sizes_bytes: Vec::new(),
            completions_s: Vec::new(),
            slowdowns: Vec::new(),
            transfers: None,
            bursts: tally.bursts.as_ref().map(BurstResult::of),
            rate: tally.rate.as_ref().map(RateResult::of),
        };
        // The time of an application that writes bursts is its own.
        let paced = flow.writing.is_some_and(|writing| writing.bursts.is_some());
        for transfer in &tally.transfers {
            let Some(took) = transfer.took else { continue };
            result.begins_s.push(transfer.begun.as_nanos() as f64 / 1e9);
            result.sizes_bytes.push(transfer.bytes);
            result.completions_s.push(took.as_secs_f64());
            if !paced {
                result.slowdowns.push(took.as_secs_f64() / result.ideal_s(transfer.bytes));
            }
        }
        let (times, has_sizes) = (&result.completions_s, paced || flow.requests.size != Size::Unlimited);
        result.completion_s = (!times.is_empty()).then(|| Spread::of(times).mean);
        result.transfers = has_sizes.then(|| {
            Transfers::of(std::slice::from_ref(&result), tally.transfers.len() as u64, tally.waited)
        });
        result
    }

    /// Shortest time in which the flow's path can carry a transfer of so many bytes, s: one propagation
    /// round-trip time, and the transmission of all its segments, headers included, on the narrowest link of
    /// the way there. A transfer's slowdown is its completion time over this. Handshakes, slow start,
    /// transmission on other links and of acknowledgements, and everything that other traffic does are in the
    /// slowdown.
    pub fn ideal_s(&self, bytes: u64) -> f64 {
        let segments = bytes.div_ceil(u64::from(self.payload_bytes.max(1)));
        let bits = segments as f64 * f64::from(self.segment_bytes) * 8.0;
        self.propagation_rtt_s + bits / self.narrowest_bps
    }
}
