//! `ackclock run`.

use crate::failure::Failure;
use crate::output::{self, OutputDirectory};
use crate::progress::Progress;
use crate::view::table;
use crate::{args, interrupt, memory, program};
use ackclock_scenario::Sweep;
use ackclock_scenario::plan::EngineKind;
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_sim::engine::NoObserver;
use ackclock_study::captures::{self, Captures};
use ackclock_study::input;
use ackclock_study::run::{MemoryEstimate, check, judge_points};
use ackclock_study::runner::{Runner, RunnerError};
use ackclock_study::store::{PointStore, StoreError};
use ackclock_view::request::Request;
use miette::{IntoDiagnostic, WrapErr, miette};
use std::path::Path;
use std::sync::Arc;

/// The task of `run` and `compare`.
pub(crate) struct Job<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) request: Request,
    pub(crate) out: Option<&'a Path>,
    /// A store that several runs and hosts share.
    pub(crate) store: Option<&'a Path>,
    pub(crate) captures: &'a [String],
    pub(crate) threads: Option<usize>,
    pub(crate) json: bool,
}

pub(crate) fn run(command: &args::Run) -> Result<(), Failure> {
    let name = command.file.display().to_string();
    let text = input::read(&command.file)?;
    let mut sweep = Sweep::read(&name, &text, &command.settings)?;
    for point in &mut sweep.points {
        Arc::make_mut(&mut point.scenario).engine = command.engine.map(EngineKind::from);
    }
    let request = program::request(&text, &command.settings);
    let job = Job {
        sweep: &sweep,
        request: Request { captured: !command.captures.is_empty(), ..request },
        out: command.out.as_deref(),
        store: command.store.as_deref(),
        captures: &command.captures,
        threads: command.threads,
        json: command.json,
    };
    job.perform()
}

impl Job<'_> {
    /// Runs a sweep, prints and writes the results, and returns the verdict.
    pub(crate) fn perform(&self) -> Result<(), Failure> {
        let points = &self.sweep.points;
        memory::limit();
        let need = check(points, self.out.is_some())?;
        captures::check(self.captures, points)?;
        self.out.map(output::check).transpose()?;
        memory::check(need, memory::at_once(self.threads, points.len()))?;
        let directory = self.out.map(OutputDirectory::begin).transpose()?;
        let shared = self.store.map(shared).transpose()?;
        let results = match self.simulate(need, directory.as_ref(), shared.as_ref()) {
            Ok(results) => results,
            Err(error) if shared.is_some() => return Err(self.unfinished_in(error, shared.as_ref())),
            Err(error) => {
                // Of a single run there is something to print even if nothing can be written.
                if let (Stopped::Running(RunnerError::Keep { result, .. }), [_]) = (&error, &points[..]) {
                    let (results, over_points) = judge_points(points, vec![(**result).clone()]);
                    self.print(&results, &over_points);
                }
                return Err(self.unfinished(error, directory));
            }
        };
        let (results, over_points) = judge_points(points, results);
        let written = directory.map_or(Ok(()), |directory| self.write(directory, &results, &over_points));
        self.print(&results, &over_points);
        written?;
        if let Some(out) = self.out.filter(|_| !self.json) {
            tell!("wrote {}", out.join("report.html").display());
        }
        let at_points = results.iter().flat_map(|point| &point.expectations);
        let all_hold = at_points.chain(&over_points).all(|expectation| expectation.holds);
        if all_hold { Ok(()) } else { Err(Failure::Expectation) }
    }

    fn print(&self, results: &[PointResult], over_points: &[Expectation]) {
        if self.json {
            say!("{}", output::document(self.sweep, results, over_points));
        } else {
            table::print(self.sweep, results, over_points);
        }
    }

    /// Writes everything. Where that fails, the finished points stay.
    fn write(
        &self,
        directory: OutputDirectory,
        results: &[PointResult],
        over_points: &[Expectation],
    ) -> Result<(), Failure> {
        let partial = directory.partial().display().to_string();
        let written = output::write(&directory, &self.request, self.sweep, results, over_points);
        let written = written.and_then(|()| {
            if !self.captures.is_empty() {
                output::keep_captures(&directory, &self.captured(&directory)?, self.sweep, results)?;
            }
            directory.finish()
        });
        written.map_err(|failure| match failure {
            Failure::Report(report) => Failure::Report(miette!(
                help = format!(
                    "the results are printed, and what is finished is kept in {partial}; make room there and run the same \
                     command again"
                ),
                "{report}"
            )),
            other => other,
        })
    }

    /// Runs every point.
    fn simulate(
        &self,
        need: MemoryEstimate,
        directory: Option<&OutputDirectory>,
        shared: Option<&PointStore>,
    ) -> Result<Vec<PointResult>, Stopped> {
        let progress = Progress::new(&self.sweep.points).map_err(Stopped::Otherwise)?;
        let runner = Runner {
            probes: self.out.is_some(),
            threads: Some(memory::at_once(self.threads, self.sweep.points.len())),
            stop: interrupt::listen().map_err(Stopped::Otherwise)?,
            store: shared.or(directory.map(OutputDirectory::store)),
            progress: &|number, share| progress.follow(number, share),
        };
        let points = &*memory::divided(&self.sweep.points, self.threads, need);
        let results = match directory.filter(|_| !self.captures.is_empty()) {
            Some(directory) => runner.run(points, &self.captured(directory).map_err(Stopped::Otherwise)?),
            None => runner.run(points, &NoObserver),
        };
        progress.clear();
        results.map_err(Stopped::Running)
    }

    /// Captures of unfinished sweeps lie beside the points they belong to.
    fn captured(&self, directory: &OutputDirectory) -> miette::Result<Captures> {
        let folder = directory.store().folder().folder("captures").into_diagnostic();
        let folder = folder.wrap_err("the directory for captures cannot be made")?;
        Ok(Captures::new(self.captures, folder))
    }

    /// Handles a run without results that kept its points in a shared store.
    fn unfinished_in(&self, error: Stopped, shared: Option<&PointStore>) -> Failure {
        let Some(store) = shared else { return self.unfinished(error, None) };
        let finished = self.sweep.points.iter().filter(|point| store.contains(point)).count();
        let (count, place) = (self.sweep.points.len(), store.folder().path().display());
        let kept = format!("{finished} of {count} points are finished and kept in {place}");
        match error {
            Stopped::Running(RunnerError::Interrupted) => Failure::Interrupted(format!(
                "interrupted: {kept}\nRun the same command again to go on with the others."
            )),
            Stopped::Running(RunnerError::Scenario(error)) => Failure::Report(error.into()),
            Stopped::Running(error @ RunnerError::Unfit(_)) => Failure::Report(unfit(&error)),
            Stopped::Running(error) => {
                let help = format!("{kept}; make room there and run the same command again");
                Failure::Report(miette!(help = help, "{error}"))
            }
            Stopped::Otherwise(report) => Failure::Report(report),
        }
    }

    /// Handles a run without results: what to print, and what to keep.
    fn unfinished(&self, error: Stopped, directory: Option<OutputDirectory>) -> Failure {
        let finished = directory.as_ref().map_or(0, |directory| {
            self.sweep.points.iter().filter(|point| directory.store().contains(point)).count()
        });
        let kept = directory.as_ref().filter(|_| finished > 0).map(|it| it.partial().display().to_string());
        let failure = match (error, &kept) {
            (Stopped::Running(RunnerError::Interrupted), Some(partial)) => Failure::Interrupted(format!(
                "interrupted: {finished} of {} points are finished and kept in {partial}\n\
                 Run the same command again to go on with the others.",
                self.sweep.points.len()
            )),
            (Stopped::Running(RunnerError::Interrupted), None) if self.out.is_some() => {
                Failure::Interrupted("interrupted before a point was finished; nothing is kept".to_owned())
            }
            (Stopped::Running(RunnerError::Interrupted), None) => Failure::Interrupted(
                "interrupted; nothing is kept\n\
                 With --out DIR finished points are kept, and the same command goes on where it was interrupted."
                    .to_owned(),
            ),
            (Stopped::Running(RunnerError::Scenario(error)), _) => Failure::Report(error.into()),
            (Stopped::Running(error @ RunnerError::Unfit(_)), _) => Failure::Report(unfit(&error)),
            (Stopped::Running(error), Some(partial)) => {
                let help = format!(
                    "{finished} points are kept in {partial}; make room there and run the same command again"
                );
                Failure::Report(miette!(help = help, "{error}"))
            }
            (Stopped::Running(error), None) => {
                let help = "make room there, or choose another directory with --out";
                Failure::Report(miette!(help = help, "{error}"))
            }
            (Stopped::Otherwise(report), _) => Failure::Report(report),
        };
        match directory.filter(|_| kept.is_none()).map(OutputDirectory::discard) {
            Some(Err(error)) => error,
            _ => failure,
        }
    }
}

/// The engine that was asked for cannot compute a run.
fn unfit(error: &RunnerError) -> miette::Report {
    miette!(help = "without --engine, the engine of events computes it", "{error}")
}

/// Opens a store that several runs and hosts share.
fn shared(directory: &Path) -> miette::Result<PointStore> {
    PointStore::of_one_build(directory, &program::build()?).map_err(|error| match error {
        StoreError::OtherBuild { .. } => {
            let help =
                "another build may give other results: give --store another directory, or use that program";
            miette!(help = help, "{}: {error}", directory.display())
        }
        StoreError::Io(error) => {
            let help = "give --store another directory, one of your own";
            miette!(help = help, "{} cannot be used: {error}", directory.display())
        }
    })
}

/// The reason why there are no results.
enum Stopped {
    Running(RunnerError),
    Otherwise(miette::Report),
}
