//! From experiments to verdicts: every distinct point is run once, in parallel.

use super::check::check;
use super::format::Experiment;
use super::library::Library;
use super::verdict::{Reproduction, judge};
use crate::results::PointResult;
use crate::run::{RunError, run_point};
use crate::scenario::{Point, ScenarioError, Sweep};
use crate::store::PointStore;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// How experiments are run.
#[derive(Default)]
pub struct Settings {
    /// Threads; all cores if not given.
    pub threads: Option<usize>,
    /// Where finished points are kept and found again.
    pub store: Option<PointStore>,
}

/// Why experiments have no verdicts.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ReproduceError {
    /// An experiment is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ScenarioError),
    /// The run was interrupted.
    #[error("interrupted")]
    #[diagnostic(help("run the same command again; points that were finished are not run again"))]
    Interrupted,
    /// A finished point cannot be kept.
    #[error("a finished point cannot be kept in {directory}: {why}")]
    #[diagnostic(help("make room there, or give --store another directory"))]
    Store {
        /// Where.
        directory: String,
        /// Why.
        why: String,
    },
    /// There are no threads to run on.
    #[error("no threads: {0}")]
    #[diagnostic(help("give --threads a smaller number"))]
    Threads(String),
}

impl From<RunError> for ReproduceError {
    fn from(error: RunError) -> ReproduceError {
        match error {
            RunError::Scenario(error) => error.into(),
            RunError::Interrupted => ReproduceError::Interrupted,
        }
    }
}

/// What must be run for some experiments.
struct Work {
    /// Per experiment and scenario: its points.
    sweeps: Vec<Vec<(String, Sweep)>>,
    /// Number of each distinct scenario, by its text.
    numbers: HashMap<String, usize>,
    /// Where each distinct scenario is found first: experiment, scenario, point.
    places: Vec<(usize, usize, usize)>,
}

fn key(point: &Point) -> String {
    point.scenario.to_json().to_string()
}

impl Work {
    fn new(library: &Library, experiments: &[&Experiment]) -> Result<Work, ScenarioError> {
        let mut work = Work { sweeps: Vec::new(), numbers: HashMap::new(), places: Vec::new() };
        for (e, experiment) in experiments.iter().enumerate() {
            check(library, experiment)?; // a mistake in the last claim must not cost the whole run
            let sweeps = library.sweeps(experiment)?;
            for (s, (_, sweep)) in sweeps.iter().enumerate() {
                for (p, point) in sweep.points.iter().enumerate() {
                    work.numbers.entry(key(point)).or_insert_with(|| {
                        work.places.push((e, s, p));
                        work.places.len() - 1
                    });
                }
            }
            work.sweeps.push(sweeps);
        }
        Ok(work)
    }

    fn point(&self, number: usize) -> &Point {
        let (e, s, p) = self.places[number];
        &self.sweeps[e][s].1.points[p]
    }

    /// The results of one experiment's scenarios; a shared result takes the names of this experiment's axes.
    fn results(&self, experiment: usize, done: &[PointResult]) -> Vec<(String, Vec<PointResult>)> {
        let result = |point: &Point| {
            let mut result = done[self.numbers[&key(point)]].clone();
            result.parameters =
                point.parameters.iter().map(|(axis, value)| (axis.clone(), value.to_json())).collect();
            result
        };
        let sweeps = self.sweeps[experiment].iter();
        sweeps.map(|(name, sweep)| (name.clone(), sweep.points.iter().map(result).collect())).collect()
    }
}

impl Settings {
    /// A point's result, from the store if it is there.
    fn point(&self, point: &Point, stop: &AtomicBool) -> Result<PointResult, ReproduceError> {
        if let Some(result) = self.store.as_ref().and_then(|store| store.get(point)) {
            return Ok(result);
        }
        let result = run_point(point, false, stop)?;
        if let Some(store) = &self.store {
            store.put(point, &result).map_err(|error| ReproduceError::Store {
                directory: store.directory().display().to_string(),
                why: error.to_string(),
            })?;
        }
        Ok(result)
    }
}

/// Runs `experiments` and judges their claims. `progress` hears of points done and points in all.
pub fn reproduce(
    library: &Library,
    experiments: &[&Experiment],
    settings: &Settings,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Reproduction>, ReproduceError> {
    let work = Work::new(library, experiments)?;
    let total = work.places.len();
    progress(0, total);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let run = |number: usize| -> Result<PointResult, ReproduceError> {
        if stop.load(Ordering::Relaxed) {
            return Err(ReproduceError::Interrupted);
        }
        let result = settings.point(work.point(number), stop)?;
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok(result)
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads.unwrap_or(0))
        .build()
        .map_err(|error| ReproduceError::Threads(error.to_string()))?;
    let done: Vec<PointResult> =
        pool.install(|| (0..total).into_par_iter().with_max_len(1).map(run).collect::<Result<_, _>>())?;
    let judged = experiments.iter().enumerate();
    judged.map(|(number, experiment)| Ok(judge(experiment, work.results(number, &done))?)).collect()
}
