//! The command line's other commands: predictors, captures, comparisons, published experiments.

use crate::error::{raised, wrong};
use crate::interrupt::detached;
use crate::memory;
use crate::scenario::{Scenario, set};
use ackclock_cc::predictor::{Options, Threshold};
use ackclock_scenario::{Point, Settle, Sweep};
use ackclock_sim::engine::NoObserver;
use ackclock_study::predict::{predictions, read_capture};
use ackclock_study::reproduce::{Library, Plan, Reproduction, summary};
use ackclock_study::run::{RunError, check, run_point};
use ackclock_study::runner::{Runner, RunnerError};
use ackclock_study::store::{Build, PointStore};
use ackclock_units::Duration;
use miette::Report;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::BufReader;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// Would the delay of a captured connection have predicted its losses?
#[pyfunction]
pub(crate) fn predict_capture(
    py: Python<'_>,
    path: &str,
    stream: Option<usize>,
    threshold: Option<&str>,
    samples: Option<usize>,
    until_low: bool,
) -> PyResult<String> {
    let mut options =
        Options { samples: samples.unwrap_or(Options::default().samples), ..Options::default() };
    if let Some(text) = threshold {
        let rtt: Duration =
            text.parse().map_err(|error| wrong(format!("threshold: {error}"), "write it as \"65 ms\""))?;
        options.threshold = Threshold::At(rtt);
    }
    let settle = if until_low { Settle::Low } else { Settle::RoundTrip };
    let bytes = std::fs::read(path).map_err(|error| {
        wrong(format!("{path} cannot be read: {error}"), "check the path and the spelling")
    })?;
    let found = detached(py, |_| {
        read_capture(&bytes, stream).map(|captured| predictions(&captured.recording, &options, settle))
    })?;
    found.map(|found| json!(found).to_string()).map_err(|problem| raised(Report::new(problem)))
}

/// Would the delay of a simulated flow have predicted its losses? `options` are values of `[predict]` as
/// JSON.
#[pyfunction]
pub(crate) fn predict_scenario(
    py: Python<'_>,
    scenario: &Scenario,
    options: Vec<(String, String)>,
) -> PyResult<String> {
    let mut document = scenario.document.clone();
    if !document.has("predict") {
        set(&mut document, "predict", "{}")?;
    }
    for (key, value) in options {
        set(&mut document, &format!("predict.{key}"), &value)?;
    }
    let sweep = Sweep::expand(document).map_err(raised)?;
    let [point] = &sweep.points[..] else {
        return Err(wrong(
            format!("the scenario has {} points, and one is wanted", sweep.points.len()),
            "leave out the sweep, or choose one of its values with set",
        ));
    };
    memory::check(check(&sweep.points, false).map_err(raised)?, 1)?;
    let result = detached(py, |stop| run_point(point, false, stop))?.map_err(|error| match error {
        RunError::Scenario(error) => raised(error),
        other => wrong(other, "try it again"),
    })?;
    Ok(json!(result.predictions).to_string())
}

/// The connections of a capture, in numbers, as JSON.
#[pyfunction]
pub(crate) fn trace(py: Python<'_>, path: &str, stream: Option<usize>) -> PyResult<String> {
    let file = File::open(path).map_err(|error| {
        wrong(format!("{path} cannot be read: {error}"), "check the path and the spelling")
    })?;
    let traced = detached(py, |_| {
        ackclock_study::trace::trace(BufReader::with_capacity(1 << 20, file), &mut |_, _, _, _| {})
    })?;
    let mut traced = traced.map_err(|problem| raised(Report::new(problem)))?;
    let count = traced.connections.len();
    if let Some(stream) = stream {
        traced.connections.retain(|connection| connection.number == stream);
        if traced.connections.is_empty() {
            let remedy = format!("the capture has {count} connections, from 0 on");
            return Err(wrong(format!("there is no connection {stream}"), &remedy));
        }
    }
    Ok(json!(traced).to_string())
}

/// What decides how points of published experiments run.
struct Simulation<'a> {
    threads: Option<usize>,
    store: Option<PointStore>,
    stop: &'a AtomicBool,
    /// The experiments whose claims get no more runs, because the memory does not allow them.
    cut_short: Mutex<BTreeSet<String>>,
}

impl Simulation<'_> {
    fn run(&self, points: &[Point]) -> Result<Vec<ackclock_scenario::results::PointResult>, Report> {
        let at_once = memory::at_once(self.threads, points.len());
        let runner = Runner {
            probes: false,
            threads: Some(at_once),
            stop: self.stop,
            store: self.store.as_ref(),
            progress: &|_, _| {},
        };
        runner.run(points, &NoObserver).map_err(|error| match error {
            RunnerError::Scenario(error) => error.into(),
            other => Report::msg(other),
        })
    }

    /// Runs a plan, and more seeds of what an undecided claim reads, and judges it.
    fn judge(&self, plan: &mut Plan<'_>, most: usize) -> Result<Vec<Reproduction>, Report> {
        let mut results = self.run(plan.points())?;
        if plan.replicate_drawn(&results, most)? {
            results.extend(self.run(&plan.points()[results.len()..])?);
        }
        let fits = |id: &str, points, need| {
            let fits = memory::check(need, memory::at_once(self.threads, points)).is_ok();
            if !fits {
                let mut cut_short = self.cut_short.lock().unwrap_or_else(PoisonError::into_inner);
                cut_short.insert(id.to_owned());
            }
            fits
        };
        plan.decide(results, most, |points| self.run(points), fits)
    }
}

/// Runs published experiments again, and judges their claims. The document is that of the command line.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    what: &str,
    seeds_max: usize,
    store: Option<&str>,
    threads: Option<usize>,
    build: &str,
) -> PyResult<String> {
    let found = detached(py, |stop| -> Result<(Value, BTreeSet<String>), Report> {
        let library = Library::built_in()?;
        let chosen = library.select(what)?;
        let store = store.map(|path| PointStore::open(path, &Build::of(build.as_bytes()))).transpose();
        let store = store.map_err(|error| Report::msg(format!("the store cannot be used: {error}")))?;
        let simulation = Simulation { threads, store, stop, cut_short: Mutex::default() };
        let mut reproductions = Vec::new();
        for (_, _, members) in library.families() {
            let members: Vec<_> =
                members.into_iter().filter(|member| chosen.iter().any(|it| it.id == member.id)).collect();
            if !members.is_empty() {
                let mut plan = Plan::new(&library, members)?;
                for mut reproduction in simulation.judge(&mut plan, seeds_max)? {
                    reproduction.results = Vec::new();
                    reproductions.push(reproduction);
                }
            }
        }
        let claims = reproductions.iter().flat_map(|reproduction| &reproduction.claims);
        let document = json!({
            "counts": ackclock_study::reproduce::Counts::of(claims),
            "summary": summary(&library, &reproductions),
            "build": build,
            "files": library.digest(&chosen)?,
            "experiments": reproductions,
        });
        Ok((document, simulation.cut_short.into_inner().unwrap_or_else(PoisonError::into_inner)))
    })?;
    let (document, cut_short) = found.map_err(raised)?;
    if !cut_short.is_empty() {
        let experiments = cut_short.into_iter().collect::<Vec<_>>().join(", ");
        let told = format!("claims stay undecided for want of memory for more runs: {experiments}");
        let told = CString::new(told).expect("no id has a zero");
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &told, 2)?;
    }
    Ok(document.to_string())
}
