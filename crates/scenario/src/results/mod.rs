//! Results as they leave the program: the JSON contract. Names contain the units, and all values are in base
//! units.

mod expectation;
mod flow;
mod link;
mod statistics;
mod transfers;

pub use expectation::{Evidence, Expectation};
pub use flow::{BurstResult, FlowResult, LabelCount, RateResult};
pub use link::{CAUSES, LinkResult, TrafficResult};
pub use statistics::{Percentiles, Spread, mean, percentile};
pub use transfers::{SizeClass, Transfers};

use crate::flow_trace::FlowTrace;
use crate::measured::Measured;
use crate::plan::EngineKind;
use crate::predictions::Predictions;
use crate::read::{Built, Value};
use crate::requests::Gap;
use crate::series::Series;
use crate::traced::TracedFlow;
use ackclock_cc::analysis::jain;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use std::collections::BTreeSet;

/// The results of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointResult {
    /// The axes of the sweep and their values.
    pub parameters: Map<String, serde_json::Value>,
    /// The seed of the random streams.
    pub seed: u64,
    /// True if anything was drawn at random. Without, every seed gives the same results.
    #[serde(default)]
    pub drawn: bool,
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
    /// The engine that simulated it; absent in an emulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    /// How well predictors predicted losses, if the scenario asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Predictions>,
    /// What the capture of a link tells, if the scenario asks for it with `trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<TracedFlow>,
    /// The samples of the probes.
    #[serde(skip)]
    pub series: Option<Series>,
    /// The traces of the flows that were traced segment by segment.
    #[serde(skip)]
    pub courses: Vec<FlowTrace>,
}

/// How a run was made and how long it took: what two runs of the same point do not have in common.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Time that the run took, s.
    pub wall_s: f64,
    /// Delivered segments per second of wall time.
    pub segments_per_wall_s: f64,
    /// The engine that simulated it; absent in an emulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
}

impl Timing {
    /// Removes the fields that tell it from a point's document.
    pub fn remove_from(point: &mut serde_json::Value) {
        if let Some(fields) = point.as_object_mut() {
            for field in ["wall_s", "segments_per_wall_s", "engine"] {
                fields.shift_remove(field);
            }
        }
    }
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
    /// Its finished transfers by their sizes; absent if these are all of one class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers_by_size: Vec<SizeClass>,
}

impl PointResult {
    /// The number of flows whose packets have jitter, and the longest delay by it, s.
    pub fn jitter(&self) -> Option<(usize, f64)> {
        let late: Vec<f64> = self.flows.iter().filter_map(|flow| flow.jitter_s).collect();
        (!late.is_empty()).then(|| (late.len(), late.iter().copied().fold(0.0, f64::max)))
    }

    /// How the run was made, and how long it took.
    pub fn timing(&self) -> Timing {
        Timing { wall_s: self.wall_s, segments_per_wall_s: self.segments_per_wall_s, engine: self.engine }
    }

    /// Says how the run was made, and how long it took.
    pub fn set_timing(&mut self, timing: Timing) {
        Timing { wall_s: self.wall_s, segments_per_wall_s: self.segments_per_wall_s, engine: self.engine } =
            timing;
    }

    /// Adds names and units to the measurements of a run, of which no flow may have been a part. Expectations
    /// are added later.
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
            .map(|(id, (tally, group))| FlowResult::new(id, group, (&built.plan, tally), window_s))
            .collect();
        let mut rest = &flows[..];
        let groups = built.groups.iter().filter(|_| !flows.is_empty()).map(|group| {
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
                transfers_by_size: SizeClass::all(own),
            }
        });
        let groups = groups.collect();
        let narrowest = narrowest(built);
        let steady = flows.iter().filter(|flow| !shares_a_load(built, flow.id));
        let all: Vec<f64> = steady.map(|flow| flow.goodput_bps).collect();
        PointResult {
            parameters: parameters.iter().map(|(axis, value)| (axis.clone(), value.to_json())).collect(),
            seed,
            drawn: true,
            duration_s,
            measure_s,
            groups,
            links: built
                .links
                .iter()
                .zip(&measured.links)
                .enumerate()
                .map(|(id, (info, tally))| LinkResult::new(info, narrowest.contains(&id), tally, window_s))
                .collect(),
            traffic: built
                .streams
                .iter()
                .zip(&measured.streams)
                .map(|(label, tally)| TrafficResult::new(label, tally, window_s))
                .collect(),
            jain: jain(&all),
            warnings: crate::warnings::warnings(built, &flows, &measured),
            flows,
            expectations: Vec::new(),
            wall_s,
            delivered_segments: measured.delivered_segments,
            segments_per_wall_s: measured.delivered_segments as f64 / wall_s.max(1e-9),
            engine: None,
            series: measured.series,
            courses: Vec::new(),
            predictions: None,
            traced: Vec::new(),
        }
    }
}

fn shares_a_load(built: &Built, flow: usize) -> bool {
    matches!(built.plan.flows[flow].requests.gap, Gap::Arrivals(_))
}

/// The narrowest of the topology's links on the way of each flow.
fn narrowest(built: &Built) -> BTreeSet<usize> {
    let links = &built.plan.links;
    let of_flow = |route: &[usize]| {
        let own = route.iter().copied().filter(|&link| link < built.links.len());
        own.min_by_key(|&link| links[link].rate())
    };
    built.plan.flows.iter().filter_map(|flow| of_flow(&flow.forward)).collect()
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
