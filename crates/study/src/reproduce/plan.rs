//! From experiments to the points to run, and from results to verdicts. Equal points run once.

use super::check::check;
use super::format::Experiment;
use super::library::Library;
use super::verdict::{Reproduction, judge};
use crate::store::digest_of;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Point, ScenarioError, Sweep};
use rayon::prelude::*;
use std::collections::HashMap;

/// The points to run for some experiments.
#[derive(Clone)]
pub struct Plan<'a> {
    experiments: Vec<&'a Experiment>,
    /// Per experiment: its scenarios.
    pub(super) scenarios: Vec<Vec<Planned>>,
    /// The number of each distinct scenario among the points, by a digest of its text.
    numbers: HashMap<String, usize>,
    points: Vec<Point>,
}

/// A scenario of an experiment.
#[derive(Clone)]
pub struct Planned {
    /// The name, empty if there is only one.
    pub name: String,
    /// Its points, those that were added as well.
    pub sweep: Sweep,
    /// Per point: true if the file asks for it, false for an added run.
    pub asked: Vec<bool>,
    /// Per point: its number among the points of the plan.
    pub(super) numbers: Vec<usize>,
    /// True if the file says which seeds run.
    pub(super) says_seeds: bool,
}

fn key(point: &Point) -> String {
    digest_of(point.scenario.to_json().to_string().as_bytes())
}

impl<'a> Plan<'a> {
    /// Builds all scenarios and checks all claims first, so that a mistake in the last one does not cost the
    /// whole run.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a scenario is not valid, or a claim cannot be evaluated.
    pub fn new(library: &Library, experiments: Vec<&'a Experiment>) -> Result<Plan<'a>, ScenarioError> {
        let mut plan = Plan {
            experiments: experiments.clone(),
            scenarios: Vec::new(),
            numbers: HashMap::new(),
            points: Vec::new(),
        };
        for experiment in experiments {
            check(library, experiment)?;
            let mut scenarios = Vec::new();
            for ((name, sweep), says_seeds) in
                library.sweeps(experiment)?.into_iter().zip(library.says_seeds(experiment)?)
            {
                let asked = vec![true; sweep.points.len()];
                let numbers = sweep.points.iter().map(|point| plan.number(point)).collect();
                scenarios.push(Planned { name, sweep, asked, numbers, says_seeds });
            }
            plan.scenarios.push(scenarios);
        }
        Ok(plan)
    }

    /// The number of experiments.
    pub fn experiments(&self) -> usize {
        self.experiments.len()
    }

    /// The first half of the experiments, and the second one, as far as they have any: whoever has too little
    /// memory for all of them may have enough for half of them.
    ///
    /// # Errors
    ///
    /// As [`Plan::new`].
    pub fn halves(&self, library: &Library) -> Result<Vec<Plan<'a>>, ScenarioError> {
        let (first, second) = self.experiments.split_at(self.experiments.len() / 2);
        let halves = [first, second].into_iter().filter(|half| !half.is_empty());
        halves.map(|half| Plan::new(library, half.to_vec())).collect()
    }

    /// The points to run.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The scenarios of each experiment.
    pub fn scenarios(&self) -> impl Iterator<Item = (&'a Experiment, &[Planned])> {
        self.experiments.iter().copied().zip(self.scenarios.iter().map(Vec::as_slice))
    }

    /// The numbers of the points of each experiment.
    pub fn numbers(&self) -> Vec<Vec<usize>> {
        let of = |scenarios: &Vec<Planned>| scenarios.iter().flat_map(|it| &it.numbers).copied().collect();
        self.scenarios.iter().map(of).collect()
    }

    /// The number of this point among those to run, which it is one of from now on.
    pub(super) fn number(&mut self, point: &Point) -> usize {
        let points = &mut self.points;
        *self.numbers.entry(key(point)).or_insert_with(|| {
            points.push(point.clone());
            points.len() - 1
        })
    }

    /// Evaluates every claim over the results of the points, in their order.
    pub fn judge(&self, results: &[PointResult]) -> Vec<Reproduction> {
        (0..self.experiments.len()).into_par_iter().map(|number| self.judge_one(number, results)).collect()
    }

    /// The same for one experiment, by its number.
    pub fn judge_one(&self, number: usize, results: &[PointResult]) -> Reproduction {
        let sets = self.scenarios[number].iter();
        let sets = sets.map(|planned| (planned.name.clone(), planned.results(results)));
        judge(self.experiments[number], sets.collect())
    }
}

impl Planned {
    /// The results of its points. One that is shared gets the names of this sweep's axes.
    pub(super) fn results(&self, results: &[PointResult]) -> Vec<PointResult> {
        let result = |(point, &number): (&Point, &usize)| {
            let mut result = results[number].clone();
            result.parameters =
                point.parameters.iter().map(|(axis, value)| (axis.clone(), value.to_json())).collect();
            result
        };
        self.sweep.points.iter().zip(&self.numbers).map(result).collect()
    }
}
