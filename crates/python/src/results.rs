//! Runs of all points of a scenario at once, and what came of them.

use crate::error::{raised, wrong};
use crate::interrupt::detached;
use crate::memory;
use crate::pictures::{Picture, pictures};
use crate::rows::rows;
use crate::scenario::Scenario;
use crate::tables::{self, Axes, Batch, LISTS};
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_scenario::{Expansion, Sweep};
use ackclock_sim::engine::NoObserver;
use ackclock_study::run::{check, judge_points};
use ackclock_study::runner::{Runner, RunnerError};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::json;

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
#[pyo3(signature = (scenario, probes, threads))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    probes: bool,
    threads: Option<usize>,
) -> PyResult<Results> {
    let expansion = Expansion::of(scenario.document.clone()).map_err(raised)?;
    let axes = Axes::of(&expansion);
    let sweep = Sweep::expand(scenario.document.clone()).map_err(raised)?;
    let need = check(&sweep.points, probes).map_err(raised)?;
    let at_once = memory::at_once(threads, sweep.points.len());
    memory::check(need, at_once)?;
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
