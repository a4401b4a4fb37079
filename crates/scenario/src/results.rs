//! Results as they leave the program: the JSON contract. Names contain the units, and all values are in base
//! units.

use crate::course::Course;
use crate::measured::{FlowTally, LinkTally, Measured, StreamTally};
use crate::predictions::Predictions;
use crate::read::{Built, GroupInfo, LinkInfo, Value};
use crate::series::Series;
use crate::writing::BurstTally;
use ackclock_cc::analysis::jain;
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// The results of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointResult {
    /// The axes of the sweep and their values.
    pub parameters: Map<String, serde_json::Value>,
    /// The seed of the random streams.
    pub seed: u64,
    /// The simulated time, s.
    pub duration_s: f64,
    /// The start and end of the measuring window, s.
    pub measure_s: [f64; 2],
    /// One entry per flow.
    pub flows: Vec<FlowResult>,
    /// One entry per `[[flows]]`.
    pub groups: Vec<GroupResult>,
    /// One entry per link of the topology.
    pub links: Vec<LinkResult>,
    /// One entry per `[[traffic]]`.
    pub traffic: Vec<TrafficResult>,
    /// Jain's index of all flows' goodput; null without any goodput.
    pub jain: Option<f64>,
    /// The expectations, and whether they hold.
    pub expectations: Vec<Expectation>,
    /// The wall time of the run, s.
    pub wall_s: f64,
    /// Segments delivered in order over the whole run.
    pub delivered_segments: u64,
    /// Delivered segments per second of wall time.
    pub segments_per_wall_s: f64,
    /// How well predictors predicted losses, if the scenario asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Predictions>,
    /// The samples of the probes.
    #[serde(skip)]
    pub series: Option<Series>,
    /// The traces of the flows that were traced segment by segment.
    #[serde(skip)]
    pub courses: Vec<Course>,
}

/// The results of a flow in the measuring window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowResult {
    /// The number of the flow, from 0.
    pub id: usize,
    /// The label of its group.
    pub label: String,
    /// The name of its controller.
    pub control: String,
    /// The name of its recovery.
    pub recovery: String,
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
    /// Reductions of the window.
    pub window_cuts: u64,
    /// The smallest round-trip time of the whole run, s.
    pub rtt_min_s: Option<f64>,
    /// The mean of all round-trip time samples, s.
    pub rtt_mean_s: Option<f64>,
    /// The time average of the congestion window, segments.
    pub cwnd_mean: f64,
    /// The mean completion time of finished transfers, s; null if none finished.
    pub completion_s: Option<f64>,
    /// The completion time of each finished transfer, s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions_s: Vec<f64>,
    /// The finished transfers; absent if none finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// The flow's bursts over the whole run; absent if it writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstResult>,
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

/// Completion times of finished transfers: from the sending of the first segment to the acknowledgement of
/// the last one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfers {
    /// The number of transfers.
    pub count: usize,
    /// The mean, s.
    pub mean_s: f64,
    /// The median, s.
    pub p50_s: f64,
    /// The 90th percentile, s.
    pub p90_s: f64,
    /// The 95th percentile, s.
    pub p95_s: f64,
    /// The 99th percentile, s.
    pub p99_s: f64,
    /// The maximum, s.
    pub max_s: f64,
}

/// The results of a group of flows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupResult {
    /// The label.
    pub label: String,
    /// The number of flows.
    pub count: usize,
    /// The goodput of its flows, bit/s.
    pub goodput_bps: Spread,
    /// Jain's index within the group; null without any goodput.
    pub jain: Option<f64>,
    /// The finished transfers of all its flows; absent if none finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
}

/// A statistic over several flows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// The sum.
    pub total: f64,
    /// The mean.
    pub mean: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The sample standard deviation (n - 1); 0 for one flow.
    pub std: f64,
}

/// The results of a link in the measuring window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkResult {
    /// The name.
    pub name: String,
    /// The rate, bit/s.
    pub rate_bps: f64,
    /// The share of the time that the transmitter was busy.
    pub utilisation: f64,
    /// Packets offered.
    pub arrivals: u64,
    /// All packets dropped, for any reason.
    pub drops: u64,
    /// Packets lost at random; included in `drops`.
    pub random_losses: u64,
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

/// An expectation and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expectation {
    /// The expression.
    pub that: String,
    /// True if it holds.
    pub holds: bool,
    /// The numbers that it used, if it does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    /// The reason why it has no value, if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A number that an expression used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The call, as it could be written: `goodput('reno', loss=1e-5)`.
    pub call: String,
    /// Its value. Null if there is none, "infinite" for an event that never happened.
    pub value: serde_json::Value,
    /// The standard deviation over seeds, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// The depth of the call within definitions. 0: in the text of the claim itself.
    pub depth: usize,
    /// True for a published number, false for a measured or computed one.
    pub published: bool,
}

impl Seen {
    /// True if there was nothing to compute a value from, as for the mean of no samples.
    pub fn has_no_value(&self) -> bool {
        match &self.value {
            serde_json::Value::Null => true,
            serde_json::Value::Array(items) => items.iter().any(serde_json::Value::is_null),
            _ => false,
        }
    }
}

impl Spread {
    /// The statistics of these values.
    pub fn of(values: &[f64]) -> Spread {
        let n = values.len() as f64;
        if values.is_empty() {
            return Spread::default();
        }
        let total: f64 = values.iter().sum();
        let mean = total / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Spread {
            total,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            std: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
        }
    }
}

/// The percentile `percent` of sorted values: the nearest value. NaN if there are none.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0).clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    sorted.get(rank.round() as usize).copied().unwrap_or(f64::NAN)
}

impl Transfers {
    /// The statistics of transfers with these completion times, s. `None` if there are none.
    pub fn of(times_s: impl Iterator<Item = f64>) -> Option<Transfers> {
        let mut times: Vec<f64> = times_s.collect();
        times.sort_by(f64::total_cmp);
        let [p50_s, p90_s, p95_s, p99_s] =
            [50.0, 90.0, 95.0, 99.0].map(|percent| percentile(&times, percent));
        let (count, mean_s) = (times.len(), Spread::of(&times).mean);
        times.last().map(|&max_s| Transfers { count, mean_s, p50_s, p90_s, p95_s, p99_s, max_s })
    }
}

impl LinkResult {
    /// True if the link is worth a line in a table: packets waited or were lost here, or it is the
    /// bottleneck.
    pub fn is_telling(&self) -> bool {
        self.drops > 0 || self.queue_max > 0 || self.name == "bottleneck"
    }
}

impl PointResult {
    /// Adds names and units to the measurements of a run. Expectations are added later.
    pub fn new(
        parameters: &[(String, Value)],
        built: &Built,
        seed: u64,
        span: (f64, [f64; 2]),
        measured: Measured,
        wall_s: f64,
    ) -> PointResult {
        let (duration_s, measure_s) = span;
        let window_s = measure_s[1] - measure_s[0];
        let members = built.groups.iter().flat_map(|group| std::iter::repeat_n(group, group.count));
        let flows: Vec<FlowResult> = measured
            .flows
            .iter()
            .zip(members)
            .enumerate()
            .map(|(id, (tally, group))| flow_result(id, group, tally, window_s))
            .collect();
        let mut rest = &flows[..];
        let groups = built.groups.iter().map(|group| {
            let (own, others) = rest.split_at(group.count);
            rest = others;
            let goodputs: Vec<f64> = own.iter().map(|flow| flow.goodput_bps).collect();
            GroupResult {
                label: group.label.clone(),
                count: group.count,
                goodput_bps: Spread::of(&goodputs),
                jain: jain(&goodputs),
                transfers: Transfers::of(own.iter().flat_map(|flow| flow.completions_s.iter().copied())),
            }
        });
        let groups = groups.collect();
        let all: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
        PointResult {
            parameters: parameters.iter().map(|(axis, value)| (axis.clone(), value.to_json())).collect(),
            seed,
            duration_s,
            measure_s,
            groups,
            links: built
                .links
                .iter()
                .zip(&measured.links)
                .map(|(info, tally)| link_result(info, tally, window_s))
                .collect(),
            traffic: built
                .streams
                .iter()
                .zip(&measured.streams)
                .map(|(label, tally)| traffic_result(label, tally, window_s))
                .collect(),
            jain: jain(&all),
            flows,
            expectations: Vec::new(),
            wall_s,
            delivered_segments: measured.delivered_segments,
            segments_per_wall_s: measured.delivered_segments as f64 / wall_s.max(1e-9),
            series: measured.series,
            courses: Vec::new(),
            predictions: None,
        }
    }
}

fn flow_result(id: usize, group: &GroupInfo, tally: &FlowTally, window_s: f64) -> FlowResult {
    let counters = &tally.counters;
    let completions_s: Vec<f64> = tally.completions.iter().map(|took| took.as_secs_f64()).collect();
    let samples = counters.rtt_samples;
    FlowResult {
        id,
        label: group.label.clone(),
        control: group.control.to_owned(),
        recovery: group.recovery.to_owned(),
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
        completion_s: (!completions_s.is_empty()).then(|| Spread::of(&completions_s).mean),
        transfers: Transfers::of(completions_s.iter().copied()),
        completions_s,
        bursts: tally.bursts.as_ref().map(BurstResult::of),
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn link_result(info: &LinkInfo, tally: &LinkTally, window_s: f64) -> LinkResult {
    let counters = &tally.counters;
    LinkResult {
        name: info.name.clone(),
        rate_bps: info.rate.bps_f64(),
        utilisation: tally.busy.as_secs_f64() / window_s,
        arrivals: counters.arrivals,
        drops: counters.drops(),
        random_losses: counters.errors,
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

fn traffic_result(label: &str, tally: &StreamTally, window_s: f64) -> TrafficResult {
    TrafficResult {
        label: label.to_owned(),
        sent: tally.sent,
        delivered: tally.delivered,
        throughput_bps: tally.delivered_bytes as f64 * 8.0 / window_s,
    }
}
