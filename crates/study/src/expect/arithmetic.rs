//! Functions for arithmetic on numbers and lists.

use super::call::{Answer, Arguments, add_numeric, wrong};
use super::trace::Trace;
use super::values::number;
use ackclock_cc::analysis;
use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, Value};

pub(super) fn add_all(env: &mut Environment<'static>, trace: &Trace) {
    add_numeric(env, None, "abs", &["x"], |x| x[0].abs());
    add_numeric(env, None, "sqrt", &["x"], |x| x[0].sqrt());
    add_numeric(env, None, "ln", &["x"], |x| libm::log(x[0]));
    add_numeric(env, None, "log10", &["x"], |x| libm::log10(x[0]));
    add_numeric(env, None, "pow", &["x", "y"], |x| libm::pow(x[0], x[1]));
    add_numeric(env, Some(trace), "ratio", &["a", "b"], |x| x[0] / x[1]);
    add_numeric(env, Some(trace), "stolen", &["alone", "beside"], |x| analysis::bandwidth_stolen(x[0], x[1]));
    env.add_function("near", |value: f64, target: f64, tolerance: f64| (value - target).abs() <= tolerance);
    over_all(env, "min", |all| all.iter().copied().fold(f64::INFINITY, f64::min));
    over_all(env, "max", |all| all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    over_all(env, "mean", |all| all.iter().sum::<f64>() / all.len() as f64);
    over_all(env, "jain_of", |all| analysis::jain(all).unwrap_or(f64::NAN));
    over_all(env, "median", super::functions::median);
    // first_above(keys, values, bound): the first key whose value is above the bound; the last key if there
    // is none.
    env.add_function("first_above", |keys: Value, values: Value, bound: f64| -> Result<Value, Error> {
        let (keys, values) = (keys.try_iter()?.collect::<Vec<_>>(), numbers(&values)?);
        let Some(last) = keys.len().checked_sub(1).filter(|_| keys.len() == values.len()) else {
            return Err(wrong("as many values as keys are wanted, and at least one"));
        };
        Ok(keys[values.iter().position(|&value| value > bound).unwrap_or(last)].clone())
    });
    // Compares each entry with the one before it. Up to `slack` of it may be noise.
    env.add_function("rises", |list: Value, slack: Option<f64>| {
        steps(&list, |before, after| after >= before * (1.0 - slack.unwrap_or(0.0)))
    });
    env.add_function("falls", |list: Value, slack: Option<f64>| {
        steps(&list, |before, after| after <= before * (1.0 + slack.unwrap_or(0.0)))
    });
}

fn steps(list: &Value, right: impl Fn(f64, f64) -> bool) -> Result<bool, Error> {
    let all = numbers(list)?;
    if all.len() < 2 {
        return Err(wrong("a list of at least two numbers is wanted"));
    }
    Ok(all.windows(2).all(|pair| right(pair[0], pair[1])))
}

fn numbers(list: &Value) -> Result<Vec<f64>, Error> {
    let mut all = Vec::new();
    for value in list.try_iter()? {
        all.push(number(&value).ok_or_else(|| wrong(format!("a number is wanted, not {value}")))?);
    }
    Ok(all)
}

/// Adds a function of any number of numbers and lists of numbers.
fn over_all(env: &mut Environment<'static>, name: &'static str, f: fn(&[f64]) -> f64) {
    env.add_function(name, move |given: Rest<Value>, kwargs: Kwargs| -> Answer {
        let arguments = Arguments::new(&given, &kwargs)?;
        let mut all = Vec::new();
        for (at, value) in arguments.given.iter().enumerate() {
            match number(value) {
                Some(number) => all.push(number),
                None if value.len().is_some() && value.as_str().is_none() => all.extend(numbers(value)?),
                None => all.push(arguments.number(at, name)?),
            }
        }
        if all.is_empty() || !arguments.named.is_empty() {
            return Err(wrong(format!("{name} takes numbers, or a list of them")));
        }
        Ok(f(&all))
    });
}
