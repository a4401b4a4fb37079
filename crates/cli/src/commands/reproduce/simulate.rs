//! Runs the points of a plan in the simulator, and more of those that an undecided claim reads.

use super::open_store;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{args, memory};
use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_sim::engine::NoObserver;
use ackclock_study::reproduce::{Plan, Reproduction};
use ackclock_study::run::check;
use ackclock_study::runner::{Runner, RunnerError};
use miette::miette;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What came of a plan.
pub(super) enum Outcome {
    Judged(Vec<Reproduction>),
    /// There is too little memory for all of its experiments together.
    TooLarge,
}

/// Runs a plan, and judges it. One that may not be divided goes on as long as it can.
pub(super) fn reproduce(
    command: &args::Reproduce,
    plan: &mut Plan<'_>,
    divisible: bool,
    store: &Path,
    stop: &AtomicBool,
) -> Result<Outcome, Failure> {
    let most = command.seeds_max;
    let run = |points: &[Point]| simulate(command, points, store, stop);
    let at_once = |points| memory::at_once(command.threads, points);
    let mut results = run(plan.points())?;
    if plan.replicate_drawn(&results, most)? {
        let more = &plan.points()[results.len()..];
        let mut need = check(more, false)?;
        need.kept += check(plan.points(), false)?.kept; // whoever judges results copies them
        if divisible && memory::check(need, at_once(more.len())).is_err() {
            return Ok(Outcome::TooLarge);
        }
        results.extend(run(more)?);
    }
    let fits = |id: &str, points, need| {
        memory::check(need, at_once(points))
            .inspect_err(|error| {
                tell!("{id}: some claims stay undecided, because more runs need more memory: {error}.");
            })
            .is_ok()
    };
    plan.decide(results, most, run, fits).map(Outcome::Judged)
}

/// Runs every point that is not finished yet.
fn simulate(
    command: &args::Reproduce,
    points: &[Point],
    directory: &Path,
    stop: &AtomicBool,
) -> Result<Vec<PointResult>, Failure> {
    memory::limit();
    let at_once = memory::at_once(command.threads, points.len());
    let need = check(points, false)?;
    memory::check(need, at_once)?;
    let store = open_store(directory)?;
    let progress = Progress::new(points)?;
    let runner = Runner {
        probes: false,
        threads: Some(at_once),
        stop,
        store: Some(&store),
        progress: &|number, share| progress.follow(number, share),
    };
    let results = runner.run(&memory::divided(points, command.threads, need), &NoObserver);
    progress.clear();
    results.map_err(|error| match error {
        RunnerError::Interrupted => {
            let finished = points.iter().filter(|point| store.contains(point)).count();
            Failure::Interrupted(format!(
                "interrupted: {finished} of {} points are finished and kept in {}\n\
                 Run the same command again to go on with the others.",
                points.len(),
                directory.display()
            ))
        }
        RunnerError::Scenario(error) => error.into(),
        error => Failure::Report(miette!(
            help = format!("finished points are kept in {}", directory.display()),
            "{error}"
        )),
    })
}
