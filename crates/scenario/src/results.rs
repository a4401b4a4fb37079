//! Results as they leave the program: the JSON contract, with units in the names and base units everywhere.

use crate::course::Course;
use crate::measured::{FlowTally, LinkTally, Measured, StreamTally};
use crate::predictions::Predictions;
use crate::read::{Built, GroupInfo, LinkInfo, Value};
use crate::series::Series;
use crate::writing::BurstTally;
use ackclock_cc::analysis::jain;
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// One run's results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointResult {
    /// Axis and value of the sweep.
    pub parameters: Map<String, serde_json::Value>,
    /// Seed of the random streams.
    pub seed: u64,
    /// Simulated time, s.
    pub duration_s: f64,
    /// Beginning and end of the measuring window, s.
    pub measure_s: [f64; 2],
    /// One entry per flow.
    pub flows: Vec<FlowResult>,
    /// One entry per `[[flows]]`.
    pub groups: Vec<GroupResult>,
    /// One entry per link of the topology.
    pub links: Vec<LinkResult>,
    /// One entry per `[[traffic]]`.
    pub traffic: Vec<TrafficResult>,
    /// Jain's index of all flows' goodput; null without goodput.
    pub jain: Option<f64>,
    /// What was expected, and whether it holds.
    pub expectations: Vec<Expectation>,
    /// Time that the run took, s.
    pub wall_s: f64,
    /// Segments delivered in order over the whole run.
    pub delivered_segments: u64,
    /// Delivered segments per second of wall time.
    pub segments_per_wall_s: f64,
    /// How well predictors foresaw losses, if the scenario asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Predictions>,
    /// What the probes saw.
    #[serde(skip)]
    pub series: Option<Series>,
    /// What happened to the flows that were followed.
    #[serde(skip)]
    pub courses: Vec<Course>,
}

/// A flow's results within the measuring window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowResult {
    /// Number of the flow, from 0.
    pub id: usize,
    /// Its group's label.
    pub label: String,
    /// Its controller's word.
    pub control: String,
    /// Its recovery's word.
    pub recovery: String,
    /// Payload of a full segment, bytes; in an emulation that of the kernel's segments.
    pub payload_bytes: u32,
    /// A full segment on the wire, bytes.
    pub segment_bytes: u32,
    /// Payload delivered in order, bit/s.
    pub goodput_bps: f64,
    /// Bytes on the wire that reached the receiver, bit/s.
    pub throughput_bps: f64,
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments delivered in order.
    pub delivered: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments that reached the receiver although it had them: sent again for nothing, unless the path duplicates.
    #[serde(default)]
    pub duplicates: u64,
    /// Loss episodes that acknowledgements told of.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions of the window.
    pub window_cuts: u64,
    /// Smallest round-trip time of the whole run, s.
    pub rtt_min_s: Option<f64>,
    /// Mean of all round-trip time samples, s.
    pub rtt_mean_s: Option<f64>,
    /// Time average of the congestion window, segments.
    pub cwnd_mean: f64,
    /// Mean time of a finished transfer, s; null if none finished.
    pub completion_s: Option<f64>,
    /// Time of each finished transfer, s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions_s: Vec<f64>,
    /// Finished transfers; absent if none finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// What became of its bursts over the whole run; absent if it writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstResult>,
}

/// What became of a flow's bursts, over the whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BurstResult {
    /// Bytes of each.
    pub size_bytes: u64,
    /// Bursts that there are to write.
    pub due: u64,
    /// Bursts that were written.
    pub written: u64,
    /// Periods that began while a burst was still being written.
    pub failed_cycles: u64,
    /// Bytes that the socket took.
    pub written_bytes: u64,
    /// From the first burst's beginning until the last was written, or until the end of the run, s.
    pub writing_s: f64,
    /// Transmitted throughput as the writing application sees it: bytes written over that time, bit/s; null if it took none.
    pub transmitted_bps: Option<f64>,
    /// Bytes that the receiver has in order.
    pub received_bytes: u64,
    /// From the first arrival at the receiver to the last, s.
    pub receiving_s: f64,
    /// Received throughput: bytes received over that time, bit/s; null if it took none.
    pub received_bps: Option<f64>,
    /// When each burst was written, after the first one's beginning, s.
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

/// How long finished transfers took, from the first segment's sending to the last one's acknowledgement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfers {
    /// Their number.
    pub count: usize,
    /// Mean, s.
    pub mean_s: f64,
    /// Median, s.
    pub p50_s: f64,
    /// Nine tenths took no longer, s.
    pub p90_s: f64,
    /// 95 % took no longer, s.
    pub p95_s: f64,
    /// 99 % took no longer, s.
    pub p99_s: f64,
    /// The longest, s.
    pub max_s: f64,
}

/// A group's results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupResult {
    /// Its label.
    pub label: String,
    /// Number of flows.
    pub count: usize,
    /// Goodput of its flows, bit/s.
    pub goodput_bps: Spread,
    /// Jain's index within the group; null without goodput.
    pub jain: Option<f64>,
    /// Finished transfers of all its flows; absent if none finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
}

/// A quantity over several flows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Sum.
    pub total: f64,
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
    /// Sample standard deviation (n - 1); 0 for one flow.
    pub std: f64,
}

/// A link's results within the measuring window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkResult {
    /// Its name.
    pub name: String,
    /// Its rate, bit/s.
    pub rate_bps: f64,
    /// Share of the time that the transmitter worked.
    pub utilisation: f64,
    /// Packets offered.
    pub arrivals: u64,
    /// Packets dropped, for whatever reason.
    pub drops: u64,
    /// Of these, packets lost at random.
    pub random_losses: u64,
    /// Packets that were late, so that others may have overtaken them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Packets that arrived twice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copies: u64,
    /// Corrupted packets that were corrected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrected: u64,
    /// Transmissions of packets that the link had corrupted before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Drops per packet offered.
    pub drop_rate: f64,
    /// Packets marked.
    pub marks: u64,
    /// Time average of the packets waiting.
    pub queue_mean: f64,
    /// Most packets waiting at once.
    pub queue_max: u32,
}

/// An unresponsive stream's results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrafficResult {
    /// Its label.
    pub label: String,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub delivered: u64,
    /// Bytes on the wire that arrived, bit/s.
    pub throughput_bps: f64,
}

/// An expectation and its verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expectation {
    /// The expression.
    pub that: String,
    /// Does it hold?
    pub holds: bool,
    /// The numbers that it looked at, if it does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    /// Why it has no value, if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A number that an expression saw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The call, as it could be written: `goodput('reno', loss=1e-5)`.
    pub call: String,
    /// What it gave; null where there is no value, "infinite" for what never happened.
    pub value: serde_json::Value,
    /// Standard deviation over seeds, where there is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// How many calls deep within definitions; 0 is the claim's own text.
    pub depth: usize,
    /// Is it a published number rather than a measured or computed one?
    pub published: bool,
}

impl Seen {
    /// Was there nothing to take a value of, as for the mean of no samples?
    pub fn has_no_value(&self) -> bool {
        match &self.value {
            serde_json::Value::Null => true,
            serde_json::Value::Array(items) => items.iter().any(serde_json::Value::is_null),
            _ => false,
        }
    }
}

impl Spread {
    /// Of these values.
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

/// The value that `percent` of all, in rising order, do not exceed: the nearest one; not a number if there is none.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0).clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    sorted.get(rank.round() as usize).copied().unwrap_or(f64::NAN)
}

impl Transfers {
    /// Of transfers that took so many seconds each; `None` if there are none.
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
    /// Is it worth a line in a table: did anything wait here or get lost, or is this the bottleneck?
    pub fn is_telling(&self) -> bool {
        self.drops > 0 || self.queue_max > 0 || self.name == "bottleneck"
    }
}

impl PointResult {
    /// Puts names and units to what the engine measured. Expectations are added by who evaluates them.
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
