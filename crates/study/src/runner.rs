//! Runs all points of a sweep: in parallel, with progress, and with finished points from an earlier run.

use crate::run::{RunError, most_segments, run_followed};
use crate::store::PointStore;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Point, ScenarioError};
use ackclock_sim::engine::NoObserver;
use rayon::prelude::*;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The settings of the runner.
pub struct Runner<'a> {
    /// True if probes run at a default interval where the scenario gives none.
    pub probes: bool,
    /// The number of threads; `None`: one per core.
    pub threads: Option<usize>,
    /// Set it to true to stop all points.
    pub stop: &'a AtomicBool,
    /// The store of finished points, if they are kept.
    pub store: Option<&'a PointStore>,
    /// Called with the number of a point, and the share of it that is done.
    pub progress: &'a (dyn Fn(usize, f64) + Sync),
}

/// Why a sweep has no results.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// A scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The data of a point's observer could not be written.
    #[error("what was finished cannot be written: {0}")]
    Write(#[from] io::Error),
    /// A finished point could not be kept.
    #[error("what was finished cannot be written: {error}")]
    Keep {
        /// Why not.
        error: io::Error,
        /// The point's result.
        result: Box<PointResult>,
    },
    /// The engine that is asked for cannot compute a run.
    #[error(transparent)]
    Unfit(RunError),
    /// The threads could not be started.
    #[error("the threads cannot be started: {0}")]
    Threads(#[from] ThreadPoolBuildError),
}

impl From<RunError> for RunnerError {
    fn from(error: RunError) -> RunnerError {
        match error {
            RunError::Scenario(error) => RunnerError::Scenario(error),
            RunError::Interrupted => RunnerError::Interrupted,
            RunError::Capture(error) => RunnerError::Write(error),
            unfit @ RunError::Unfit(_) => RunnerError::Unfit(unfit),
        }
    }
}

/// Runs single points with the observers that they are to have.
pub trait Watch: Sync {
    /// True if the data of this point is complete from an earlier run.
    fn has(&self, point: &Point) -> bool;
    /// Runs a point as [`run_followed`] does, and keeps what its observer saw.
    ///
    /// # Errors
    ///
    /// [`RunnerError`] as from [`Runner::run`].
    fn run(
        &self,
        point: &Point,
        probes: bool,
        go_on: &dyn Fn(f64) -> bool,
    ) -> Result<PointResult, RunnerError>;
}

/// No observer.
impl Watch for NoObserver {
    fn has(&self, _: &Point) -> bool {
        true
    }

    fn run(
        &self,
        point: &Point,
        probes: bool,
        go_on: &dyn Fn(f64) -> bool,
    ) -> Result<PointResult, RunnerError> {
        Ok(run_followed(point, probes, None, go_on)?)
    }
}

impl Runner<'_> {
    /// Runs points in parallel. The results are in the order of the points.
    ///
    /// # Errors
    ///
    /// [`RunnerError`] if a scenario is not valid, the run is interrupted, or a file cannot be written.
    pub fn run(&self, points: &[Point], watch: &dyn Watch) -> Result<Vec<PointResult>, RunnerError> {
        let failed = AtomicBool::new(false);
        let one = |number| {
            let result = self.one(number, &points[number], watch, &failed);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            (number, result)
        };
        let pool = ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build()?;
        // All points are awaited. The most helpful error is the first one that is not an interruption.
        let mut results: Vec<_> =
            pool.install(|| dearest_first(points).into_iter().par_bridge().map(one).collect());
        results.sort_unstable_by_key(|&(number, _)| number);
        let results = results.into_iter().map(|(_, result)| result);
        let (finished, errors): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        let mut errors: Vec<RunnerError> = errors.into_iter().filter_map(Result::err).collect();
        if errors.is_empty() {
            return Ok(finished.into_iter().filter_map(Result::ok).collect());
        }
        let telling = errors.iter().position(|error| !matches!(error, RunnerError::Interrupted));
        Err(errors.swap_remove(telling.unwrap_or(0)))
    }

    fn one(
        &self,
        number: usize,
        point: &Point,
        watch: &dyn Watch,
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
        let result = watch.run(point, self.probes, &|share| {
            (self.progress)(number, share);
            go_on()
        })?;
        if let Some(Err(error)) = self.store.map(|store| store.put(point, &result)) {
            return Err(RunnerError::Keep { error, result: Box::new(result) });
        }
        (self.progress)(number, 1.0);
        Ok(result)
    }
}

/// The numbers of points, those first that may take longest. If one of them came last, it would run alone.
/// Equal ones stay in their order.
fn dearest_first(points: &[Point]) -> Vec<usize> {
    let mut dear: Vec<_> = points.par_iter().map(most_segments).enumerate().collect();
    dear.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    dear.into_iter().map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Build;
    use ackclock_scenario::Sweep;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    /// Long enough for several looks at whether to go on.
    const SCENARIO: &str = r#"
        duration = "20 s"
        seeds = 4
        [topology.dumbbell]
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
        [[flows]]
        control = "reno"
    "#;

    /// Counts the points that actually run.
    struct Counting(AtomicUsize);

    impl Watch for Counting {
        fn has(&self, _: &Point) -> bool {
            true
        }

        fn run(
            &self,
            point: &Point,
            probes: bool,
            go_on: &dyn Fn(f64) -> bool,
        ) -> Result<PointResult, RunnerError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            NoObserver.run(point, probes, go_on)
        }
    }

    #[test]
    fn the_dearest_run_first_and_the_results_keep_their_order() {
        let sweep = "[sweep]\nduration = [\"1 s\", \"4 s\", \"2 s\", \"3 s\"]\n";
        let scenario = SCENARIO.replace("seeds = 4\n", "") + sweep;
        let sweep = Sweep::read("test", &scenario, &[]).expect("a scenario");
        assert_eq!(dearest_first(&sweep.points), [1, 3, 2, 0]);
        let (stop, began) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let begins = |number, _| {
            let mut began = began.lock().expect("no panic");
            if began.last() != Some(&number) {
                began.push(number);
            }
        };
        let runner = Runner { probes: false, threads: Some(1), stop: &stop, store: None, progress: &begins };
        let results = runner.run(&sweep.points, &NoObserver).expect("results");
        assert_eq!(results.iter().map(|it| it.duration_s).collect::<Vec<_>>(), [1.0, 4.0, 2.0, 3.0]);
        assert_eq!(*began.lock().expect("no panic"), [1, 3, 2, 0]);
    }

    #[test]
    fn an_interrupted_sweep_goes_on_with_what_is_missing_and_ends_the_same() {
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path(), &Build::of(b"this one")).expect("a store");
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
        let whole = at_once.run(&sweep.points, &NoObserver).expect("results");
        for (one, other) in results.iter().zip(&whole) {
            assert_eq!(one.series, other.series);
            assert_eq!(one.delivered_segments, other.delivered_segments);
            assert_eq!(one.seed, other.seed);
        }
    }
}
