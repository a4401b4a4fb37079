//! The language of expectations and claims: expressions over results.
//!
//! The expressions are minijinja's (numbers, comparisons, `and`, `or`, `not`, lists, filters such as `|max`);
//! what is added here are functions that look into results. In a sweep they take the axes as keywords,
//! `goodput('layered', rate='1 Gbit/s')`, and average over seeds.

use crate::results::{FlowResult, PointResult};
use ackclock_cc::analysis;
use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, ErrorKind, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Results that expressions can look into.
#[derive(Clone)]
pub struct View {
    points: Arc<Vec<PointResult>>,
}

type Answer = Result<f64, Error>;

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

impl View {
    /// Looks at these results.
    pub fn new(points: Vec<PointResult>) -> View {
        View { points: Arc::new(points) }
    }

    /// The results.
    pub fn points(&self) -> &[PointResult] {
        &self.points
    }

    /// The points that agree with all of `wanted`; they may differ in nothing but the seed.
    fn select(&self, wanted: &[(String, String)]) -> Result<Vec<&PointResult>, Error> {
        for (axis, _) in wanted {
            let known =
                self.points.first().is_some_and(|point| point.parameters.keys().any(|key| names(key, axis)));
            if !known {
                let axes =
                    self.points.first().map(|point| point.parameters.keys().cloned().collect::<Vec<_>>());
                return Err(wrong(format!(
                    "there is no axis \"{axis}\"; the axes are {}",
                    axes.unwrap_or_default().join(", ")
                )));
            }
        }
        let agrees = |point: &&PointResult| {
            wanted.iter().all(|(axis, value)| {
                point.parameters.iter().any(|(key, known)| names(key, axis) && plain(known) == *value)
            })
        };
        let matching: Vec<_> = self.points.iter().filter(agrees).collect();
        let Some(first) = matching.first() else {
            return Err(wrong(format!("no point has {}", shown(wanted))));
        };
        if let Some(other) = matching.iter().find(|point| point.parameters != first.parameters) {
            let differing =
                first.parameters.iter().find(|(key, value)| other.parameters.get(*key) != Some(value));
            let axis = differing.map_or("", |(key, _)| key);
            return Err(wrong(format!("several points match; say which {}", short(axis))));
        }
        Ok(matching)
    }
}

/// Does a keyword mean an axis? Its last part is enough: `rate` for `topology.dumbbell.bottleneck.rate`.
fn names(axis: &str, keyword: &str) -> bool {
    axis == keyword || short(axis) == keyword
}

fn short(axis: &str) -> &str {
    axis.rsplit('.').next().unwrap_or(axis)
}

/// A JSON value as it would be written without quotes.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).to_string(),
        other => other.to_string(),
    }
}

fn shown(wanted: &[(String, String)]) -> String {
    wanted.iter().map(|(axis, value)| format!("{axis} = {value}")).collect::<Vec<_>>().join(", ")
}

fn keywords(kwargs: &Kwargs) -> Result<Vec<(String, String)>, Error> {
    kwargs
        .args()
        .map(|name| {
            let value: Value = kwargs.get(name)?;
            let text = match f64::try_from(value.clone()) {
                Ok(number) if value.is_number() => number.to_string(),
                _ => value.to_string(),
            };
            Ok((name.to_owned(), text))
        })
        .collect()
}

fn group_flows<'a>(point: &'a PointResult, label: &str) -> Result<Vec<&'a FlowResult>, Error> {
    let flows: Vec<_> = point.flows.iter().filter(|flow| flow.label == label).collect();
    if flows.is_empty() {
        let known: Vec<_> = point.groups.iter().map(|group| group.label.as_str()).collect();
        return Err(wrong(format!("there are no flows called \"{label}\"; there are {}", known.join(", "))));
    }
    Ok(flows)
}

/// Positional arguments of a call.
struct Arguments<'a>(&'a [Value]);

impl Arguments<'_> {
    fn text(&self, at: usize, what: &str) -> Result<String, Error> {
        let value = self.0.get(at).ok_or_else(|| wrong(format!("{what} is missing")))?;
        value.as_str().map(str::to_owned).ok_or_else(|| wrong(format!("{what} must be a text, not {value}")))
    }

    fn number(&self, at: usize, what: &str) -> Answer {
        let value = self.0.get(at).ok_or_else(|| wrong(format!("{what} is missing")))?;
        f64::try_from(value.clone()).map_err(|_| wrong(format!("{what} must be a number, not {value}")))
    }
}

/// Adds a function of (point, arguments), averaged over the points that the keywords select.
fn add(
    env: &mut Environment<'_>,
    view: &View,
    name: &'static str,
    f: fn(&PointResult, &Arguments<'_>) -> Answer,
) {
    let view = view.clone();
    env.add_function(name, move |args: Rest<Value>, kwargs: Kwargs| -> Answer {
        let points = view.select(&keywords(&kwargs)?)?;
        let sum: f64 = points.iter().map(|point| f(point, &Arguments(&args))).sum::<Answer>()?;
        Ok(sum / points.len() as f64)
    });
}

fn add_flow_functions(env: &mut Environment<'_>, view: &View) {
    macro_rules! total {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            add(env, view, $name, |point, args| {
                let value: fn(&FlowResult) -> f64 = $field;
                Ok(group_flows(point, &args.text(0, "a group's label")?)?.into_iter().map(value).sum())
            });
        )*};
    }
    total! {
        "goodput" => |flow| flow.goodput_bps,
        "throughput" => |flow| flow.throughput_bps,
        "sent" => |flow| flow.sent as f64,
        "delivered" => |flow| flow.delivered as f64,
        "retransmits" => |flow| flow.retransmits as f64,
        "fast_retransmits" => |flow| flow.fast_retransmits as f64,
        "timeouts" => |flow| flow.timeouts as f64,
        "cuts" => |flow| flow.window_cuts as f64,
    }
    macro_rules! mean {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            add(env, view, $name, |point, args| {
                let value: fn(&FlowResult) -> f64 = $field;
                let flows = group_flows(point, &args.text(0, "a group's label")?)?;
                Ok(flows.iter().map(|flow| value(flow)).sum::<f64>() / flows.len() as f64)
            });
        )*};
    }
    mean! {
        "cwnd_mean" => |flow| flow.cwnd_mean,
        "rtt_mean" => |flow| flow.rtt_mean_s.unwrap_or(f64::NAN),
        "rtt_min" => |flow| flow.rtt_min_s.unwrap_or(f64::NAN),
        "completion" => |flow| flow.completion_s.unwrap_or(f64::NAN),
    }
    add(env, view, "total_goodput", |point, _| Ok(point.flows.iter().map(|flow| flow.goodput_bps).sum()));
    add(env, view, "jain", |point, args| {
        let index = match args.text(0, "a group's label") {
            Ok(label) => {
                let goodputs: Vec<_> =
                    group_flows(point, &label)?.iter().map(|flow| flow.goodput_bps).collect();
                analysis::jain(&goodputs)
            }
            Err(_) => point.jain,
        };
        Ok(index.unwrap_or(f64::NAN))
    });
    add(env, view, "completion_percentile", |point, args| {
        let flows = group_flows(point, &args.text(0, "a group's label")?)?;
        let mut times: Vec<_> = flows.iter().flat_map(|flow| flow.completions_s.iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        let rank =
            (args.number(1, "a percentile")? / 100.0).clamp(0.0, 1.0) * times.len().saturating_sub(1) as f64;
        Ok(times.get(rank.round() as usize).copied().unwrap_or(f64::NAN))
    });
    add(env, view, "completion_std", |point, args| {
        let flows = group_flows(point, &args.text(0, "a group's label")?)?;
        let times: Vec<_> = flows.iter().flat_map(|flow| flow.completions_s.iter().copied()).collect();
        Ok(crate::results::Spread::of(&times).std)
    });
    for (name, pick) in [
        ("goodput_mean", (|spread| spread.mean) as fn(&crate::results::Spread) -> f64),
        ("goodput_min", |spread| spread.min),
        ("goodput_max", |spread| spread.max),
        ("goodput_std", |spread| spread.std),
    ] {
        let view = view.clone();
        env.add_function(name, move |label: String, kwargs: Kwargs| -> Answer {
            let points = view.select(&keywords(&kwargs)?)?;
            let values = points.iter().map(|point| {
                group_flows(point, &label)?;
                let group = point.groups.iter().find(|group| group.label == label);
                Ok(group.map_or(f64::NAN, |group| pick(&group.goodput_bps)))
            });
            Ok(values.sum::<Answer>()? / points.len() as f64)
        });
    }
}

fn add_link_functions(env: &mut Environment<'_>, view: &View) {
    macro_rules! links {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            add(env, view, $name, |point, args| {
                let name = args.text(0, "a link's name")?;
                let value: fn(&crate::results::LinkResult) -> f64 = $field;
                point.links.iter().find(|link| link.name == name).map(value).ok_or_else(|| {
                    let known: Vec<_> = point.links.iter().map(|link| link.name.as_str()).collect();
                    wrong(format!("there is no link called \"{name}\"; there are {}", known.join(", ")))
                })
            });
        )*};
    }
    links! {
        "rate" => |link| link.rate_bps,
        "utilisation" => |link| link.utilisation,
        "arrivals" => |link| link.arrivals as f64,
        "drops" => |link| link.drops as f64,
        "drop_rate" => |link| link.drop_rate,
        "random_losses" => |link| link.random_losses as f64,
        "marks" => |link| link.marks as f64,
        "queue_mean" => |link| link.queue_mean,
        "queue_max" => |link| f64::from(link.queue_max),
    }
    add(env, view, "traffic_throughput", |point, args| {
        let label = args.text(0, "a stream's label")?;
        let stream = point.traffic.iter().find(|stream| stream.label == label);
        stream
            .map(|stream| stream.throughput_bps)
            .ok_or_else(|| wrong(format!("there is no traffic called \"{label}\"")))
    });
}

/// Seconds and one value per look, for the flows of a group taken together.
fn looks(
    point: &PointResult,
    label: &str,
    value: fn(&crate::engine::Sample) -> f64,
) -> Result<Vec<(f64, f64)>, Error> {
    let flows = group_flows(point, label)?;
    let series = point
        .series
        .as_ref()
        .ok_or_else(|| wrong("this needs probes: add probe = \"1 s\" to the scenario"))?;
    let sum = |look: usize| flows.iter().map(|flow| value(&series.flows[flow.id][look])).sum();
    Ok(series.at.iter().enumerate().map(|(look, at)| (at.as_secs_f64(), sum(look))).collect())
}

/// Values of the looks within (from, to], or within the measuring window.
fn within(point: &PointResult, looks: Vec<(f64, f64)>, args: &Arguments<'_>) -> Result<Vec<f64>, Error> {
    let (from, to) = match args.0.len() {
        0 | 1 => (point.measure_s[0], point.measure_s[1]),
        _ => (args.number(1, "a time in seconds")?, args.number(2, "a time in seconds")?),
    };
    let inside: Vec<_> =
        looks.into_iter().filter(|&(at, _)| at > from && at <= to).map(|(_, value)| value).collect();
    if inside.is_empty() {
        return Err(wrong(format!("no probe looked between {from} s and {to} s")));
    }
    Ok(inside)
}

fn add_series_functions(env: &mut Environment<'_>, view: &View) {
    add(env, view, "cwnd_max", |point, args| {
        let looks = looks(point, &args.text(0, "a group's label")?, |sample| f64::from(sample.cwnd))?;
        Ok(within(point, looks, args)?.into_iter().fold(f64::NEG_INFINITY, f64::max))
    });
    add(env, view, "cwnd_min", |point, args| {
        let looks = looks(point, &args.text(0, "a group's label")?, |sample| f64::from(sample.cwnd))?;
        Ok(within(point, looks, args)?.into_iter().fold(f64::INFINITY, f64::min))
    });
    add(env, view, "goodput_between", |point, args| {
        let label = args.text(0, "a group's label")?;
        let flows = group_flows(point, &label)?;
        // A flow's goodput per segment tells the payload, so that the probes need not.
        let delivered: u64 = flows.iter().map(|flow| flow.delivered).sum();
        let goodput: f64 = flows.iter().map(|flow| flow.goodput_bps).sum();
        let bits = goodput * (point.measure_s[1] - point.measure_s[0]) / delivered.max(1) as f64;
        let looks = looks(point, &label, |sample| f64::from(sample.delivered))?;
        let span = args.number(2, "a time in seconds")? - args.number(1, "a time in seconds")?;
        Ok(within(point, looks, args)?.into_iter().sum::<f64>() * bits / span)
    });
    add(env, view, "time_to_cwnd", |point, args| {
        let looks = looks(point, &args.text(0, "a group's label")?, |sample| f64::from(sample.cwnd))?;
        let target = args.number(1, "a window in segments")?;
        let after = if args.0.len() > 2 { args.number(2, "a time in seconds")? } else { 0.0 };
        let reached = looks.into_iter().find(|&(at, cwnd)| at >= after && cwnd >= target);
        Ok(reached.map_or(f64::INFINITY, |(at, _)| at - after))
    });
}

fn add_arithmetic(env: &mut Environment<'_>) {
    env.add_function("abs", |x: f64| x.abs());
    env.add_function("sqrt", |x: f64| x.sqrt());
    env.add_function("ln", |x: f64| x.ln());
    env.add_function("log10", |x: f64| x.log10());
    env.add_function("min", |values: Rest<f64>| values.iter().copied().fold(f64::INFINITY, f64::min));
    env.add_function("max", |values: Rest<f64>| values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    env.add_function("near", |value: f64, target: f64, tolerance: f64| (value - target).abs() <= tolerance);
    env.add_function("stolen", analysis::bandwidth_stolen);
}

/// Why an expression has no value.
#[derive(Debug, thiserror::Error)]
#[error("{expression}: {reason}")]
pub struct ExpectError {
    expression: String,
    reason: String,
}

/// Evaluates `expression` over the results in `view`, with these names bound.
pub fn evaluate(
    expression: &str,
    view: &View,
    names: &BTreeMap<String, serde_json::Value>,
) -> Result<serde_json::Value, ExpectError> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    add_flow_functions(&mut env, view);
    add_link_functions(&mut env, view);
    add_series_functions(&mut env, view);
    add_arithmetic(&mut env);
    let failed = |error: Error| ExpectError {
        expression: expression.to_owned(),
        reason: error.detail().map_or_else(|| error.to_string(), str::to_owned),
    };
    let compiled = env.compile_expression(expression).map_err(failed)?;
    let value = compiled.eval(Value::from(minijinja::value::Serde(names))).map_err(failed)?;
    serde_json::to_value(&value)
        .map_err(|error| ExpectError { expression: expression.to_owned(), reason: error.to_string() })
}

/// Evaluates `expression` to a verdict.
pub fn holds(
    expression: &str,
    view: &View,
    names: &BTreeMap<String, serde_json::Value>,
) -> Result<bool, ExpectError> {
    match evaluate(expression, view, names)? {
        serde_json::Value::Bool(verdict) => Ok(verdict),
        other => Err(ExpectError {
            expression: expression.to_owned(),
            reason: format!("it gives {other}, not true or false; compare it with something"),
        }),
    }
}
