//! Functions of bandwidth estimators over synthesised traces of packet pairs ([`crate::estimators`]).
//!
//! The first argument is `'samples'`, `'ewma'` (keyword `alpha`, 0.8), `'kde'`, `'kde-quadratic'`,
//! `'kde-mode'` (keywords `n`, 8, and `width`, bit/s; without it Silverman's) or `'kde-printed'` (`n`). The
//! trace has the keywords `noise`, `expanded` and `compressed`. An answer is the mean over the traces of the
//! seeds 1 to `seeds`, 20.

use super::call::{Answer, Arguments, add, refused, wrong};
use super::trace::Trace;
use super::values::number;
use crate::estimators::{Estimator, Pairs, channel};
use ackclock_rate::kde::{Estimate, Form, Width};
use ackclock_scenario::results::Spread;
use minijinja::{Environment, Error, Value};

/// The most traces of a call. With the longest window a call takes a fraction of a second.
const MAX_SEEDS: f64 = 100.0;
/// The longest window of a filter, samples.
const MAX_WINDOW: f64 = 32.0;

/// One trace, and an estimator's answers to it.
struct Followed {
    trace: Vec<(f64, f64)>,
    estimates: Vec<f64>,
    /// The answers of the estimator that another argument names.
    others: Option<Vec<f64>>,
}

impl Followed {
    /// Times and estimates within (from, to], s.
    fn within(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let all = self.trace.iter().zip(&self.estimates).map(|(&(at, _), &estimate)| (at, estimate));
        all.filter(move |&(at, _)| at > from && at <= to)
    }
}

pub(super) fn add_all(env: &mut Environment<'static>, trace: &Trace) {
    add_one(env, trace, "estimate_variance(estimator, from_s, to_s)", |it, args| {
        let (from, to) = span(args, 1)?;
        let values: Vec<_> = it.within(from, to).map(|(_, estimate)| estimate).collect();
        let std = Spread::of(&values).std;
        Ok(std * std)
    });
    add_one(env, trace, "estimate_error(estimator, from_s, to_s)", |it, args| {
        let (from, to) = span(args, 1)?;
        mean(it.within(from, to).map(|(at, estimate)| (estimate / channel(at) - 1.0).abs()))
    });
    add_one(env, trace, "estimate_overshoot(estimator, from_s, to_s)", |it, args| {
        let (from, to) = span(args, 1)?;
        Ok(it.within(from, to).map(|(at, estimate)| estimate / channel(at) - 1.0).fold(f64::NAN, f64::max))
    });
    add_one(env, trace, "estimate_reaches(estimator, after_s, within)", |it, args| {
        let after = args.number(1, "a time in seconds")?;
        let within = args.number(2, "a share of the channel's rate")?;
        let mut all = it.within(after, f64::INFINITY);
        let reached = all.find(|&(at, estimate)| (estimate / channel(at) - 1.0).abs() <= within);
        Ok(reached.map_or(f64::INFINITY, |(at, _)| at - after))
    });
    add_one(env, trace, "estimate_gap(estimator, other, from_s, to_s)", |it, args| {
        let (from, to) = span(args, 2)?;
        let others = it.others.iter().flatten();
        let both = it.trace.iter().zip(&it.estimates).zip(others);
        let inside = both.filter(|((sample, _), _)| sample.0 > from && sample.0 <= to);
        mean(inside.map(|((_, estimate), other)| (estimate / other - 1.0).abs()))
    });
}

/// Adds a function that looks at one trace at a time.
fn add_one(
    env: &mut Environment<'static>,
    trace: &Trace,
    written: &'static str,
    f: fn(&Followed, &Arguments) -> Answer,
) {
    let trace = trace.clone();
    let name = written.split('(').next().unwrap_or(written);
    add(env, name, move |arguments| {
        arguments.no_more_than(written)?;
        let mut rest = arguments.clone();
        let pairs = pairs(&mut rest)?;
        let seeds = keyword(&mut rest, "seeds", 20.0, 1.0, MAX_SEEDS)? as u64;
        let settings = Settings::take(&mut rest)?;
        let one = settings.estimator(&rest.text(0, "an estimator")?)?;
        let other = match written.contains("other") {
            true => Some(settings.estimator(&rest.text(1, "another estimator")?)?),
            false => None,
        };
        if let Some((name, _)) = rest.named.first() {
            return Err(refused(format!("there is no {name}"), "see the scenario reference"));
        }
        let answer = |seed| {
            let trace = pairs.trace(seed);
            let (estimates, others) = (one.follow(&trace), other.map(|other| other.follow(&trace)));
            f(&Followed { trace, estimates, others }, &rest)
        };
        let answers = (1..=seeds).map(answer).collect::<Result<Vec<_>, _>>()?;
        let spread = Spread::of(&answers);
        let value = Value::from(spread.mean);
        trace.note(arguments.shown(name), &value, (seeds > 1).then_some(spread.std));
        Ok(value)
    });
}

/// What the estimators of a call share.
struct Settings {
    alpha: f64,
    n: usize,
    width: Width,
}

impl Settings {
    fn take(call: &mut Arguments) -> Result<Settings, Error> {
        let alpha = keyword(call, "alpha", 0.8, 0.0, 1.0)?;
        let n = keyword(call, "n", 8.0, 1.0, MAX_WINDOW)? as usize;
        let width = keyword(call, "width", 0.0, 0.0, 1e12)?;
        Ok(Settings { alpha, n, width: if width > 0.0 { Width::Fixed(width) } else { Width::Silverman } })
    }

    fn estimator(&self, name: &str) -> Result<Estimator, Error> {
        let kde = |estimate, form| Estimator::Kde(self.n, estimate, self.width, form);
        match name {
            "samples" => Ok(Estimator::Samples),
            "ewma" => Ok(Estimator::Ewma(self.alpha)),
            "kde" => Ok(kde(Estimate::Weighted, Form::Linear)),
            "kde-quadratic" => Ok(kde(Estimate::Weighted, Form::Quadratic)),
            "kde-mode" => Ok(kde(Estimate::Mode, Form::Linear)),
            "kde-printed" => Ok(Estimator::Printed(self.n)),
            other => Err(refused(
                format!("there is no estimator '{other}'"),
                "there are 'samples', 'ewma', 'kde', 'kde-quadratic', 'kde-mode', 'kde-printed'",
            )),
        }
    }
}

fn pairs(call: &mut Arguments) -> Result<Pairs, Error> {
    let usual = Pairs::default();
    Ok(Pairs {
        noise: keyword(call, "noise", usual.noise, 0.0, 10.0)?,
        expanded: keyword(call, "expanded", usual.expanded, 0.0, 1.0)?,
        compressed: keyword(call, "compressed", usual.compressed, 0.0, 1.0)?,
    })
}

/// The keyword `name` of a call, between `least` and `most`.
fn keyword(call: &mut Arguments, name: &str, usual: f64, least: f64, most: f64) -> Answer {
    let Some(given) = call.take(name) else { return Ok(usual) };
    let value = number(&given).filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| wrong(format!("{name} must be a number from {least} to {most}")))
}

fn span(args: &Arguments, first: usize) -> Result<(f64, f64), Error> {
    Ok((args.number(first, "a time in seconds")?, args.number(first + 1, "a time in seconds")?))
}

fn mean(values: impl Iterator<Item = f64>) -> Answer {
    let all: Vec<_> = values.collect();
    if all.is_empty() {
        return Err(refused("no pair was sent in this time", "the traces have pairs up to 5 s"));
    }
    Ok(all.iter().sum::<f64>() / all.len() as f64)
}
