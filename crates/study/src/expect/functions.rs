//! Functions that look into results: how they are added, and what several of them need.

use super::call::{Answer, Arguments, add, refused, wrong};
use super::select::{View, select, written};
use super::trace::{Reading, Runs, Trace};
use super::values::number;
use ackclock_scenario::results::{FlowResult, PointResult, Spread, mean};
use ackclock_scenario::suggest;
use minijinja::{Environment, Error, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The registry to which functions are added.
pub(super) struct FunctionRegistry<'a> {
    pub(super) env: &'a mut Environment<'static>,
    pub(super) view: &'a View,
    pub(super) trace: &'a Trace,
}

impl FunctionRegistry<'_> {
    /// Adds a function of (point, arguments), applied to the points that the keywords select. `written` is
    /// its signature: `name(argument, [optional argument], ...)`.
    pub(super) fn add(&mut self, written: &'static str, f: fn(&PointResult, &Arguments) -> Answer) {
        let (view, trace) = (self.view.clone(), self.trace.clone());
        let known = Known::default();
        let name = written.split('(').next().unwrap_or(written);
        add(self.env, name, move |arguments| {
            arguments.no_more_than(written)?;
            let mut rest = arguments.clone();
            let over = rest.take("seeds");
            let key = format!("{:?} {:?}", rest.given, rest.named);
            let called = known.or_else(key, || {
                let (reading, points) = selected(&view, &mut rest)?;
                trace.read(|| reading.clone());
                let values = points.iter().map(|point| f(point, &rest)).collect::<Result<_, _>>()?;
                Ok(Called { reading, values })
            })?;
            trace.read(|| called.reading.clone());
            let values = called.over(&trace.runs());
            if values.is_empty() {
                return Err(wrong("there is no such seed"));
            }
            let value = over_seeds(&values, over.as_ref())?;
            if trace.runs() == Runs::All {
                let std = (values.len() > 1 && over.is_none()).then(|| Spread::of(&values).std);
                trace.note(arguments.shown(name), &value, std);
            }
            Ok(value)
        });
    }
}

/// What a call reads, and its value in each run, in the order of the seeds that were read.
struct Called {
    reading: Reading,
    values: Vec<f64>,
}

impl Called {
    /// The values of the runs that functions see.
    fn over(&self, runs: &Runs) -> Cow<'_, [f64]> {
        let of = self.values.len();
        match runs {
            Runs::All | Runs::Again => Cow::Borrowed(&self.values),
            // Of n runs each is left out in turn, at every call: n^2 values are copied.
            Runs::Without(left_out) if of > 1 => {
                match self.reading.seeds.iter().position(|seed| seed == left_out) {
                    Some(at) => [&self.values[..at], &self.values[at + 1..]].concat().into(),
                    None => Cow::Borrowed(&self.values),
                }
            }
            _ => {
                let all = self.values.iter().enumerate();
                all.filter(|&(at, _)| runs.see(at, &self.reading)).map(|(_, &value)| value).collect()
            }
        }
    }
}

/// The calls of a function so far, by their arguments. Results do not change, and without one run after the
/// other the same values are needed again and again.
#[derive(Clone, Default)]
struct Known(Arc<Mutex<HashMap<String, Arc<Called>>>>);

impl Known {
    fn or_else(
        &self,
        arguments: String,
        call: impl FnOnce() -> Result<Called, Error>,
    ) -> Result<Arc<Called>, Error> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&arguments) {
            return Ok(known.clone());
        }
        let called = Arc::new(call()?);
        lock().insert(arguments, called.clone());
        Ok(called)
    }
}

/// The points that the keywords of a call select, which are taken out of it. They differ in their seed only.
fn selected<'a>(view: &'a View, call: &mut Arguments) -> Result<(Reading, Vec<&'a PointResult>), Error> {
    let scenario = call.take("in").map(|name| name.to_string());
    let seed = call.take("seed");
    let wanted: Vec<_> = call.named.iter().map(|(name, value)| (name.clone(), written(value))).collect();
    let (scenario, all) = view.set(scenario.as_deref())?;
    let mut points = select(all, &wanted)?;
    if let Some(seed) = &seed {
        points.retain(|point| number(seed) == Some(point.seed as f64));
    }
    let first = points.first().ok_or_else(|| wrong("there is no such seed"))?;
    let reading = Reading {
        scenario: scenario.to_owned(),
        parameters: first.parameters.clone(),
        seeds: points.iter().map(|point| point.seed).collect(),
        chosen: seed.is_some(),
        drawn: points.iter().any(|point| point.drawn),
        segments: points.iter().map(|point| point.delivered_segments).max().unwrap_or(0),
    };
    Ok((reading, points))
}

/// The same, recorded, of the runs that functions see at this time.
pub(super) fn meant<'a>(
    view: &'a View,
    call: &mut Arguments,
    trace: &Trace,
) -> Result<Vec<&'a PointResult>, Error> {
    let (reading, points) = selected(view, call)?;
    let runs = trace.runs();
    let seen = points.into_iter().enumerate().filter(|&(at, _)| runs.see(at, &reading));
    let points: Vec<_> = seen.map(|(_, point)| point).collect();
    trace.read(|| reading);
    if points.is_empty() {
        return Err(wrong("there is no such seed"));
    }
    Ok(points)
}

/// Combines the values of all seeds as `seeds='...'` asks.
fn over_seeds(values: &[f64], word: Option<&Value>) -> Result<Value, Error> {
    Ok(Value::from(match word.map(ToString::to_string).as_deref() {
        None | Some("mean") => mean(values),
        Some("median") => median(values),
        Some("min") => Spread::of(values).min,
        Some("max") => Spread::of(values).max,
        Some("std") => Spread::of(values).std,
        Some("all") => return Ok(Value::from(values.to_vec())),
        Some(other) => {
            let known = "mean, median, min, max, std or all";
            return Err(wrong(format!("seeds may be {known}, not {other}")));
        }
    }))
}

/// The middle value, or the mean of the two middle values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => 0.5 * (sorted[middle - 1] + sorted[middle]),
    }
}

pub(super) fn group_flows<'a>(point: &'a PointResult, label: &str) -> Result<Vec<&'a FlowResult>, Error> {
    let flows: Vec<_> = point.flows.iter().filter(|flow| flow.label == label).collect();
    if flows.is_empty() {
        let known: Vec<_> = point.groups.iter().map(|group| group.label.as_str()).collect();
        return Err(refused(format!("there are no flows called \"{label}\""), suggest(label, &known)));
    }
    Ok(flows)
}
