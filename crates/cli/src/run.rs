//! `ackclock run`.

use crate::{Failure, args, input, output, table};
use ackclock_sim::results::PointResult;
use ackclock_sim::run::{RunError, check, run_all};
use ackclock_sim::scenario::Sweep;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::{IntoDiagnostic, miette};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) fn run(command: &args::Run) -> Result<(), Failure> {
    let name = command.file.display().to_string();
    let sweep = Sweep::read(&name, &input::read(&command.file)?, &command.settings)?;
    let results = simulate(&sweep, command.out.is_some())?;
    conclude(&sweep, &results, command.out.as_deref(), command.json)
}

/// Runs every point, with a progress bar for what takes over two seconds.
pub(crate) fn simulate(sweep: &Sweep, probes: bool) -> Result<Vec<PointResult>, Failure> {
    check(&sweep.points)?;
    let bar = ProgressBar::with_draw_target(Some(sweep.points.len() as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} points, {elapsed} (about {eta} left)");
    bar.set_style(style.into_diagnostic()?);
    if sweep.points.len() > 1 {
        bar.enable_steady_tick(Duration::from_secs(2));
    }
    let stop = AtomicBool::new(false);
    let results = run_all(&sweep.points, probes, &stop, |_, _| bar.inc(1));
    bar.finish_and_clear();
    match results {
        Ok(results) => Ok(results),
        Err(RunError::Scenario(error)) => Err(Failure::Report(error.into())),
        Err(RunError::Interrupted) => Err(Failure::Report(miette!("interrupted"))),
    }
}

/// Prints, writes, and gives the verdict.
pub(crate) fn conclude(
    sweep: &Sweep,
    results: &[PointResult],
    out: Option<&Path>,
    json: bool,
) -> Result<(), Failure> {
    if let Some(out) = out {
        output::write(out, sweep, results)?;
    }
    if json {
        println!("{}", output::document(sweep, results));
    } else {
        table::print(sweep, results);
        if let Some(out) = out {
            eprintln!("wrote {}", out.join("report.html").display());
        }
    }
    let all_hold = results.iter().flat_map(|point| &point.expectations).all(|expectation| expectation.holds);
    if all_hold { Ok(()) } else { Err(Failure::Expectation) }
}
