//! How true an expression is over all runs, and how far that hangs on chance.
//!
//! The expression is divided into comparisons ([`super::structure`]). The two sides of each are evaluated
//! over all runs, and over all runs but one, for each run in turn. From these the jackknife gives the
//! standard error of their difference, whatever the two sides are computed from. Runs with equal seeds are
//! left out of all scenarios and points at once, because they have random numbers in common.
//!
//! An expression may read many points, and be undecided because of a few of them. Which ones, the jackknife
//! tells if parts of one point's runs are left out, and those of all other points stay.
//!
//! `near` has two lines, at either end of its tolerance. `rises` and `falls` have one between each entry and
//! the next. `==` and `!=` ask for the same value and not for a mean: they have no error. Other functions
//! that are true or false have no line: if one changes without one of the runs, it is undecided.

use super::call::wrong;
use super::chance::{Samples, jackknife};
use super::limits;
use super::structure::{Comparison, Structure, structure};
use super::trace::{Reading, Runs};
use super::truth::{Line, Truth};
use super::values::{from_json, number};
use super::{Definition, ExpectError, Language, Names};
use ackclock_scenario::results::Evidence;
use minijinja::{Error, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Into how many parts the runs of a point are divided to see what it adds to an error.
const PARTS: usize = 10;
/// The longest comparison that is shown whole, letters.
const SHOWN: usize = 120;

/// How true an expression is, with what it was computed from.
#[derive(Clone, Debug)]
pub struct Decision {
    /// How true it is.
    pub truth: Truth,
    /// The numbers behind it.
    pub seen: Vec<Evidence>,
    /// The points that it reads.
    pub readings: Vec<Reading>,
}

/// The names of an expression, with all runs and without each of them.
struct Scope {
    names: Vec<BTreeMap<String, Value>>,
}

/// Evaluates an expression with all runs and without each of them.
struct Evaluation<'a> {
    language: &'a Language,
    /// The runs of the points that are read. Each seed is left out in turn.
    samples: &'a Samples,
    /// The points of which one part of the runs is left out in turn, after that.
    parted: &'a [Arc<Reading>],
}

impl Language {
    /// How true the expression is over all runs.
    ///
    /// # Errors
    ///
    /// [`ExpectError`] if the expression has no value, or is neither true nor false.
    pub fn decide(&self, expression: &str, names: &Names) -> Result<Decision, ExpectError> {
        let (holds, seen) =
            self.judge(expression, names).inspect_err(|_| drop(self.trace.take_readings()))?;
        let mut bound: BTreeMap<String, Value> =
            names.iter().map(|(name, value)| (name.clone(), from_json(value))).collect();
        bound.insert("published".to_owned(), self.published.clone());
        // First with all runs only, because an evaluation as a whole stops at what decides, and reads less.
        let whole = Evaluation { language: self, samples: &Samples::default(), parted: &[] };
        drop(whole.truth(expression, &Scope { names: vec![bound.clone()] }, 0));
        let readings = self.trace.take_readings();
        // What has no value does not hold, with whatever runs.
        if seen.iter().any(Evidence::has_no_value) {
            return Ok(Decision { truth: Truth::exact(holds), seen, readings });
        }
        let samples = Samples::of(&readings);
        let evaluate = |parted: &[Arc<Reading>]| {
            let evaluation = Evaluation { language: self, samples: &samples, parted };
            let count = 1 + samples.seeds.len() + PARTS * parted.len();
            let scope = Scope { names: vec![bound.clone(); count] };
            let divided = evaluation.truth(expression, &scope, 0).ok().filter(|truth| truth.holds == holds);
            divided.or_else(|| evaluation.opaque(expression, &scope).ok())
        };
        let mut truth = evaluate(&[]).unwrap_or_else(|| Truth::unsteady(holds));
        let undecided = truth.is_undecided();
        if let Some(line) = truth.line.as_mut().filter(|_| undecided) {
            let parted: Vec<_> = readings.iter().cloned().map(Arc::new).collect();
            line.variances = evaluate(&parted).and_then(|it| it.line).map_or(Vec::new(), |it| it.variances);
        }
        Ok(Decision { truth, seen, readings })
    }
}

impl Evaluation<'_> {
    /// How true this expression is.
    fn truth(&self, expression: &str, scope: &Scope, depth: usize) -> Result<Truth, Error> {
        let part = |text: &str| self.truth(text, scope, depth);
        match structure(expression) {
            Structure::And(parts) => folded(parts, part, Truth::and, false),
            Structure::Or(parts) => folded(parts, part, Truth::or, true),
            Structure::Not(inside) => Ok(part(inside)?.not()),
            Structure::Choice { condition, then, otherwise } => {
                let condition = part(condition)?;
                if !condition.is_undecided() {
                    return part(if condition.holds { then } else { otherwise });
                }
                // Whichever it is, it holds if both do.
                let (then, otherwise) = (part(then)?, part(otherwise)?);
                let both = then.clone().and(otherwise.clone());
                Ok(condition.clone().and(then).or(condition.not().and(otherwise)).or(both))
            }
            Structure::Compared(left, comparison, right) => {
                let sides = [self.values(left, scope)?, self.values(right, scope)?];
                match self.compared(expression, &sides, comparison) {
                    Some(truth) => Ok(truth),
                    None => self.opaque(expression, scope),
                }
            }
            Structure::Call(name, arguments) if depth < limits::MAX_DEPTH => {
                self.call(expression, (name, &arguments), scope, depth)
            }
            Structure::Call(..) | Structure::Other => self.opaque(expression, scope),
        }
    }

    /// A call of a function that is true or false.
    fn call(
        &self,
        expression: &str,
        (name, arguments): (&str, &[&str]),
        scope: &Scope,
        depth: usize,
    ) -> Result<Truth, Error> {
        let definition = self.language.definitions.iter().find(|definition| definition.name == name);
        let lines = match (name, arguments, definition) {
            (_, _, Some(definition)) => return self.defined(expression, definition, arguments, scope, depth),
            ("near", [_, _, _], _) => self.near(expression, arguments, scope)?,
            ("rises", [list], _) => self.steps(expression, (list, "0"), scope, 1.0)?,
            ("rises", [list, slack], _) => self.steps(expression, (list, slack), scope, 1.0)?,
            ("falls", [list], _) => self.steps(expression, (list, "0"), scope, -1.0)?,
            ("falls", [list, slack], _) => self.steps(expression, (list, slack), scope, -1.0)?,
            _ => None,
        };
        match lines {
            Some(truth) => Ok(truth),
            None => self.opaque(expression, scope),
        }
    }

    /// A call of a function that is written in the language.
    fn defined(
        &self,
        expression: &str,
        definition: &Definition,
        arguments: &[&str],
        scope: &Scope,
        depth: usize,
    ) -> Result<Truth, Error> {
        let given = arguments.iter().map(|text| self.values(text, scope)).collect::<Result<Vec<_>, _>>()?;
        let lists = given.iter().flatten().any(|value| value.kind() == minijinja::value::ValueKind::Seq);
        if lists || structure(&definition.is) == Structure::Other || given.len() != definition.of.len() {
            return self.opaque(expression, scope);
        }
        let bound = |at: usize| {
            let values = given.iter().map(|values| values[at].clone());
            let mut names: BTreeMap<_, _> = definition.of.iter().cloned().zip(values).collect();
            names.insert("published".to_owned(), self.language.published.clone());
            names
        };
        let inside = Scope { names: (0..scope.names.len()).map(bound).collect() };
        self.truth(&definition.is, &inside, depth + 1)
    }

    /// `near(value, target, tolerance)`.
    fn near(&self, expression: &str, arguments: &[&str], scope: &Scope) -> Result<Option<Truth>, Error> {
        let sides = arguments.iter().map(|text| self.values(text, scope)).collect::<Result<Vec<_>, _>>()?;
        let numbers =
            |at: usize| Some([number(&sides[0][at])?, number(&sides[1][at])?, number(&sides[2][at])?]);
        let all: Option<Vec<_>> = (0..scope.names.len()).map(numbers).collect();
        Ok(all.map(|all| {
            let line = |margin: fn(&[f64; 3]) -> f64| {
                let scale = all[0].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
                self.line(expression, &all.iter().map(margin).collect::<Vec<_>>(), scale, true)
            };
            line(|[value, target, tolerance]| tolerance - (target - value))
                .and(line(|[value, target, tolerance]| tolerance - (value - target)))
        }))
    }

    /// `rises(list, slack)` and, with a `way` of -1, `falls(list, slack)`: a line for each step.
    fn steps(
        &self,
        expression: &str,
        (list, slack): (&str, &str),
        scope: &Scope,
        way: f64,
    ) -> Result<Option<Truth>, Error> {
        let (lists, slacks) = (self.values(list, scope)?, self.values(slack, scope)?);
        let numbers =
            |list: &Value| list.try_iter().ok()?.map(|value| number(&value)).collect::<Option<Vec<_>>>();
        let Some(lists) = lists.iter().map(numbers).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Some(slacks) = slacks.iter().map(number).collect::<Option<Vec<_>>>() else { return Ok(None) };
        if lists[0].len() < 2 || lists.iter().any(|list| list.len() != lists[0].len()) {
            return Ok(None);
        }
        let step = |at: usize| {
            let margin =
                |(list, slack): (&Vec<f64>, &f64)| way * (list[at + 1] - list[at] * (1.0 - way * slack));
            let margins: Vec<f64> = lists.iter().zip(&slacks).map(margin).collect();
            self.line(expression, &margins, lists[0][at].abs().max(lists[0][at + 1].abs()), true)
        };
        Ok((0..lists[0].len() - 1).map(step).reduce(Truth::and))
    }

    /// Two sides, compared. `None` if they are not numbers.
    fn compared(&self, expression: &str, sides: &[Vec<Value>; 2], comparison: Comparison) -> Option<Truth> {
        let numbers = |side: &Vec<Value>| side.iter().map(number).collect::<Option<Vec<_>>>();
        let (left, right) = (numbers(&sides[0])?, numbers(&sides[1])?);
        let scale = left[0].abs().max(right[0].abs());
        let differences =
            |sign: f64| left.iter().zip(&right).map(|(a, b)| sign * (a - b)).collect::<Vec<_>>();
        Some(match comparison {
            Comparison::Above { or_equal } => self.line(expression, &differences(1.0), scale, or_equal),
            Comparison::Below { or_equal } => self.line(expression, &differences(-1.0), scale, or_equal),
            Comparison::Equal { negated } => {
                let distance = (left[0] - right[0]).abs();
                let (holds, margin) =
                    if negated { (left[0] != right[0], distance) } else { (left[0] == right[0], -distance) };
                Truth::of(holds, Line::new(shown(expression), margin, None, scale))
            }
        })
    }

    /// A comparison with these distances from its line: with all runs, without each of them, and without
    /// parts of each point's.
    fn line(&self, comparison: &str, margins: &[f64], scale: f64, or_equal: bool) -> Truth {
        let right = |margin: f64| margin > 0.0 || or_equal && margin == 0.0;
        let (margin, (without, parts)) = (margins[0], margins[1..].split_at(self.samples.seeds.len()));
        let holds = right(margin);
        if !margin.is_finite() || without.iter().any(|margin| !margin.is_finite()) {
            let steady = without.iter().all(|&margin| right(margin) == holds);
            return if steady { Truth::exact(holds) } else { Truth::unsteady(holds) };
        }
        let deviation = self.samples.deviation(margin, without, scale);
        let variances = parts.chunks(PARTS).zip(self.parted).map(|(margins, reading)| {
            let parts = PARTS.min(reading.seeds.len());
            jackknife(&margins[..parts], parts, scale).powi(2)
        });
        let line = Line::new(shown(comparison), margin, deviation, scale);
        Truth::of(holds, Line { variances: variances.collect(), ..line })
    }

    /// Something that is true or false, without a line.
    fn opaque(&self, expression: &str, scope: &Scope) -> Result<Truth, Error> {
        let values = self.values(expression, scope)?;
        let first = bool::try_from(values[0].clone()).map_err(|_| wrong("it is neither true nor false"))?;
        let mut all = values[..=self.samples.seeds.len()].iter();
        let steady = all.all(|value| bool::try_from(value.clone()).is_ok_and(|it| it == first));
        Ok(if steady { Truth::exact(first) } else { Truth::unsteady(first) })
    }

    /// The value of an expression with all runs, and without each of them.
    fn values(&self, expression: &str, scope: &Scope) -> Result<Vec<Value>, Error> {
        let Language { env, trace, .. } = self.language;
        let compiled = env.compile_expression(expression)?;
        let parts = |of: &Arc<Reading>| {
            let (all, of) = (PARTS.min(of.seeds.len()), of.clone());
            (0..PARTS).map(move |part| Runs::WithoutPart(part, all, of.clone()))
        };
        let without = self.samples.seeds.iter().copied().map(Runs::Without);
        let runs = std::iter::once(Runs::Again).chain(without).chain(self.parted.iter().flat_map(parts));
        runs.zip(&scope.names).map(|(runs, names)| trace.over(runs, || compiled.eval(names))).collect()
    }
}

/// All parts together. A part without a value does not count where the others decide, as if they had been
/// evaluated in order: `at` is what decides.
fn folded(
    parts: Vec<&str>,
    truth: impl Fn(&str) -> Result<Truth, Error>,
    fold: fn(Truth, Truth) -> Truth,
    at: bool,
) -> Result<Truth, Error> {
    let mut all: Option<Truth> = None;
    for part in parts {
        all = Some(match (all, truth(part)) {
            (None, first) => first?,
            (Some(before), Ok(next)) => fold(before, next),
            (Some(before), Err(_)) if before.holds == at => before,
            (Some(_), Err(error)) => return Err(error),
        });
    }
    all.ok_or_else(|| wrong("there is nothing to combine"))
}

/// An expression, cut if it is long.
fn shown(expression: &str) -> String {
    let text = expression.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
