//! Results as they leave the program: the JSON contract. Names contain the units, and all values are in base
//! units.

use crate::flow_trace::FlowTrace;
use crate::measured::{CbrTally, FlowTally, Measured};
use crate::plan::Plan;
use crate::predictions::Predictions;
use crate::read::{Built, GroupInfo, LinkInfo, Value};
use crate::requests::{Gap, Size};
use crate::series::Series;
use crate::writing::BurstTally;
use ackclock_cc::analysis::jain;
use ackclock_net::LinkTally;
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
    /// What makes these results different from what the scenario seems to ask for; absent if there is
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The wall time of the run, s.
    #[serde(default)]
    pub wall_s: f64,
    /// Segments delivered in order over the whole run.
    pub delivered_segments: u64,
    /// Delivered segments per second of wall time.
    #[serde(default)]
    pub segments_per_wall_s: f64,
    /// How well predictors predicted losses, if the scenario asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Predictions>,
    /// The samples of the probes.
    #[serde(skip)]
    pub series: Option<Series>,
    /// The traces of the flows that were traced segment by segment.
    #[serde(skip)]
    pub courses: Vec<FlowTrace>,
}

/// How long a run took: what two runs of the same point do not have in common.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Time that the run took, s.
    pub wall_s: f64,
    /// Delivered segments per second of wall time.
    pub segments_per_wall_s: f64,
}

impl Timing {
    /// Removes the fields that tell it from a point's document.
    pub fn remove_from(point: &mut serde_json::Value) {
        if let Some(fields) = point.as_object_mut() {
            for field in ["wall_s", "segments_per_wall_s"] {
                fields.shift_remove(field);
            }
        }
    }
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
    /// The name of its detection.
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
    /// Reductions of the window.
    pub window_cuts: u64,
    /// The smallest round-trip time of the whole run, s.
    pub rtt_min_s: Option<f64>,
    /// The mean of all round-trip time samples, s.
    pub rtt_mean_s: Option<f64>,
    /// The time average of the congestion window, segments.
    pub cwnd_mean: f64,
    /// Round-trip time of an empty packet on an empty path, s: the delays of all links there and back.
    pub propagation_rtt_s: f64,
    /// Rate of the narrowest link on the way there, bit/s.
    pub narrowest_bps: f64,
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

/// Transfers of a size, over the whole run. Times are from the first segment's sending to the last one's
/// acknowledgement, and only those of finished transfers are known: where many are unfinished, the longest
/// are missing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfers {
    /// Transfers that began.
    pub started: u64,
    /// Transfers that were complete before the run, or the application, ended.
    pub finished: u64,
    /// Transfers that were not.
    pub unfinished: u64,
    /// The same as `finished`.
    pub count: usize,
    /// With a load: transfers that came while the one before on the same flow was under way, and began when
    /// it was over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited: u64,
    /// Mean payload of the finished ones, bytes; this and everything below is null if none finished.
    pub mean_bytes: Option<f64>,
    /// Mean, s.
    pub mean_s: Option<f64>,
    /// Median, s.
    pub p50_s: Option<f64>,
    /// Nine tenths took no longer, s.
    pub p90_s: Option<f64>,
    /// 95 % took no longer, s.
    pub p95_s: Option<f64>,
    /// 99 % took no longer, s.
    pub p99_s: Option<f64>,
    /// The longest, s.
    pub max_s: Option<f64>,
    /// How many times the [ideal time](FlowResult::ideal_s) they took; null, too, if the application writes
    /// bursts.
    pub slowdown: Option<Percentiles>,
}

/// How something is distributed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Percentiles {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// Nine tenths are no larger.
    pub p90: f64,
    /// 95 % are no larger.
    pub p95: f64,
    /// 99 % are no larger.
    pub p99: f64,
    /// The largest.
    pub max: f64,
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
    /// Transfers of all its flows; absent if their data has no end.
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
    pub seen: Vec<Evidence>,
    /// The reason why it has no value, if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A number that an expression used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
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

impl Evidence {
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

impl Percentiles {
    /// Of these values; `None` if there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Percentiles> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let [p50, p90, p95, p99] = [50.0, 90.0, 95.0, 99.0].map(|percent| percentile(&values, percent));
        let mean = Spread::of(&values).mean;
        values.last().map(|&max| Percentiles { mean, p50, p90, p95, p99, max })
    }
}

impl Transfers {
    /// Of all transfers of these flows, `started` of them, of which `waited` waited.
    fn of(flows: &[FlowResult], started: u64, waited: u64) -> Transfers {
        let times = Percentiles::of(flows.iter().flat_map(|flow| flow.completions_s.iter().copied()));
        let sizes = flows.iter().flat_map(|flow| &flow.sizes_bytes);
        let count = sizes.clone().count();
        let bytes: f64 = sizes.map(|&bytes| bytes as f64).sum();
        Transfers {
            started,
            finished: count as u64,
            unfinished: started.saturating_sub(count as u64),
            count,
            waited,
            mean_bytes: (count > 0).then(|| bytes / count as f64),
            mean_s: times.map(|it| it.mean),
            p50_s: times.map(|it| it.p50),
            p90_s: times.map(|it| it.p90),
            p95_s: times.map(|it| it.p95),
            p99_s: times.map(|it| it.p99),
            max_s: times.map(|it| it.max),
            slowdown: Percentiles::of(flows.iter().flat_map(|flow| flow.slowdowns.iter().copied())),
        }
    }

    /// Of a group's flows; `None` if their data has no end.
    fn of_group(flows: &[FlowResult]) -> Option<Transfers> {
        let own = flows.iter().filter_map(|flow| flow.transfers.as_ref()).map(|it| (it.started, it.waited));
        let total = own.reduce(|sum, more| (sum.0 + more.0, sum.1 + more.1));
        total.map(|(started, waited)| Transfers::of(flows, started, waited))
    }
}

impl FlowResult {
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

impl LinkResult {
    /// True if the link is worth a line in a table: packets waited or were lost here, or it is the
    /// bottleneck.
    pub fn is_telling(&self) -> bool {
        self.drops > 0 || self.queue_max > 0 || self.name == "bottleneck"
    }
}

impl PointResult {
    /// How long the run took.
    pub fn timing(&self) -> Timing {
        Timing { wall_s: self.wall_s, segments_per_wall_s: self.segments_per_wall_s }
    }

    /// Says how long the run took.
    pub fn set_timing(&mut self, timing: Timing) {
        Timing { wall_s: self.wall_s, segments_per_wall_s: self.segments_per_wall_s } = timing;
    }

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
            .map(|(id, (tally, group))| flow_result(id, group, (&built.plan, tally), window_s))
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
                // Flows that share a load are busy by chance.
                jain: jain(&goodputs).filter(|_| !own.iter().any(|flow| shares_a_load(built, flow.id))),
                transfers: Transfers::of_group(own),
            }
        });
        let groups = groups.collect();
        let steady = flows.iter().filter(|flow| !shares_a_load(built, flow.id));
        let all: Vec<f64> = steady.map(|flow| flow.goodput_bps).collect();
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
            warnings: crate::warnings::warnings(built, &flows, &measured),
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

fn flow_result(
    id: usize,
    group: &GroupInfo,
    (plan, tally): (&Plan, &FlowTally),
    window_s: f64,
) -> FlowResult {
    let (counters, flow) = (&tally.counters, &plan.flows[id]);
    let samples = counters.rtt_samples;
    let delays = flow.forward.iter().chain(&flow.reverse).map(|&link| plan.links[link].delay().as_secs_f64());
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
        completion_s: None,
        begins_s: Vec::new(),
        sizes_bytes: Vec::new(),
        completions_s: Vec::new(),
        slowdowns: Vec::new(),
        transfers: None,
        bursts: tally.bursts.as_ref().map(BurstResult::of),
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
    result.transfers = has_sizes
        .then(|| Transfers::of(std::slice::from_ref(&result), tally.transfers.len() as u64, tally.waited));
    result
}

fn shares_a_load(built: &Built, flow: usize) -> bool {
    matches!(built.plan.flows[flow].requests.gap, Gap::Arrivals(_))
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn link_result(info: &LinkInfo, tally: &LinkTally, window_s: f64) -> LinkResult {
    let counters = &tally.counters;
    LinkResult {
        name: info.name.clone(),
        rate_bps: info.rate.bps_f64(),
        // The window's length is a difference of two roundings: without a bound it may give
        // 1.0000000000000002.
        utilisation: (tally.busy.as_secs_f64() / window_s).min(1.0),
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

fn traffic_result(label: &str, tally: &CbrTally, window_s: f64) -> TrafficResult {
    TrafficResult {
        label: label.to_owned(),
        sent: tally.sent,
        delivered: tally.delivered,
        throughput_bps: tally.delivered_bytes as f64 * 8.0 / window_s,
    }
}
