//! Checking experiments without running them: scenarios are laid out, and claims are evaluated over made-up
//! results that have the right shape, so that a wrong label, axis or function shows at once.

use super::format::{Asserted, Experiment};
use super::library::Library;
use super::verdict::{combinations, language};
use crate::engine::{FlowTally, LinkTally, Measured, Sample, Series, StreamTally};
use crate::expect::View;
use crate::results::PointResult;
use crate::scenario::{Built, Point, ScenarioError};
use ackclock_cc::Controller;
use ackclock_units::{Duration, Time};

/// Checks an experiment.
pub fn check(library: &Library, experiment: &Experiment) -> Result<(), ScenarioError> {
    let mut sets = Vec::new();
    for (name, sweep) in library.sweeps(experiment)? {
        sets.push((name, sweep.points.iter().map(imagined).collect::<Result<_, _>>()?));
    }
    let language = language(experiment, &View::of_several(sets));
    for claim in &experiment.claims {
        let Asserted::That(that) = &claim.asserted else { continue };
        for names in combinations(claim) {
            language.judge(that, &names).map_err(|error| experiment.error(claim, error.reason))?;
        }
    }
    Ok(())
}

/// A result with the shape that this point's will have.
fn imagined(point: &Point) -> Result<PointResult, ScenarioError> {
    let scenario = &point.scenario;
    let built = scenario.build()?;
    let flow = FlowTally {
        delivered: 1000,
        arrived: 1000,
        rtt_min: Some(Duration::from_millis(100)),
        cwnd_mean: 10.0,
        completions: vec![Duration::from_secs(1)],
        ..FlowTally::default()
    };
    let measured = Measured {
        flows: vec![flow; built.plan.flows.len()],
        streams: vec![StreamTally::default(); built.streams.len()],
        links: vec![LinkTally::default(); built.links.len()],
        delivered_segments: 1000,
        series: scenario.probe.map(|interval| looks(&built, scenario.duration, interval)),
    };
    let span = (
        scenario.duration.as_secs_f64(),
        [scenario.measure.0.as_secs_f64(), scenario.measure.1.as_secs_f64()],
    );
    Ok(PointResult::new(&point.parameters, &built, scenario.seed, span, measured, 1.0))
}

/// Looks of the probes; at most a thousand, spread over the run.
fn looks(built: &Built, duration: Duration, interval: Duration) -> Series {
    let interval = interval.max(Duration::from_nanos(duration.as_nanos() / 1000));
    let count = (duration.as_nanos() / interval.as_nanos().max(1)) as usize;
    let sample = Sample { cwnd: 10.0, ssthresh: 10.0, srtt_s: 0.1, in_flight: 10.0, delivered: 10.0 };
    Series {
        at: (0..count as u64).map(|look| Time::ZERO + interval.saturating_mul(look)).collect(),
        flows: vec![vec![sample; count]; built.plan.flows.len()],
        links: vec![vec![(1, 1.0); count]; built.links.len()],
        streams: vec![vec![1.0; count]; built.streams.len()],
        inner: built.plan.flows.iter().map(|flow| variables(flow.control.build().as_ref(), count)).collect(),
    }
}

/// A controller's own variables at each look.
fn variables(control: &dyn Controller, count: usize) -> (Vec<String>, Vec<f32>) {
    let mut names = Vec::new();
    control.inspect(&mut |name, _| names.push(name.to_owned()));
    let values = vec![1.0; names.len() * count];
    (names, values)
}
