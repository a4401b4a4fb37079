//! Runs the points of a sweep.

use crate::dry_run::{MAX_SAMPLES, dry_run};
use crate::expect::{Language, Names, View};
use crate::predict::predictions;
use crate::traced::Tracer;
use ackclock_cc::predictor::Reading;
use ackclock_net::{LinkTally, Rng};
use ackclock_scenario::flow_trace::{Estimate, Event, SegmentTrace};
use ackclock_scenario::measured::{CbrTally, FlowTally, Measured};
use ackclock_scenario::plan::EngineKind;
use ackclock_scenario::results::{Expectation, FlowResult, LinkResult, PointResult};
use ackclock_scenario::series::{Sample, Series};
use ackclock_scenario::{Built, Expect, Over, Point, Scenario, ScenarioError};
use ackclock_sim::engine::{Observer, Simulation, Unfit};
use ackclock_sim::observers::{Follower, Recorder};
use ackclock_units::Duration;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The number of events between two looks at whether a run is to go on: about a millisecond.
const EVENTS: u32 = 1 << 12;

/// The approximate memory of a flow's own variables per sample, bytes.
const PER_VARIABLES: usize = 16;

/// The default interval of the probes. It is longer with very many flows.
fn default_interval(point: &Point, built: &Built) -> Duration {
    let looks = (500_000 / built.plan.flows.len().max(1) as u64).clamp(20, 500);
    Duration::from_nanos((point.scenario.duration.as_nanos() / looks).max(1))
}

/// Why a point has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The capture that is traced cannot be made.
    #[error("the capture for trace = \"...\" cannot be made: {0}")]
    Capture(#[from] std::io::Error),
    /// The engine that is asked for cannot compute the run.
    #[error("the engine in phases cannot compute this run exactly: {0}")]
    Unfit(Unfit),
}

/// Runs one point. Probes run at the scenario's interval. Without one, they run at a default interval if
/// `probes` is true.
///
/// # Errors
///
/// [`RunError`] if the scenario is not valid, or `stop` became true.
pub fn run_point(point: &Point, probes: bool, stop: &AtomicBool) -> Result<PointResult, RunError> {
    run_observed(point, probes, None, stop)
}

/// Runs one point with an observer, if there is one.
///
/// # Errors
///
/// As [`run_point`].
pub fn run_observed(
    point: &Point,
    probes: bool,
    observer: Option<&mut dyn Observer>,
    stop: &AtomicBool,
) -> Result<PointResult, RunError> {
    run_followed(point, probes, observer, &|_| !stop.load(Ordering::Relaxed))
}

/// Runs one point with an observer, if there is one. Calls `go_on` from time to time with the share of the
/// simulated time that has passed. Stops if it returns false.
///
/// # Errors
///
/// [`RunError`] if the scenario is not valid, or `go_on` returned false.
pub fn run_followed(
    point: &Point,
    probes: bool,
    observer: Option<&mut dyn Observer>,
    go_on: &dyn Fn(f64) -> bool,
) -> Result<PointResult, RunError> {
    run_shown(point, probes, observer, &|so_far| go_on(so_far.share))
}

/// A run that is under way.
pub struct SoFar<'a> {
    /// The share of the simulated time that has passed.
    pub share: f64,
    point: &'a Point,
    built: &'a Built,
    series: &'a dyn Fn() -> Option<Series>,
}

impl SoFar<'_> {
    /// What the probes have seen so far, as a result without averages, counts and verdicts. `None` without
    /// probes. It copies all samples.
    pub fn result(&self) -> Option<PointResult> {
        let series = (self.series)()?;
        let (plan, scenario) = (&self.built.plan, &self.point.scenario);
        let longest: Vec<u32> = series
            .links
            .iter()
            .map(|looks| looks.iter().map(|&(waiting, _)| waiting).max().unwrap_or(0))
            .collect();
        let nothing = Measured {
            flows: vec![FlowTally::default(); plan.flows.len()],
            streams: vec![CbrTally::default(); plan.streams.len()],
            links: vec![LinkTally::default(); plan.measured],
            delivered_segments: 0,
            series: Some(series),
        };
        let measure_s = [scenario.measure.0, scenario.measure.1].map(Duration::as_secs_f64);
        let span = (scenario.duration.as_secs_f64(), measure_s);
        let mut result =
            PointResult::new(&self.point.parameters, self.built, scenario.seed, span, nothing, 0.0);
        // A link at which packets wait is shown.
        for (link, longest) in result.links.iter_mut().zip(longest) {
            link.queue_max = longest;
        }
        result.warnings.clear();
        Some(result)
    }
}

/// The same with a view of the run while it is under way.
///
/// # Errors
///
/// As [`run_followed`].
pub fn run_shown(
    point: &Point,
    probes: bool,
    observer: Option<&mut dyn Observer>,
    go_on: &dyn Fn(&SoFar<'_>) -> bool,
) -> Result<PointResult, RunError> {
    let (outcome, drawn) = Rng::watched(|| run_unjudged(point, probes, observer, go_on));
    let mut result = outcome?;
    result.drawn = drawn;
    result.expectations = judge(&point.scenario, &result);
    Ok(result)
}

/// The same without verdicts.
fn run_unjudged(
    point: &Point,
    probes: bool,
    observer: Option<&mut dyn Observer>,
    go_on: &dyn Fn(&SoFar<'_>) -> bool,
) -> Result<PointResult, RunError> {
    let scenario = &point.scenario;
    let mut built = scenario.build()?;
    if probes && built.plan.probe.is_none() {
        built.plan.probe = Some(default_interval(point, &built));
    }
    let begun = Instant::now();
    let mut follower = (!built.followed.is_empty()).then(|| Follower::new(&built.plan, &built.followed));
    let mut recorder = built.prediction.as_ref().map(|prediction| Recorder::new(&built, prediction));
    let mut tracer = built.traced.map(|link| Tracer::new(&built, link)).transpose()?;
    let mut watchers: Vec<&mut dyn Observer> = Vec::new();
    if let Some(observer) = observer {
        watchers.push(observer);
    }
    watchers.extend(follower.as_mut().map(|it| it as &mut dyn Observer));
    watchers.extend(recorder.as_mut().map(|it| it as &mut dyn Observer));
    watchers.extend(tracer.as_mut().map(|it| it as &mut dyn Observer));
    let (measured, engine) = drive(point, &built, watchers, go_on)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let seconds = |span: Duration| span.as_nanos() as f64 / 1e9;
    let span = (seconds(scenario.duration), [seconds(scenario.measure.0), seconds(scenario.measure.1)]);
    let mut result = PointResult::new(&point.parameters, &built, scenario.seed, span, measured, wall_s);
    result.engine = Some(engine);
    result.courses = follower.map(Follower::into_courses).unwrap_or_default();
    result.predictions = recorder
        .zip(built.prediction)
        .map(|(recorder, asked)| predictions(&recorder.finish(), &asked.options, asked.settle));
    result.traced = tracer.map(Tracer::finish).transpose()?.unwrap_or_default();
    Ok(result)
}

/// Runs a plan to its end, as long as `go_on` returns true. Says which engine did it.
fn drive(
    point: &Point,
    built: &Built,
    mut watchers: Vec<&mut dyn Observer>,
    go_on: &dyn Fn(&SoFar<'_>) -> bool,
) -> Result<(Measured, EngineKind), RunError> {
    let plan = &built.plan;
    let observer = (!watchers.is_empty()).then_some(&mut watchers as &mut dyn Observer);
    let mut engine = Simulation::new(plan, observer).map_err(RunError::Unfit)?;
    let kind = engine.kind();
    let duration = plan.duration.as_nanos() as f64;
    while engine.run_some(EVENTS) {
        let share = engine.now().as_nanos() as f64 / duration;
        if !go_on(&SoFar { share, point, built, series: &|| engine.series() }) {
            return Err(RunError::Interrupted);
        }
    }
    Ok((engine.run(), kind))
}

/// Evaluates the expectations of a scenario that are about a single point. An expectation without a value
/// does not hold, but the results are still kept.
pub fn judge(scenario: &Scenario, result: &PointResult) -> Vec<Expectation> {
    if expects(scenario, Over::Point).next().is_none() {
        return Vec::new();
    }
    let language = Language::new(&View::new(vec![result.clone()]));
    expects(scenario, Over::Point).map(|expect| verdict(&language, expect)).collect()
}

/// Evaluates the expectations that are about all points together. Returns the results as they came, and the
/// verdicts.
pub fn judge_points(points: &[Point], results: Vec<PointResult>) -> (Vec<PointResult>, Vec<Expectation>) {
    let asked: Vec<&Expect> = over_points(points).map(|(_, expect)| expect).collect();
    if asked.is_empty() {
        return (results, Vec::new());
    }
    let view = View::new(results);
    let language = Language::new(&view);
    let verdicts = asked.into_iter().map(|expect| verdict(&language, expect)).collect();
    drop(language);
    (view.into_points(), verdicts)
}

fn expects(scenario: &Scenario, over: Over) -> impl Iterator<Item = &Expect> {
    scenario.expects.iter().filter(move |expect| expect.over == over)
}

/// What is expected of all points together stands at each of them.
fn over_points(points: &[Point]) -> impl Iterator<Item = (&Point, &Expect)> {
    points.iter().take(1).flat_map(|point| expects(&point.scenario, Over::Points).map(move |it| (point, it)))
}

fn verdict(language: &Language, expect: &Expect) -> Expectation {
    let (holds, seen, reason) = match language.judge(&expect.that, &Names::new()) {
        Ok((true, _)) => (true, Vec::new(), None),
        Ok((false, seen)) => (false, seen, None),
        Err(error) => (false, Vec::new(), Some(error.reason)),
    };
    Expectation { that: expect.that.clone(), holds, seen, reason }
}

/// The number of made-up results over which each expectation is evaluated before the run.
const VARIANTS: u64 = 4;

/// The memory of a sweep, bytes, as far as it is known before the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryEstimate {
    /// The largest memory of one point while it runs.
    pub running: f64,
    /// The results of all points, with the samples of the probes. They are kept until the last point is
    /// finished.
    pub kept: f64,
}

/// Builds every point and evaluates its expectations over made-up results, so that mistakes show before
/// anything runs. Returns the memory of the sweep. `probes` is as in [`run_point`].
///
/// # Errors
///
/// [`ScenarioError`] if a scenario is not valid, or an expectation cannot be evaluated.
pub fn check(points: &[Point], probes: bool) -> Result<MemoryEstimate, ScenarioError> {
    let checked: Vec<_> = points.par_iter().map(|point| check_point(point, probes)).collect();
    let checked: Vec<MemoryEstimate> = checked.into_iter().collect::<Result<_, _>>()?;
    check_over_points(points)?;
    Ok(checked.into_iter().fold(MemoryEstimate::default(), |sum, need| MemoryEstimate {
        running: sum.running.max(need.running),
        kept: sum.kept + need.kept,
    }))
}

/// Evaluates what is expected of all points together over made-up results of all of them.
fn check_over_points(points: &[Point]) -> Result<(), ScenarioError> {
    if over_points(points).next().is_none() {
        return Ok(());
    }
    let built: Vec<Built> = points.iter().map(|point| point.scenario.build()).collect::<Result<_, _>>()?;
    let samples = MAX_SAMPLES / points.len();
    for variant in 0..VARIANTS {
        let made_up = points.iter().zip(&built).map(|(point, built)| dry_run(point, built, variant, samples));
        let (results, thinned): (Vec<PointResult>, Vec<bool>) = made_up.unzip();
        let (language, thinned) = (Language::new(&View::new(results)), thinned.contains(&true));
        over_points(points)
            .try_for_each(|(point, expect)| check_expect(&language, point, expect, thinned))?;
    }
    Ok(())
}

fn check_expect(
    language: &Language,
    point: &Point,
    expect: &Expect,
    thinned: bool,
) -> Result<(), ScenarioError> {
    language
        .dry_run(&expect.that, thinned)
        .map_err(|error| point.scenario.expect_error(expect, error.reason).help(error.remedy))
}

fn check_point(point: &Point, probes: bool) -> Result<MemoryEstimate, ScenarioError> {
    let built = point.scenario.build()?;
    let variants = if expects(&point.scenario, Over::Point).next().is_some() { VARIANTS } else { 0 };
    for variant in 0..variants {
        let (made_up, thinned) = dry_run(point, &built, variant, MAX_SAMPLES);
        let language = Language::new(&View::new(vec![made_up]));
        expects(&point.scenario, Over::Point)
            .try_for_each(|expect| check_expect(&language, point, expect, thinned))?;
    }
    let interval = built.plan.probe.or_else(|| probes.then(|| default_interval(point, &built)));
    let looks = interval.map_or(0.0, |it| point.scenario.duration.as_secs_f64() / it.as_secs_f64() + 1.0);
    let sizes = [
        (built.plan.flows.len(), size_of::<Sample>() + PER_VARIABLES),
        (built.plan.links.len(), size_of::<(u32, f32)>()),
        (built.plan.streams.len(), size_of::<f32>()),
    ];
    let look: usize = sizes.iter().map(|(count, bytes)| count * bytes).sum();
    let kept = result(&built) as f64 + looks * look as f64 + watched(point, &built);
    Ok(MemoryEstimate { running: built.memory, kept })
}

/// The approximate memory of a point with its scenario and document, and that of a name, bytes.
const PER_POINT: usize = 8192;
const PER_NAME: usize = 32;

/// The memory of a point and its result without samples, bytes.
fn result(built: &Built) -> usize {
    let flow = size_of::<FlowResult>() + 5 * PER_NAME;
    let link = size_of::<LinkResult>() + PER_NAME;
    PER_POINT + size_of::<PointResult>() + built.plan.flows.len() * flow + built.plan.links.len() * link
}

/// The most segments that all flows of a point can deliver together over the narrowest links of their paths:
/// about what its run costs. 0 for a scenario that is not valid, which its run says.
pub(crate) fn most_segments(point: &Point) -> f64 {
    let Ok(built) = point.scenario.build() else { return 0.0 };
    let rate = |link: usize| built.plan.links[link].rate().bps_f64();
    let narrowest = built.plan.flows.iter().filter_map(|flow| {
        let link = flow.forward.iter().copied().min_by(|&one, &other| rate(one).total_cmp(&rate(other)))?;
        Some((link, rate(link) / 8.0 / f64::from(flow.config.segment_bytes())))
    });
    let a_second = narrowest.collect::<BTreeMap<_, _>>().into_values().sum::<f64>();
    a_second * point.scenario.duration.as_secs_f64()
}

/// The memory of traced and recorded flows, bytes, if each of them fills its narrowest link alone.
fn watched(point: &Point, built: &Built) -> f64 {
    let segments = |&flow: &usize| {
        let flow = &built.plan.flows[flow];
        let rates = flow.forward.iter().map(|&link| built.plan.links[link].rate().bps_f64());
        let rate = rates.fold(f64::INFINITY, f64::min) / 8.0 / f64::from(flow.config.segment_bytes());
        rate * point.scenario.duration.as_secs_f64()
    };
    // A segment is sent, arrives, is acknowledged, and may be reported before.
    let course = 4 * size_of::<Event>() + size_of::<SegmentTrace>() + size_of::<Estimate>();
    let reading = size_of::<Reading>() + size_of::<f32>();
    built.followed.iter().map(segments).sum::<f64>() * course as f64
        + built.prediction.iter().map(|it| segments(&it.flow)).sum::<f64>() * reading as f64
}
