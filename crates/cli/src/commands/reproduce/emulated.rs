//! Runs the same points between hosts of the running kernel.

use crate::commands::emulate::{Controllers, Tracing};
use crate::failure::Failure;
use crate::progress::Progress;
use ackclock_live::{Fidelity, LiveError, Load, MAX_FLOWS, Request};
use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_study::reproduce::{Counts, Plan, Reproduction};
use ackclock_study::run::judge;
use ackclock_study::store::PointStore;
use miette::{IntoDiagnostic, WrapErr};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// If the emulator doubts the result of a point, the point is emulated again, up to this many times in all.
/// Only the emulator's own error decides that, never a claim about the result.
const ATTEMPTS: u32 = 3;
/// The name under which the emulator's own error is stored with a point's result.
const KEPT: &str = "emulation";

/// The emulator's own error at a point.
#[derive(Clone, Serialize, Deserialize)]
struct Own {
    attempts: u32,
    emulation: Fidelity,
}

/// All emulated results and their verdicts.
pub(super) struct Emulated {
    /// The release of the kernel.
    release: String,
    /// Our own TCP has sent.
    own_host: bool,
    /// The verdicts of the same claims, in the same order.
    pub(super) reproductions: Vec<Reproduction>,
    /// The emulator's own errors, per experiment and point.
    own: Vec<Vec<Own>>,
}

/// Whether the emulated results of an experiment can be trusted.
pub(super) struct Trust {
    pub(super) points: usize,
    pub(super) doubted: usize,
    /// The reasons for doubt, each once.
    pub(super) doubts: Vec<String>,
}

/// Emulates every point that is not finished yet, and evaluates the claims over the results. `at_once`: so
/// many at the same time.
pub(super) fn emulate(
    plan: &Plan<'_>,
    store: &Path,
    own_host: bool,
    at_once: usize,
    stop: &AtomicBool,
) -> Result<Emulated, Failure> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim().to_owned();
    let directory = store.join(format!("emulated-{release}{}", if own_host { "-own" } else { "" }));
    let store = super::open_store(&directory)?;
    let points = plan.points();
    if points.iter().any(|point| kept(&store, point).is_none()) {
        let controllers = Controllers::load(points, &Load::Flows, own_host, stop)?;
        // All names are looked up first, so that a missing controller at the last point does not cost all
        // other points.
        let names = points.iter().map(|point| controllers.names(point)).collect::<Result<Vec<_>, _>>()?;
        let progress = Progress::new(points)?;
        let (hosts, failed) = (Mutex::default(), AtomicBool::new(false));
        let (controllers, store, progress) = (&controllers, &store, &progress);
        let work =
            Work { points, names, controllers, store, directory: &directory, progress, hosts, stop, failed };
        work.all(at_once).inspect_err(|_| progress.clear())?;
        progress.clear();
    }
    let all: Option<Vec<_>> = points.iter().map(|point| kept(&store, point)).collect();
    let all = all.ok_or_else(|| {
        miette::miette!(help = "give --store another directory", "{} cannot be read", directory.display())
    })?;
    let (results, own): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let of_experiment = |numbers: Vec<usize>| numbers.into_iter().map(|number| own[number].clone()).collect();
    Ok(Emulated {
        release,
        own_host,
        reproductions: plan.judge(&results),
        own: plan.numbers().into_iter().map(of_experiment).collect(),
    })
}

/// All points under way may have as many flows as one emulation: each has hosts and threads of its own.
pub(super) fn admissible(points: &[Point], at_once: usize) -> Result<(), Failure> {
    let mut most = 1;
    for point in points {
        most = most.max(point.scenario.build()?.plan.flows.len());
    }
    if at_once == 1 || at_once * most <= MAX_FLOWS {
        return Ok(());
    }
    let help = format!("here --at-once may be {} at most", (MAX_FLOWS / most).max(1));
    Err(miette::miette!(
        help = help,
        "{at_once} points at once have up to {} flows, and at most {MAX_FLOWS} can be emulated",
        at_once * most
    )
    .into())
}

/// What the store has of an emulated point.
fn kept(store: &PointStore, point: &Point) -> Option<(PointResult, Own)> {
    Some((store.get(point)?, store.get_beside::<Own>(point, KEPT)?))
}

/// The emulation of points, some of them at the same time. Each is in hosts of its own.
struct Work<'a> {
    points: &'a [Point],
    /// The controllers' names in the kernel, for each point.
    names: Vec<Vec<String>>,
    controllers: &'a Controllers,
    store: &'a PointStore,
    progress: &'a Progress,
    directory: &'a Path,
    /// The network namespaces of the points under way, each with its point's number: these may use the eBPF
    /// programs.
    hosts: Mutex<Vec<(usize, u64)>>,
    stop: &'a AtomicBool,
    /// A point has failed: the others end.
    failed: AtomicBool,
}

/// A thread that panics ends the others, too, which would go on for hours.
struct EndsAtPanic<'a>(&'a AtomicBool);

impl Drop for EndsAtPanic<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(thread::panicking(), Ordering::Relaxed);
    }
}

impl Work<'_> {
    /// Emulates all points that are not kept yet, so many at once.
    fn all(&self, at_once: usize) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let some = || {
            let _ends = EndsAtPanic(&self.failed);
            let outcome = loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(point) = self.points.get(number) else { break Ok(()) };
                if kept(self.store, point).is_none()
                    && let Err(failure) = self.one(number)
                {
                    break Err(failure);
                }
                self.progress.follow(number, 1.0);
            };
            self.failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            outcome
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(some)).collect();
            let join =
                |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            threads.into_iter().map(join).collect()
        });
        // What went wrong is told, not that others were interrupted because of it.
        let mut failures: Vec<Failure> = outcomes.into_iter().filter_map(Result::err).collect();
        failures.sort_by_key(|failure| matches!(failure, Failure::Interrupted(_)));
        failures.into_iter().next().map_or(Ok(()), Err)
    }

    /// Emulates a point, and keeps its result.
    fn one(&self, number: usize) -> Result<(), Failure> {
        let point = &self.points[number];
        let measured = self.measure(number);
        self.hosts().retain(|&(of, _)| of != number);
        let (result, own) = measured?;
        let keep = self.store.put_beside(point, KEPT, &own).and_then(|()| self.store.put(point, &result));
        let told = || format!("{} cannot be written", self.directory.display());
        Ok(keep.into_diagnostic().wrap_err_with(told)?)
    }

    fn hosts(&self) -> MutexGuard<'_, Vec<(usize, u64)>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A point's hosts may use the eBPF programs, as those of the others under way.
    fn admit(&self, number: usize, namespaces: &[u64]) -> io::Result<()> {
        let mut hosts = self.hosts();
        hosts.extend(namespaces.iter().map(|&namespace| (number, namespace)));
        self.controllers.admit(&hosts.iter().map(|&(_, namespace)| namespace).collect::<Vec<_>>())
    }

    /// Emulates a point until the emulator trusts the result, or until the number of attempts is used up.
    fn measure(&self, number: usize) -> Result<(PointResult, Own), Failure> {
        let point = &self.points[number];
        let admit = |namespaces: &[u64]| self.admit(number, namespaces);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (controls, own) = (self.names[number].clone(), self.controllers.own(point));
            let mut captures = None;
            let tracing = Tracing::begin(point, &mut captures)?;
            let request =
                Request { point, controls, own, load: Load::Flows, captures, admit: &admit, see: None };
            let outcome = ackclock_live::emulate(&request, &|share| {
                self.progress.follow(number, share.min(1.0 - f64::EPSILON)); // it may have to be repeated
                !self.stop.load(Ordering::Relaxed) && !self.failed.load(Ordering::Relaxed)
            });
            let mut outcome = outcome.map_err(|error| match error {
                LiveError::Interrupted => Failure::Interrupted(
                    "interrupted; finished points are kept, everything else that was made is removed"
                        .to_owned(),
                ),
                error => error.into(),
            })?;
            tracing.map(|tracing| tracing.finish(&mut outcome.result)).transpose()?;
            outcome.result.expectations = judge(&point.scenario, &outcome.result);
            if outcome.emulation.trusted || attempts == ATTEMPTS {
                return Ok((outcome.result, Own { attempts, emulation: outcome.emulation }));
            }
        }
    }
}

impl Emulated {
    /// The name of the kernel, for the page and the table.
    pub(super) fn place(&self) -> String {
        let ours = if self.own_host { "own TCP towards " } else { "" };
        format!("{ours}Linux {}", self.release)
    }

    /// The quality of the emulation, in a sentence.
    pub(super) fn quality(&self) -> String {
        let own = || self.own.iter().flatten();
        let ms = |pick: fn(&Fidelity) -> f64| own().map(move |own| pick(&own.emulation) * 1e3);
        let most = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        format!(
            "Of a run's deliveries at most {:.3} ms late on the average, and 99 of 100 at most {:.3} ms; {} of {} runs were \
             repeated because of that, {} are still in doubt (a machine of {processors} processors).",
            most(&mut ms(|it| it.lateness.mean_s)),
            most(&mut ms(|it| it.lateness.p99_s)),
            own().filter(|own| own.attempts > 1).count(),
            own().count(),
            own().filter(|own| !own.emulation.trusted).count(),
        )
    }

    /// Whether the results of an experiment, by its number, can be trusted.
    pub(super) fn trust(&self, experiment: usize) -> Trust {
        let own = &self.own[experiment];
        let mut doubts: Vec<String> =
            own.iter().flat_map(|own| own.emulation.doubts.iter().cloned()).collect();
        doubts.sort();
        doubts.dedup();
        Trust { points: own.len(), doubted: own.iter().filter(|own| !own.emulation.trusted).count(), doubts }
    }

    /// The emulated results in the JSON document.
    pub(super) fn to_json(&self) -> Value {
        let experiments = self.reproductions.iter().zip(&self.own).map(|(reproduction, own)| {
            let mut experiment = json!(reproduction);
            experiment["emulation"] = json!(own);
            experiment
        });
        json!({
            "kernel": self.release,
            "counts": Counts::of(self.reproductions.iter().flat_map(|reproduction| &reproduction.claims)),
            "experiments": experiments.collect::<Vec<_>>(),
        })
    }
}
