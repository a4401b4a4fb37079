//! Results that were made up: they have the shape that a run's will have, so that expressions over them show
//! before the run whether every label, axis and function in them exists.

use crate::engine::{FlowTally, LinkTally, Measured, Sample, Series, StreamTally};
use crate::results::PointResult;
use crate::scenario::{Built, Point};
use ackclock_cc::Settings;
use ackclock_net::Stream;
use ackclock_units::{Duration, Time};

/// Looks times flows beyond which the probes are imagined to look less often.
const MOST_SAMPLES: usize = 1_000_000;

/// A result of the shape that this point's will have. The numbers are arbitrary, positive and different for
/// each `variant`, so that both sides of an `and` or `or` are reached by one variant or another.
pub(crate) fn imagined(point: &Point, built: &Built, variant: u64) -> PointResult {
    let scenario = &point.scenario;
    let mut draws = Stream::new(variant, "imagined");
    let mut number = |most: u64| 1 + (draws.between(0.0, 1.0) * most as f64) as u64;
    let flows = built.plan.flows.iter().map(|_| FlowTally {
        delivered: number(1_000_000),
        arrived: number(1_000_000),
        rtt_min: Some(Duration::from_micros(number(1_000_000))),
        cwnd_mean: number(10_000) as f64,
        completions: vec![Duration::from_micros(number(100_000_000))],
        ..FlowTally::default()
    });
    let flows = flows.collect();
    let streams = built.streams.iter().map(|_| StreamTally {
        sent: number(1_000_000),
        delivered: number(1_000_000),
        delivered_bytes: number(1_000_000_000),
    });
    let streams = streams.collect();
    let window = scenario.measure.1 - scenario.measure.0;
    let links = built.links.iter().map(|_| {
        let mut tally =
            LinkTally { busy: window.mul_f64(number(1000) as f64 / 1001.0), ..LinkTally::default() };
        tally.counters.arrivals = number(1_000_000);
        tally.counters.overflows = number(1000);
        tally.counters.marks = number(1000);
        tally.counters.longest = number(1000) as u32;
        tally
    });
    let links = links.collect();
    let series =
        scenario.probe.map(|interval| looks(built, scenario.duration, interval, number(1000) as f32));
    let measured = Measured { flows, streams, links, delivered_segments: number(1_000_000), series };
    let span = (
        scenario.duration.as_secs_f64(),
        [scenario.measure.0.as_secs_f64(), scenario.measure.1.as_secs_f64()],
    );
    PointResult::new(&point.parameters, built, scenario.seed, span, measured, 1.0)
}

/// What the probes see: always the same.
fn looks(built: &Built, duration: Duration, interval: Duration, value: f32) -> Series {
    let most = (MOST_SAMPLES / built.plan.flows.len().max(1)).max(1) as u64;
    let interval = interval.max(Duration::from_nanos(duration.as_nanos() / most)).as_nanos().max(1);
    let count = 1 + (duration.as_nanos() / interval) as usize;
    let sample = Sample {
        cwnd: value,
        ssthresh: value,
        srtt_s: value,
        in_flight: value,
        delivered: value,
        arrived: value,
    };
    Series {
        at: (0..count as u64).map(|look| Time::from_nanos(interval * look)).collect(),
        flows: vec![vec![sample; count]; built.plan.flows.len()],
        links: vec![vec![(1, value); count]; built.links.len()],
        streams: vec![vec![value; count]; built.streams.len()],
        inner: built.plan.flows.iter().map(|flow| variables(&flow.control, count, value)).collect(),
    }
}

/// Names of a controller's own variables, and values for them.
fn variables(control: &Settings, looks: usize, value: f32) -> (Vec<String>, Vec<f32>) {
    let mut names = Vec::new();
    control.build().inspect(&mut |name, _| names.push(name.to_owned()));
    let values = vec![value; names.len() * looks];
    (names, values)
}
