//! Runs of all points of a scenario at once, and what came of them.

use crate::controllers::{Fault, brought};
use crate::error::{raised, wrong};
use crate::interrupt::detached;
use crate::memory;
use crate::pictures::{Picture, pictures};
use crate::rows::rows;
use crate::scenario::Scenario;
use crate::tables::{self, Axes, Batch, LISTS};
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_scenario::{Expansion, Point, Sweep};
use ackclock_sim::engine::NoObserver;
use ackclock_study::run::{RunError, check, judge_points, run_followed};
use ackclock_study::runner::{Runner, RunnerError};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::json;
use std::cell::RefCell;
use std::sync::Arc;

/// The results of all points of a scenario.
#[pyclass(frozen, module = "ackclock._native")]
pub(crate) struct Results {
    sweep: Sweep,
    axes: Axes,
    points: Vec<PointResult>,
    over_points: Vec<Expectation>,
}

/// Runs every point of a scenario. `probes`: what is seen over time is kept, too.
#[pyfunction]
#[pyo3(signature = (scenario, probes, threads, controllers))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    probes: bool,
    threads: Option<usize>,
    controllers: Vec<(String, Py<PyAny>)>,
) -> PyResult<Results> {
    let mut document = scenario.document.clone();
    let fault = Arc::new(Fault::default());
    let attached = !controllers.is_empty();
    document.bring(brought(py, controllers, &fault)?);
    let expansion = Expansion::of(document.clone()).map_err(raised)?;
    let axes = Axes::of(&expansion);
    let sweep = Sweep::expand(document).map_err(raised)?;
    let need = check(&sweep.points, probes).map_err(raised)?;
    let at_once = if attached { 1 } else { memory::at_once(threads, sweep.points.len()) };
    memory::check(need, at_once)?;
    if attached {
        let points = run_attached(py, &sweep.points, probes, &fault)?;
        let (points, over_points) = judge_points(&sweep.points, points);
        return Ok(Results { sweep, axes, points, over_points });
    }
    let points = detached(py, |stop| {
        let runner = Runner { probes, threads: Some(at_once), stop, store: None, progress: &|_, _| {} };
        runner.run(&sweep.points, &NoObserver)
    })?;
    let points = points.map_err(|error| match error {
        RunnerError::Scenario(error) => raised(error),
        other => wrong(other, "try it again, or in parts"),
    })?;
    let (points, over_points) = judge_points(&sweep.points, points);
    Ok(Results { sweep, axes, points, over_points })
}

/// Runs points one after the other, with the interpreter's lock: their controllers are in Python.
fn run_attached(py: Python<'_>, points: &[Point], probes: bool, fault: &Fault) -> PyResult<Vec<PointResult>> {
    let run = |point: &Point| {
        let signal = RefCell::new(None);
        let ran = run_followed(point, probes, None, &|_| {
            *signal.borrow_mut() = py.check_signals().err();
            signal.borrow().is_none() && !fault.happened()
        });
        match (fault.take().or(signal.into_inner()), ran) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(RunError::Scenario(error))) => Err(raised(error)),
            (None, Err(other)) => Err(wrong(other, "try it again")),
        }
    };
    points.iter().map(run).collect()
}

#[pymethods]
impl Results {
    /// The table of this name as an Arrow record batch.
    fn table(&self, name: &str) -> PyResult<Batch> {
        let numbers: Vec<u64> = (0..self.points.len() as u64).collect();
        let batch = match name {
            "series" => tables::series(&self.points, &self.axes)?,
            "link_series" => tables::link_series(&self.points, &self.axes)?,
            "variables" => tables::variables(&self.points, &self.axes)?,
            "timing" => tables::timing(&self.points, &self.axes)?,
            name if name == "points" || LISTS.contains(&name) => {
                let points: Vec<_> = self.points.iter().map(|point| (String::new(), point.clone())).collect();
                tables::table(name, &rows(&points)?, &self.axes, &numbers)?
            }
            other => return Err(PyKeyError::new_err(other.to_owned())),
        };
        Ok(Batch(batch))
    }

    /// The document that the command line prints with `--json`.
    fn to_json(&self) -> String {
        let scenario = self.sweep.points.first().map(|point| point.scenario.to_json());
        let mut document = json!({"scenario": scenario, "points": self.points});
        if !self.over_points.is_empty() {
            document["expectations"] = json!(self.over_points);
        }
        document.to_string()
    }

    /// The pictures of the report: name, title, SVG.
    fn pictures(&self, py: Python<'_>) -> Vec<Picture> {
        py.detach(|| pictures(&self.sweep, &self.points))
    }

    /// True if everything that was expected holds.
    #[getter]
    fn holds(&self) -> bool {
        let at_points = self.points.iter().flat_map(|point| &point.expectations);
        at_points.chain(&self.over_points).all(|expectation| expectation.holds)
    }

    /// What makes the results different from what the scenario seems to ask for.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        for warning in self.points.iter().flat_map(|point| &point.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        warnings
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> String {
        self.sweep.points.first().map_or_else(String::new, |point| point.scenario.name.clone())
    }

    /// The names of the axes.
    #[getter]
    fn axes(&self) -> Vec<String> {
        self.sweep.axes.clone()
    }

    fn __len__(&self) -> usize {
        self.points.len()
    }
}
