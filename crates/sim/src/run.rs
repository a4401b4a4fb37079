//! Running the points of a sweep, on all cores.

use crate::engine::{Engine, Nobody, Observer};
use crate::expect::{Language, Names, View};
use crate::imagined::imagined;
use crate::results::{Expectation, PointResult};
use crate::scenario::{Expect, Point, Scenario, ScenarioError};
use ackclock_units::Duration;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Looks of the probes in a run that does not say how often it wants them.
const DEFAULT_LOOKS: u64 = 500;

/// Why a point has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// Runs one point; probes look at the scenario's interval, or at a default one if `probes` asks for them.
pub fn run_point(point: &Point, probes: bool, stop: &AtomicBool) -> Result<PointResult, RunError> {
    let (result, Nobody) = run_observed(point, probes, stop, Nobody)?;
    Ok(result)
}

/// Runs one point under the eyes of an observer.
pub fn run_observed<O: Observer>(
    point: &Point,
    probes: bool,
    stop: &AtomicBool,
    observer: O,
) -> Result<(PointResult, O), RunError> {
    let scenario = &point.scenario;
    let mut built = scenario.build()?;
    if probes && built.plan.probe.is_none() {
        built.plan.probe = Some(Duration::from_nanos((scenario.duration.as_nanos() / DEFAULT_LOOKS).max(1)));
    }
    let begun = Instant::now();
    let mut engine = Engine::new(built.plan.clone(), observer);
    // A slice of virtual time is short enough for an interruption to be heard.
    let slice = Duration::from_nanos((scenario.duration.as_nanos() / 200).max(1));
    let mut until = engine.now() + slice;
    while engine.run_until(until) {
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        until += slice;
    }
    let (measured, observer) = engine.run();
    let wall_s = begun.elapsed().as_secs_f64();
    let span = (
        scenario.duration.as_secs_f64(),
        [scenario.measure.0.as_secs_f64(), scenario.measure.1.as_secs_f64()],
    );
    let mut result = PointResult::new(&point.parameters, &built, scenario.seed, span, measured, wall_s);
    result.expectations = judge(scenario, &result);
    Ok((result, observer))
}

/// An expectation that has no value after all does not hold; the results are worth keeping all the same.
fn judge(scenario: &Scenario, result: &PointResult) -> Vec<Expectation> {
    if scenario.expects.is_empty() {
        return Vec::new();
    }
    let language = Language::new(&View::new(vec![result.clone()]));
    let verdict = |expect: &Expect| match language.judge(&expect.that, &Names::new()) {
        Ok((holds, _)) => Expectation { that: expect.that.clone(), holds, reason: None },
        Err(error) => Expectation { that: expect.that.clone(), holds: false, reason: Some(error.reason) },
    };
    scenario.expects.iter().map(verdict).collect()
}

/// Made-up results over which each expectation is evaluated beforehand.
const VARIANTS: u64 = 4;

/// Lays out every point and evaluates its expectations over made-up results, so that mistakes show before
/// anything runs; returns the most memory one point needs, bytes.
pub fn check(points: &[Point]) -> Result<f64, ScenarioError> {
    let checked: Vec<_> = points.par_iter().map(check_point).collect();
    checked.into_iter().try_fold(0.0_f64, |most, memory| Ok(most.max(memory?)))
}

fn check_point(point: &Point) -> Result<f64, ScenarioError> {
    let built = point.scenario.build()?;
    let variants = if point.scenario.expects.is_empty() { 0 } else { VARIANTS };
    for variant in 0..variants {
        let language = Language::new(&View::new(vec![imagined(point, &built, variant)]));
        for expect in &point.scenario.expects {
            language
                .check_calls(&expect.that)
                .and_then(|()| language.judge(&expect.that, &Names::new()).map(drop))
                .map_err(|error| point.scenario.expect_error(expect, error.reason).help(error.remedy))?;
        }
    }
    Ok(built.memory)
}

/// Runs points in parallel; `done` hears of each as it finishes. The order of the results is that of the points.
pub fn run_all(
    points: &[Point],
    probes: bool,
    stop: &AtomicBool,
    done: impl Fn(usize, &PointResult) + Sync,
) -> Result<Vec<PointResult>, RunError> {
    let run = |(number, point): (usize, &Point)| {
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let result = run_point(point, probes, stop)?;
        done(number, &result);
        Ok(result)
    };
    points.par_iter().enumerate().map(run).collect()
}
