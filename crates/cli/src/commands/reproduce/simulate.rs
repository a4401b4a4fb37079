//! Runs the points of a plan in the simulator, and more of those that an undecided claim reads.

use super::open_store;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{args, memory};
use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_sim::engine::NoObserver;
use ackclock_study::reproduce::{Plan, Reproduction};
use ackclock_study::run::{MemoryEstimate, check};
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
    let mut results = simulate(command, plan.points(), store, stop)?;
    let mut kept = check(plan.points(), false)?.kept;
    if !plan.replicate_drawn(&results, most)?.is_empty() {
        let more = &plan.points()[results.len()..];
        let need = with_judging(check(more, false)?, &mut kept);
        if divisible && memory::check(need, memory::at_once(command.threads, more.len())).is_err() {
            return Ok(Outcome::TooLarge);
        }
        results.extend(simulate(command, more, store, stop)?);
    }
    let mut reproductions = plan.judge(&results);
    loop {
        let before = plan.clone();
        let changed = plan.replicate_undecided(&reproductions, most)?;
        if changed.is_empty() {
            return Ok(Outcome::Judged(reproductions));
        }
        let more = &plan.points()[results.len()..];
        let need = with_judging(check(more, false)?, &mut kept);
        if let Err(error) = memory::check(need, memory::at_once(command.threads, more.len())) {
            tell!("Some claims stay undecided, because more runs need more memory: {error}.");
            *plan = before;
            return Ok(Outcome::Judged(reproductions));
        }
        results.extend(simulate(command, more, store, stop)?);
        for number in changed {
            reproductions[number] = plan.judge_one(number, &results);
        }
    }
}

/// What more runs need. Whoever judges copies all results: those that are `kept`, and these.
fn with_judging(more: MemoryEstimate, kept: &mut f64) -> MemoryEstimate {
    *kept += more.kept;
    MemoryEstimate { kept: more.kept + *kept, ..more }
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
