//! From experiments to the points to run, and from results to verdicts. Equal points run once.

use super::check::check;
use super::format::Experiment;
use super::library::Library;
use super::verdict::{Reproduction, judge};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Point, ScenarioError, Sweep};
use std::collections::HashMap;

/// The points to run for some experiments.
pub struct Plan<'a> {
    experiments: Vec<&'a Experiment>,
    /// Per experiment and scenario: its points.
    sweeps: Vec<Vec<(String, Sweep)>>,
    /// The number of each distinct scenario among the points, by its text.
    numbers: HashMap<String, usize>,
    points: Vec<Point>,
}

fn key(point: &Point) -> String {
    point.scenario.to_json().to_string()
}

impl<'a> Plan<'a> {
    /// Builds all scenarios and checks all claims first, so that a mistake in the last one does not cost the
    /// whole run.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a scenario is not valid, or a claim cannot be evaluated.
    pub fn new(library: &Library, experiments: Vec<&'a Experiment>) -> Result<Plan<'a>, ScenarioError> {
        let mut plan = Plan { experiments, sweeps: Vec::new(), numbers: HashMap::new(), points: Vec::new() };
        for experiment in &plan.experiments {
            check(library, experiment)?;
            let sweeps = library.sweeps(experiment)?;
            for point in sweeps.iter().flat_map(|(_, sweep)| &sweep.points) {
                plan.numbers.entry(key(point)).or_insert_with(|| {
                    let (parameters, scenario) = (point.parameters.clone(), point.scenario.clone());
                    plan.points.push(Point { parameters, scenario });
                    plan.points.len() - 1
                });
            }
            plan.sweeps.push(sweeps);
        }
        Ok(plan)
    }

    /// The points to run.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The scenarios of each experiment, by name.
    pub fn sweeps(&self) -> impl Iterator<Item = (&'a Experiment, &[(String, Sweep)])> {
        self.experiments.iter().copied().zip(self.sweeps.iter().map(Vec::as_slice))
    }

    /// The numbers of the points of each experiment.
    pub fn numbers(&self) -> Vec<Vec<usize>> {
        let of = |sweeps: &[(String, Sweep)]| {
            let points = sweeps.iter().flat_map(|(_, sweep)| &sweep.points);
            points.map(|point| self.numbers[&key(point)]).collect()
        };
        self.sweeps.iter().map(|sweeps| of(sweeps)).collect()
    }

    /// Evaluates every claim over the results of the points, in their order.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a claim has no value.
    pub fn judge(&self, results: &[PointResult]) -> Result<Vec<Reproduction>, ScenarioError> {
        let each = self.experiments.iter().zip(&self.sweeps);
        each.map(|(experiment, sweeps)| {
            let sets = sweeps.iter().map(|(name, sweep)| (name.clone(), self.results(sweep, results)));
            judge(experiment, sets.collect())
        })
        .collect()
    }

    /// The results of one sweep. A shared result gets the axis names of this sweep.
    fn results(&self, sweep: &Sweep, results: &[PointResult]) -> Vec<PointResult> {
        let result = |point: &Point| {
            let mut result = results[self.numbers[&key(point)]].clone();
            result.parameters =
                point.parameters.iter().map(|(axis, value)| (axis.clone(), value.to_json())).collect();
            result
        };
        sweep.points.iter().map(result).collect()
    }
}
