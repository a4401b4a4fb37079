//! Runs are spent where they decide. A point in which something is drawn at random runs with several seeds. A
//! claim that is far from its line needs no more of them. Of an undecided claim, the points that add most to
//! its error for their price get twice as many, until it is decided, or they have all that are allowed, or
//! what is left would hardly decide it.

use super::plan::{Plan, Planned};
use super::verdict::{Case, Reproduction, Verdict};
use crate::expect::{Reading, UNDECIDED_WITHIN};
use crate::run::{self, MemoryEstimate};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Point, ScenarioError};
use rayon::prelude::*;
use serde_json::{Map, Value as Json};

/// If the file says nothing of seeds, a point in which something is drawn runs at least so often. All its
/// flows together deliver so many segments in a run, which takes a fraction of a second, a second or two, or
/// more. A number of segments instead of a time, so that the number of runs does not depend on the machine.
fn least(segments: u64) -> usize {
    match segments {
        ..=500_000 => 20,
        500_001..=5_000_000 => 5,
        // Three decide beyond 4.5 standard errors by Student's t, which many claims are. Two would decide
        // beyond 14.
        _ => 3,
    }
}

/// The number of runs that are allowed is meant for points that deliver so many segments, which takes some
/// ten seconds. A point that delivers a tenth of them may run ten times as often.
const MEANT_FOR_SEGMENTS: f64 = 40e6;
/// It may run so many times as often at most, and so many times at least, however many segments it delivers.
const TIMES: std::ops::RangeInclusive<f64> = 0.25..=1000.0;

/// The number of runs that are allowed for a point that delivers so many segments.
fn allowed(most: usize, segments: u64) -> usize {
    let times = (MEANT_FOR_SEGMENTS / segments.max(1) as f64).clamp(*TIMES.start(), *TIMES.end());
    ((most as f64 * times) as usize).max(1)
}

/// A claim gets no more runs if those that are left would decide it on the nearer side of its line in fewer
/// than one of a hundred cases: beyond so many standard deviations of a normal distribution. On both sides
/// together that is fewer than one of fifty.
const HARDLY: f64 = 2.33;

/// True if a case that is so many standard errors from its line would hardly be decided by runs with which
/// its variance `falls` so many times: not even if they err so far as one in a hundred does. It is a tie, or
/// its distance is too small for these runs. Stochastic curtailment (Lan, Simon and Halperin 1982), at the
/// distance that the runs so far show.
fn hardly_decided(errors: f64, falls: f64) -> bool {
    // Of the final distance, in its own standard errors, the further runs determine a part with a variance of
    // 1 - 1 / falls.
    errors.abs() * falls.sqrt() + HARDLY * (1.0 - 1.0 / falls).max(0.0).sqrt() < UNDECIDED_WITHIN
}

/// Twice as many runs of the points of an undecided case where a second of runs helps most, as far as each
/// may have them. None if all that they may have would hardly decide it.
pub(super) fn twice(case: &Case, most: usize) -> Vec<(&Reading, usize)> {
    let variances = case.line.as_ref().map_or(&[][..], |line| &line.variances);
    let may_have = |of: &Reading| match of.drawn && !of.chosen {
        true => allowed(most, of.segments).max(of.seeds.len()),
        false => of.seeds.len(),
    };
    // With one run more than n, what a point adds to the variance falls by one part in n. One says nothing.
    let gain = |number: usize, of: &Reading| match variances.get(number) {
        Some(variance) if of.seeds.len() > 1 => {
            variance / (of.seeds.len() as f64 * of.segments.max(1) as f64)
        }
        _ => f64::INFINITY,
    };
    let readings = case.readings.iter().enumerate();
    let growing = readings.filter(|(_, of)| of.seeds.len() < may_have(of));
    let growing: Vec<_> = growing.map(|(number, of)| (gain(number, of), of)).collect();
    let most_gain = growing.iter().map(|&(gain, _)| gain).fold(0.0, f64::max);
    let known = most_gain.is_finite() && case.line.is_some();
    // What is left of the variance if each point has all runs that it may have. Where no run moves the line
    // it is 0 of 0, which decides nothing.
    let left = |(variance, of): (&f64, &Reading)| variance * of.seeds.len() as f64 / may_have(of) as f64;
    let falls = variances.iter().sum::<f64>() / variances.iter().zip(&case.readings).map(left).sum::<f64>();
    if known && case.standard_errors.is_some_and(|errors| hardly_decided(errors, falls)) {
        return Vec::new();
    }
    // With twice as many runs the gain is a quarter of what it was.
    let best = growing.into_iter().filter(|&(gain, _)| gain >= most_gain / 4.0);
    best.map(|(_, of)| (of, may_have(of).min(2 * of.seeds.len()))).collect()
}

impl Plan<'_> {
    /// Adds runs to the points in which something was drawn, where the file does not say which seeds run.
    /// `results` are those of all points so far, `most` is the largest number of runs of a point. False if
    /// there are none to add.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a seed would be too large.
    pub fn replicate_drawn(&mut self, results: &[PointResult], most: usize) -> Result<bool, ScenarioError> {
        let mut wanted = Vec::new();
        for (experiment, scenarios) in self.scenarios.iter().enumerate() {
            for (scenario, planned) in scenarios.iter().enumerate().filter(|(_, planned)| !planned.says_seeds)
            {
                for result in planned.results(results).into_iter().filter(|result| result.drawn) {
                    let runs = least(result.delivered_segments).min(most);
                    wanted.push((experiment, scenario, result.parameters, runs));
                }
            }
        }
        self.replicate(wanted)
    }

    /// Judges all claims by `results`, those of the points so far. Undecided ones get more runs of the points
    /// that they hang on, until they are decided or have the most that are allowed: `most` runs of a point
    /// that takes some ten seconds, more of a cheaper one, fewer of a dearer one. How many would decide a
    /// claim is not asked: few runs do not know it.
    ///
    /// `more` runs points. Before it does, `fits` is asked whether there is so much memory for so many points
    /// of the experiment with this id. If there is not, its claims stay undecided, and others go on.
    ///
    /// # Errors
    ///
    /// Those of `more`, and [`ScenarioError`] if a seed would be too large.
    pub fn decide<E: From<ScenarioError>>(
        &mut self,
        mut results: Vec<PointResult>,
        most: usize,
        more: impl Fn(&[Point]) -> Result<Vec<PointResult>, E>,
        fits: impl Fn(&str, usize, MemoryEstimate) -> bool,
    ) -> Result<Vec<Reproduction>, E> {
        let mut kept = run::check(self.points(), false)?.kept;
        let mut reproductions = self.judge(&results);
        let mut growing: Vec<usize> = (0..self.experiments()).collect();
        loop {
            let mut added = 0.0;
            for number in std::mem::take(&mut growing) {
                let (before, from) = (self.clone(), self.points().len());
                if !self.replicate_undecided(number, &reproductions[number], most)? {
                    continue;
                }
                let points = &self.points()[from..];
                let need = run::check(points, false)?;
                // Whoever judges results copies them: all of them, if all are of one experiment.
                let all = MemoryEstimate { kept: kept + 2.0 * (added + need.kept), ..need };
                if fits(&reproductions[number].id, points.len(), all) {
                    added += need.kept;
                    growing.push(number);
                } else {
                    *self = before;
                }
            }
            if growing.is_empty() {
                return Ok(reproductions);
            }
            kept += added;
            results.extend(more(&self.points()[results.len()..])?);
            let judged = growing.par_iter().map(|&number| self.judge_one(number, &results));
            for (&number, judged) in growing.iter().zip(judged.collect::<Vec<_>>()) {
                reproductions[number] = judged;
            }
        }
    }

    /// Adds as many runs again to the points of an experiment that its undecided claims hang on. False if all
    /// of them have the most.
    pub(super) fn replicate_undecided(
        &mut self,
        experiment: usize,
        reproduction: &Reproduction,
        most: usize,
    ) -> Result<bool, ScenarioError> {
        let claims = reproduction.claims.iter().filter(|claim| claim.found == Verdict::Undecided);
        let cases = claims.flat_map(|claim| &claim.cases);
        let cases = cases.filter(|case| case.verdict == Verdict::Undecided);
        let mut wanted = Vec::new();
        for (reading, runs) in cases.flat_map(|case| twice(case, most)) {
            let scenarios = &self.scenarios[experiment];
            let scenario = scenarios.iter().position(|planned| planned.name == reading.scenario);
            wanted.extend(scenario.map(|it| (experiment, it, reading.parameters.clone(), runs)));
        }
        self.replicate(wanted)
    }

    /// Brings points to a number of runs: (experiment, scenario, values of the axes, runs). False if all of
    /// them have so many.
    fn replicate(
        &mut self,
        wanted: Vec<(usize, usize, Map<String, Json>, usize)>,
    ) -> Result<bool, ScenarioError> {
        let mut grown = false;
        for (experiment, scenario, parameters, runs) in wanted {
            let more = self.scenarios[experiment][scenario].missing(&parameters, runs)?;
            if let Some((at, points)) = more {
                // Another experiment may have them, too.
                let numbers: Vec<usize> = points.iter().map(|point| self.number(point)).collect();
                self.scenarios[experiment][scenario].insert(at, points, numbers);
                grown = true;
            }
        }
        Ok(grown)
    }
}

impl Planned {
    /// The runs of the point with these values, with the seeds that follow, that are missing until there are
    /// `runs`, and where they belong. A sweep over seeds gets none.
    fn missing(
        &self,
        parameters: &Map<String, Json>,
        runs: usize,
    ) -> Result<Option<(usize, Vec<Point>)>, ScenarioError> {
        let same = |point: &Point| {
            point.parameters.len() == parameters.len()
                && point.parameters.iter().all(|(axis, value)| parameters.get(axis) == Some(&value.to_json()))
        };
        let places: Vec<usize> =
            (0..self.sweep.points.len()).filter(|&at| same(&self.sweep.points[at])).collect();
        let Some(&last) = places.last().filter(|_| !parameters.contains_key("seed")) else {
            return Ok(None);
        };
        let greatest = places.iter().map(|&at| self.sweep.points[at].scenario.seed).max().unwrap_or(0);
        let missing = runs.saturating_sub(places.len()) as u64;
        let added = (1..=missing).map(|more| self.sweep.points[last].with_seed(greatest + more));
        let added: Vec<Point> = added.collect::<Result<_, _>>()?;
        Ok((!added.is_empty()).then_some((last + 1, added)))
    }

    /// Adds points, which have these numbers in the plan.
    fn insert(&mut self, at: usize, points: Vec<Point>, numbers: Vec<usize>) {
        self.asked.splice(at..at, numbers.iter().map(|_| false));
        self.numbers.splice(at..at, numbers);
        self.sweep.points.splice(at..at, points);
    }
}
