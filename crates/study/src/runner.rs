//! Running all points of a sweep: in parallel, with progress, and going on where an earlier run has stopped.

use crate::run::{RunError, run_followed};
use crate::store::PointStore;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Point, ScenarioError};
use ackclock_sim::engine::{Nobody, Observer};
use rayon::prelude::*;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// How points are run.
pub struct Runner<'a> {
    /// Should probes look where the scenario does not say so?
    pub probes: bool,
    /// Threads; all cores if not given.
    pub threads: Option<usize>,
    /// Becomes true when everything is to stop.
    pub stop: &'a AtomicBool,
    /// Where finished points are kept and found again, if anywhere.
    pub store: Option<&'a PointStore>,
    /// Hears which share of a point, given by its number, is done.
    pub progress: &'a (dyn Fn(usize, f64) + Sync),
}

/// Why a sweep has no results.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// A finished point, or what watched it, could not be written.
    #[error("what was finished cannot be written: {0}")]
    Write(#[from] io::Error),
    /// There are no threads to run on.
    #[error("the threads cannot be started: {0}")]
    Threads(#[from] ThreadPoolBuildError),
}

impl From<RunError> for RunnerError {
    fn from(error: RunError) -> RunnerError {
        match error {
            RunError::Scenario(error) => RunnerError::Scenario(error),
            RunError::Interrupted => RunnerError::Interrupted,
        }
    }
}

/// Supplies an observer to every point, and takes it back.
pub trait Watch: Sync {
    /// What watches a point.
    type Observer: Observer;
    /// Has this point been watched to its end before?
    fn has(&self, point: &Point) -> bool;
    /// A point begins.
    fn begin(&self, point: &Point) -> io::Result<Self::Observer>;
    /// A point is finished.
    fn finish(&self, point: &Point, observer: Self::Observer) -> io::Result<()>;
}

/// Nobody watches.
impl Watch for Nobody {
    type Observer = Nobody;

    fn has(&self, _: &Point) -> bool {
        true
    }

    fn begin(&self, _: &Point) -> io::Result<Nobody> {
        Ok(Nobody)
    }

    fn finish(&self, _: &Point, Nobody: Nobody) -> io::Result<()> {
        Ok(())
    }
}

impl Runner<'_> {
    /// Runs points in parallel. The order of the results is that of the points.
    pub fn run<W: Watch>(&self, points: &[Point], watch: &W) -> Result<Vec<PointResult>, RunnerError> {
        let failed = AtomicBool::new(false);
        let one = |(number, point)| {
            let result = self.one(number, point, watch, &failed);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        let pool = ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build()?;
        // All of them are waited for, and then the most telling error is the first that is no interruption.
        let results: Vec<_> = pool.install(|| points.par_iter().enumerate().map(one).collect());
        let (finished, errors): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        let mut errors: Vec<RunnerError> = errors.into_iter().filter_map(Result::err).collect();
        if errors.is_empty() {
            return Ok(finished.into_iter().filter_map(Result::ok).collect());
        }
        let telling = errors.iter().position(|error| !matches!(error, RunnerError::Interrupted));
        Err(errors.swap_remove(telling.unwrap_or(0)))
    }

    fn one<W: Watch>(
        &self,
        number: usize,
        point: &Point,
        watch: &W,
        failed: &AtomicBool,
    ) -> Result<PointResult, RunnerError> {
        let go_on = || !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed);
        if !go_on() {
            return Err(RunnerError::Interrupted);
        }
        let kept = self.store.filter(|_| watch.has(point)).and_then(|store| store.get(point));
        if let Some(result) = kept.filter(|result| result.series.is_some() || !self.probes) {
            (self.progress)(number, 1.0);
            return Ok(result);
        }
        let (result, observer) = run_followed(point, self.probes, watch.begin(point)?, |share| {
            (self.progress)(number, share);
            go_on()
        })?;
        watch.finish(point, observer)?;
        if let Some(store) = self.store {
            store.put(point, &result)?;
        }
        (self.progress)(number, 1.0);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_scenario::Sweep;
    use std::sync::atomic::AtomicUsize;

    const SCENARIO: &str = r#"
        duration = "2 s"
        seeds = 4
        [topology.dumbbell]
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
        [[flows]]
        control = "reno"
    "#;

    /// Counts the points that are really run.
    struct Counting(AtomicUsize);

    impl Watch for Counting {
        type Observer = Nobody;

        fn has(&self, _: &Point) -> bool {
            true
        }

        fn begin(&self, _: &Point) -> io::Result<Nobody> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Nobody)
        }

        fn finish(&self, _: &Point, Nobody: Nobody) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_interrupted_sweep_goes_on_with_what_is_missing_and_ends_the_same() {
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path()).expect("a store");
        let (stop, counting) = (AtomicBool::new(false), Counting(AtomicUsize::new(0)));
        // The interruption comes in the middle of the third point.
        let interrupt = |number: usize, share: f64| stop.store(number == 2 && share > 0.5, Ordering::Relaxed);
        let runner =
            Runner { probes: true, threads: Some(1), stop: &stop, store: Some(&store), progress: &interrupt };
        assert!(matches!(runner.run(&sweep.points, &counting), Err(RunnerError::Interrupted)));
        assert_eq!(sweep.points.iter().filter(|point| store.contains(point)).count(), 2);
        assert_eq!(counting.0.swap(0, Ordering::Relaxed), 3);
        stop.store(false, Ordering::Relaxed);
        let runner = Runner { progress: &|_, _| {}, ..runner };
        let results = runner.run(&sweep.points, &counting).expect("results");
        assert_eq!(counting.0.load(Ordering::Relaxed), 2, "what was finished is not run again");
        let at_once = Runner { store: None, threads: Some(2), ..runner };
        let whole = at_once.run(&sweep.points, &Nobody).expect("results");
        for (one, other) in results.iter().zip(&whole) {
            assert_eq!(one.series, other.series);
            assert_eq!(one.delivered_segments, other.delivered_segments);
            assert_eq!(one.seed, other.seed);
        }
    }
}
