//! Runs the same points between hosts of the running kernel.

use crate::commands::emulate::{Controllers, Tracing};
use crate::failure::Failure;
use crate::progress::Progress;
use ackclock_live::{Fidelity, LiveError, Load, Request};
use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_study::reproduce::{Counts, Plan, Reproduction};
use ackclock_study::run::judge;
use miette::{IntoDiagnostic, WrapErr};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Emulates every point that is not finished yet, one after the other, and evaluates the claims over the
/// results.
pub(super) fn emulate(
    plan: &Plan<'_>,
    store: &Path,
    own_host: bool,
    stop: &AtomicBool,
) -> Result<Emulated, Failure> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim().to_owned();
    let directory = store.join(format!("emulated-{release}{}", if own_host { "-own" } else { "" }));
    let store = super::open_store(&directory)?;
    let points = plan.points();
    let kept = |point: &Point| Some((store.get(point)?, store.get_beside::<Own>(point, KEPT)?));
    if points.iter().any(|point| kept(point).is_none()) {
        let controllers = Controllers::load(points, &Load::Flows, own_host, stop)?;
        // All names are looked up first, so that a missing controller at the last point does not cost all
        // other points.
        let names = points.iter().map(|point| controllers.names(point)).collect::<Result<Vec<_>, _>>()?;
        let progress = Progress::new(points)?;
        for (number, (point, names)) in points.iter().zip(names).enumerate() {
            if kept(point).is_none() {
                let admit = |namespaces: &[u64]| controllers.admit(namespaces);
                let load = Load::Flows;
                let own = controllers.own(point);
                let mut request =
                    Request { point, controls: names, own, load, captures: None, admit: &admit, see: None };
                let measured = measure(&mut request, stop, &|share| progress.follow(number, share));
                let (result, own) = measured.inspect_err(|_| progress.clear())?;
                let keep = store.put_beside(point, KEPT, &own).and_then(|()| store.put(point, &result));
                keep.into_diagnostic()
                    .wrap_err_with(|| format!("{} cannot be written", directory.display()))?;
            }
            progress.follow(number, 1.0);
        }
        progress.clear();
    }
    let all: Option<Vec<_>> = points.iter().map(kept).collect();
    let all = all.ok_or_else(|| {
        miette::miette!(help = "give --store another directory", "{} cannot be read", directory.display())
    })?;
    let (results, own): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let of_experiment = |numbers: Vec<usize>| numbers.into_iter().map(|number| own[number].clone()).collect();
    Ok(Emulated {
        release,
        own_host,
        reproductions: plan.judge(&results)?,
        own: plan.numbers().into_iter().map(of_experiment).collect(),
    })
}

/// Emulates a point until the emulator trusts the result, or until the number of attempts is used up.
fn measure(
    request: &mut Request<'_>,
    stop: &AtomicBool,
    follow: &dyn Fn(f64),
) -> Result<(PointResult, Own), Failure> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        request.captures = None;
        let tracing = Tracing::begin(request.point, &mut request.captures)?;
        let outcome = ackclock_live::emulate(request, &|share| {
            follow(share);
            !stop.load(Ordering::Relaxed)
        });
        let mut outcome = outcome.map_err(|error| match error {
            LiveError::Interrupted => Failure::Interrupted(
                "interrupted; finished points are kept, everything else that was made is removed".to_owned(),
            ),
            error => error.into(),
        })?;
        tracing.map(|tracing| tracing.finish(&mut outcome.result)).transpose()?;
        outcome.result.expectations = judge(&request.point.scenario, &outcome.result);
        if outcome.emulation.trusted || attempts == ATTEMPTS {
            return Ok((outcome.result, Own { attempts, emulation: outcome.emulation }));
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
