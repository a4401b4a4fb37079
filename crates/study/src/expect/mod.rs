//! The language of expectations and claims: expressions over results.
//!
//! The expressions are those of minijinja (numbers, comparisons, `and`, `or`, `not`, `**`, lists, filters
//! such as `|max`). This module adds functions:
//!
//! - Functions of results: `goodput('layered', rate='1 Gbit/s')`. In a sweep they take the axes as keywords;
//!   the last part of an axis is enough. They average over seeds; `seeds='median'`, `'min'`, `'max'`, `'std'`
//!   or `'all'` changes that. If an experiment has several scenarios, `in='NAME'` selects one. `axis('rate')`
//!   lists the values of an axis.
//! - The published analyses: `reno_window(p)`, `response('compound', p, rtt_s)` and so on.
//! - Parts of XRTP by themselves: `xrtp_probes(gamma, alpha)`, `loss_label(...)`, `estimate_error(...)`.
//! - Arithmetic: `ratio(a, b)`, `near(value, target, tolerance)`, `rises(list)` and so on.
//!
//! A list in place of an argument gives a list of answers. Every call is recorded with its value, so a
//! verdict shows the numbers behind it. [`Language::decide`] says how far it is from being otherwise.

mod arithmetic;
mod bursts;
mod call;
mod calls;
mod chance;
mod course;
mod decide;
mod estimators;
mod followed;
mod functions;
mod limits;
mod measures;
mod predictions;
mod published;
mod rates;
mod select;
mod series;
mod structure;
mod trace;
mod traced;
mod transfers;
mod truth;
mod values;
mod xrtp;

pub(crate) use chance::UNDECIDED_WITHIN;
pub use decide::Decision;
pub use select::View;
pub use trace::Reading;
pub use truth::{Line, Truth};

use ackclock_scenario::nearest;
use ackclock_scenario::results::{Evidence, Spread};
use call::{Advice, Arguments, refused, wrong};
use functions::FunctionRegistry;
use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use std::collections::BTreeMap;
use trace::{Published, Runs, Trace};
use values::{from_json, number};

/// The names that an expression can use.
pub type Names = BTreeMap<String, serde_json::Value>;

/// A function that is written in the language itself.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// The names of the arguments.
    pub of: Vec<String>,
    /// The expression of its value.
    pub is: String,
}

/// Why an expression has no value.
#[derive(Debug, thiserror::Error)]
#[error("{expression}: {reason}")]
pub struct ExpectError {
    expression: String,
    /// The problem.
    pub reason: String,
    /// The remedy.
    pub remedy: String,
    /// True if no probe looked at a time that is meant.
    no_look: bool,
}

/// An example of an expression, for messages.
const EXAMPLE: &str = "for example goodput('reno') > 0.9 * rate('bottleneck')";

impl ExpectError {
    fn new(expression: &str, error: &Error) -> ExpectError {
        let mut reason = error.detail().map_or_else(|| error.to_string(), str::to_owned);
        let mut advice: Option<&Advice> = None;
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            match inner.downcast_ref() {
                Some(known) => advice = Some(known),
                None => reason += &format!(": {inner}"),
            }
            cause = inner.source();
        }
        let remedy = match (advice, error.kind()) {
            (Some(advice), _) => advice.remedy.clone(),
            (None, ErrorKind::UndefinedError) => {
                "names of flows and links stand in quotes: goodput('reno')".to_owned()
            }
            (None, _) => EXAMPLE.to_owned(),
        };
        let no_look = advice.is_some_and(|advice| advice.no_look);
        ExpectError { expression: expression.to_owned(), reason, remedy, no_look }
    }
}

/// The language, with results, published numbers and definitions.
pub struct Language {
    env: Environment<'static>,
    trace: Trace,
    published: Value,
    seeds: Vec<u64>,
    definitions: Vec<Definition>,
}

impl Language {
    /// The language over the results in `view`.
    pub fn new(view: &View) -> Language {
        let mut env = Environment::new();
        env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
        let trace = Trace::default();
        let mut words = FunctionRegistry { env: &mut env, view, trace: &trace };
        let looking: [fn(&mut FunctionRegistry<'_>); 9] = [
            measures::add_all,
            transfers::add_all,
            bursts::add_all,
            series::add_all,
            course::add_all,
            followed::add_all,
            predictions::add_all,
            rates::add_all,
            traced::add_all,
        ];
        looking.iter().for_each(|add_all| add_all(&mut words));
        limits::add_all(&mut env);
        arithmetic::add_all(&mut env, &trace);
        published::add_all(&mut env, &trace);
        xrtp::add_all(&mut env, &trace);
        estimators::add_all(&mut env, &trace);
        let (published, definitions) = (Value::UNDEFINED, Vec::new());
        Language { env, trace, published, seeds: view.seeds(), definitions }
    }

    /// The same with published numbers. Expressions find them as `published`.
    #[must_use]
    pub fn with_published(mut self, data: &serde_json::Value) -> Language {
        self.published = Published::value(data, &self.trace);
        self.trace.take();
        self
    }

    /// The same with one more function.
    #[must_use]
    pub fn with_definition(mut self, definition: &Definition) -> Language {
        let (made, trace, published) = (definition.clone(), self.trace.clone(), self.published.clone());
        let (name, seeds) = (definition.name.clone(), self.seeds.clone());
        let call = move |state: &State<'_, '_>, given: Rest<Value>, kwargs: Kwargs| {
            Arguments::new(&given, &kwargs)?.each(&mut |arguments| {
                let names = bind(&made, arguments, &published)?;
                limits::check(&made.is)?;
                let compiled = state.env().compile_expression(&made.is)?;
                if !trace.may_call(limits::MAX_DEPTH, limits::MAX_CALLS) {
                    let name = &made.name;
                    return Err(refused(
                        format!("{name} calls itself without end, or too often"),
                        "see its [define]",
                    ));
                }
                let value = trace.deeper(|| compiled.eval(&names))?;
                let std = if trace.at_the_top() {
                    let alone = |&seed| trace.over(Runs::Only(seed), || compiled.eval(&names));
                    deviation(seeds.iter().map(alone))
                } else {
                    None
                };
                trace.note(arguments.shown(&made.name), &value, std);
                Ok(value)
            })
        };
        self.env.add_function(name, call);
        self.definitions.push(definition.clone());
        self
    }

    /// Checks the syntax of an expression.
    ///
    /// # Errors
    ///
    /// [`ExpectError`] if it is not an expression.
    pub fn check(&self, expression: &str) -> Result<(), ExpectError> {
        let compiled = limits::check(expression).and_then(|()| self.env.compile_expression(expression));
        compiled.map(drop).map_err(|error| ExpectError::new(expression, &error))
    }

    /// The value of the expression, and the numbers behind it.
    ///
    /// # Errors
    ///
    /// [`ExpectError`] if the expression has no value.
    pub fn evaluate(
        &self,
        expression: &str,
        names: &Names,
    ) -> Result<(serde_json::Value, Vec<Evidence>), ExpectError> {
        let failed = |error: Error| self.explain(expression, &error);
        let mut bound: BTreeMap<String, Value> =
            names.iter().map(|(name, value)| (name.clone(), from_json(value))).collect();
        bound.insert("published".to_owned(), self.published.clone());
        self.trace.take();
        self.trace.take_readings();
        limits::check(expression).map_err(failed)?;
        let compiled = self.env.compile_expression(expression).map_err(failed)?;
        let value = compiled.eval(bound).map_err(failed)?;
        let value = serde_json::to_value(&value).map_err(|error| ExpectError {
            expression: expression.to_owned(),
            reason: error.to_string(),
            remedy: EXAMPLE.to_owned(),
            no_look: false,
        })?;
        Ok((value, self.trace.take()))
    }

    /// Checks an expression over made-up results. It checks every call separately, even if the evaluation
    /// does not reach it, and that the whole is true or false. `thinned`: the made-up probes look less often
    /// than the real ones will.
    pub(crate) fn dry_run(&self, expression: &str, thinned: bool) -> Result<(), ExpectError> {
        self.check(expression)?;
        // A time that is computed from made-up results has no meaning.
        let unless_made_up = |outcome: Result<(), ExpectError>, made_up: bool| match outcome {
            Err(error) if made_up && error.no_look => Ok(()),
            other => other,
        };
        for call in calls::calls(expression) {
            let outcome = self.evaluate(call, &Names::new()).map(drop);
            unless_made_up(outcome, thinned || call.matches('(').count() > 1)?;
        }
        unless_made_up(self.judge(expression, &Names::new()).map(drop), true)
    }

    /// Evaluates every call in the expression separately, even if the evaluation of the whole does not reach
    /// it.
    pub(crate) fn check_calls(&self, expression: &str, names: &Names) -> Result<(), ExpectError> {
        self.check(expression)?;
        calls::calls(expression).into_iter().try_for_each(|call| self.evaluate(call, names).map(drop))
    }

    /// Whether the expression holds, and the numbers behind it. An expression with a NaN in it does not hold,
    /// because comparisons with NaN prove nothing.
    ///
    /// # Errors
    ///
    /// [`ExpectError`] if the expression has no value, or is neither true nor false.
    pub fn judge(&self, expression: &str, names: &Names) -> Result<(bool, Vec<Evidence>), ExpectError> {
        match self.evaluate(expression, names)? {
            (serde_json::Value::Bool(verdict), seen) => {
                Ok((verdict && !seen.iter().any(Evidence::has_no_value), seen))
            }
            (other, _) => Err(ExpectError {
                expression: expression.to_owned(),
                reason: format!("it gives {}, not true or false", kind(&other)),
                remedy: format!("compare it with something: {EXAMPLE}"),
                no_look: false,
            }),
        }
    }

    /// Names an unknown function, and one with a similar name.
    fn explain(&self, expression: &str, error: &Error) -> ExpectError {
        let mut explained = ExpectError::new(expression, error);
        if error.kind() == ErrorKind::UnknownFunction {
            let known = self.env.globals().map(|(name, _)| name);
            let word = explained.reason.trim_end_matches(" is unknown").to_owned();
            explained.reason = format!("there is no function called \"{word}\"");
            if let Some(near) = nearest(&word, known) {
                explained.remedy = format!("did you mean \"{near}\"?");
            }
        }
        explained
    }
}

/// The kind of this value, for messages.
fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a text",
        serde_json::Value::Array(_) => "a list",
        serde_json::Value::Null => "nothing",
        _ => "a value",
    }
}

/// What seeds differ by because of rounding alone is no deviation: a share of the mean.
const ROUNDING: f64 = 1e-12;

/// The standard deviation of the values of each seed alone, if all are numbers.
fn deviation(alone: impl Iterator<Item = Result<Value, Error>>) -> Option<f64> {
    let values = alone.map(|value| number(&value.ok()?)).collect::<Option<Vec<_>>>()?;
    let Spread { mean, std, .. } = Spread::of(&values);
    (std > ROUNDING * mean.abs()).then_some(std)
}

fn bind(
    made: &Definition,
    arguments: &Arguments,
    published: &Value,
) -> Result<BTreeMap<String, Value>, Error> {
    if arguments.given.len() != made.of.len() || !arguments.named.is_empty() {
        return Err(wrong(format!("it is written {}({})", made.name, made.of.join(", "))));
    }
    let mut names: BTreeMap<_, _> = made.of.iter().cloned().zip(arguments.given.iter().cloned()).collect();
    names.insert("published".to_owned(), published.clone());
    Ok(names)
}

/// Evaluates `expression` over the results in `view`, with these names.
///
/// # Errors
///
/// [`ExpectError`] if the expression has no value.
pub fn evaluate(expression: &str, view: &View, names: &Names) -> Result<serde_json::Value, ExpectError> {
    Language::new(view).evaluate(expression, names).map(|(value, _)| value)
}

/// Evaluates `expression` to true or false.
///
/// # Errors
///
/// [`ExpectError`] if the expression has no value, or is neither true nor false.
pub fn holds(expression: &str, view: &View, names: &Names) -> Result<bool, ExpectError> {
    Language::new(view).judge(expression, names).map(|(verdict, _)| verdict)
}

#[cfg(test)]
mod tests;
