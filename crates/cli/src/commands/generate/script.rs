//! `ackclock generate`.

use super::{identity, iperf3, read, results};
use crate::args::Generate;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_agent::controller::{self, Outcome, Watch};
use ackclock_agent::protocol::Refusal;
use ackclock_agent::script::{self, Plan};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::{IntoDiagnostic, Report, miette};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) fn run(command: &Generate) -> Result<(), Failure> {
    let Some(path) = &command.script else { return iperf3::run(command) };
    let text = read(path)?;
    let plan = script::read(&path.display().to_string(), &text)?;
    if command.check {
        results::describe(&plan, command.json);
        return Ok(());
    }
    let config = identity(&command.certificates, &command.name)?.client().into_diagnostic()?;
    let interrupted = interrupt::listen()?;
    let watch = Watch::limited(Duration::from_nanos(command.limit.as_nanos()));
    let outcomes = while_running(&plan, &watch, interrupted, || controller::run(&plan, &config, &watch))?;
    let outcomes = outcomes.map_err(|refusal| report(&refusal))?;
    if let Some(out) = &command.out {
        results::save(out, &plan, &outcomes)?;
    }
    if command.json {
        say!("{}", results::document(&plan, &outcomes));
    } else {
        say!("{}", results::table(&plan, &outcomes));
    }
    if watch.is_stopped() {
        return Err(Failure::Interrupted("interrupted; all traffic has ended".to_owned()));
    }
    verdict(&plan, &outcomes)
}

/// A named error, as it is shown.
pub(super) fn report(refusal: &Refusal) -> Report {
    miette!(help = refusal.help.clone(), "{}: {}", refusal.error, refusal.message)
}

/// The first transfer that failed makes the command fail.
fn verdict(plan: &Plan, outcomes: &[Outcome]) -> Result<(), Failure> {
    let failed =
        || outcomes.iter().enumerate().filter_map(|(number, it)| Some((number, it.failed.as_ref()?)));
    let Some((number, why)) = failed().next() else { return Ok(()) };
    let others = failed().count() - 1;
    if others > 0 {
        tell!("{others} more of {} transfers failed", plan.transfers.len());
    }
    Err(report(why).wrap_err(format!("transfer {} failed", number + 1)).into())
}

/// Runs `work`, shows how far it is if that takes long, and ends it on Ctrl-C.
fn while_running<T: Send>(
    plan: &Plan,
    watch: &Watch,
    interrupted: &AtomicBool,
    work: impl FnOnce() -> T,
) -> Result<T, Report> {
    /// Shorter runs show no progress.
    const PATIENCE: Duration = Duration::from_secs(2);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    bar.set_style(ProgressStyle::with_template("{spinner} {msg}, {elapsed}").into_diagnostic()?);
    let over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while !over.load(Ordering::Relaxed) {
                if interrupted.load(Ordering::Relaxed) {
                    watch.stop();
                }
                let (going_on, done) = watch.seen();
                bar.set_message(format!(
                    "{going_on} transfers going on, {done} of {} done",
                    plan.transfers.len()
                ));
                if begun.elapsed() >= PATIENCE && bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.tick();
                thread::sleep(Duration::from_millis(50));
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    });
    bar.finish_and_clear();
    Ok(result)
}
