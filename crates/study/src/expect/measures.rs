//! Functions of results.

use super::call::{Answer, Arguments, add, number, wrong};
use super::select::{View, axis, select, written};
use super::trace::Trace;
use ackclock_cc::analysis;
use ackclock_scenario::results::{FlowResult, PointResult, Spread};
use ackclock_scenario::suggest;
use minijinja::{Environment, Error, Value};

pub(super) fn add_all(env: &mut Environment<'static>, view: &View, trace: &Trace) {
    let mut words = Words { env, view, trace };
    add_flow_functions(&mut words);
    add_link_functions(&mut words);
    super::series::add_all(&mut words);
    super::course::add_all(&mut words);
    super::followed::add_all(&mut words);
    super::predictions::add_all(&mut words);
    let view = view.clone();
    add(env, "axis", move |arguments| {
        let mut arguments = arguments.clone();
        arguments.no_more_than("axis(name)")?;
        let scenario = arguments.take("in").map(|name| name.to_string());
        axis(view.set(scenario.as_deref())?, &arguments.text(0, "an axis")?)
    });
}

/// The registry to which functions are added.
pub(super) struct Words<'a> {
    pub(super) env: &'a mut Environment<'static>,
    pub(super) view: &'a View,
    pub(super) trace: &'a Trace,
}

impl Words<'_> {
    /// Adds a function of (point, arguments), applied to the points that the keywords select. `written` is
    /// its signature: `name(argument, [optional argument], ...)`.
    pub(super) fn add(&mut self, written: &'static str, f: fn(&PointResult, &Arguments) -> Answer) {
        let (view, trace) = (self.view.clone(), self.trace.clone());
        let name = written.split('(').next().unwrap_or(written);
        add(self.env, name, move |arguments| {
            arguments.no_more_than(written)?;
            let mut rest = arguments.clone();
            let over = rest.take("seeds");
            let points = meant(&view, &mut rest, &trace)?;
            let values = points.iter().map(|point| f(point, &rest)).collect::<Result<Vec<_>, _>>()?;
            let value = over_seeds(&values, over.as_ref())?;
            let std = (values.len() > 1 && over.is_none()).then(|| Spread::of(&values).std);
            trace.note(arguments.shown(name), &value, std);
            Ok(value)
        });
    }
}

/// The points that the keywords of a call select. They differ in their seed only.
pub(super) fn meant<'a>(
    view: &'a View,
    call: &mut Arguments,
    trace: &Trace,
) -> Result<Vec<&'a PointResult>, Error> {
    let scenario = call.take("in").map(|name| name.to_string());
    let seed = call.take("seed");
    let wanted: Vec<_> = call.named.iter().map(|(name, value)| (name.clone(), written(value))).collect();
    let mut points = select(view.set(scenario.as_deref())?, &wanted)?;
    if let Some(seed) = seed {
        points.retain(|point| number(&seed) == Some(point.seed as f64));
    }
    if let Some(seed) = trace.only() {
        points.retain(|point| point.seed == seed);
    }
    if points.is_empty() {
        return Err(wrong("there is no such seed"));
    }
    Ok(points)
}

/// Combines the values of all seeds as `seeds='...'` asks.
fn over_seeds(values: &[f64], word: Option<&Value>) -> Result<Value, Error> {
    let spread = Spread::of(values);
    Ok(Value::from(match word.map(ToString::to_string).as_deref() {
        None | Some("mean") => spread.mean,
        Some("median") => median(values),
        Some("min") => spread.min,
        Some("max") => spread.max,
        Some("std") => spread.std,
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
        return Err(wrong(format!("there are no flows called \"{label}\"; {}", suggest(label, &known))));
    }
    Ok(flows)
}

fn add_flow_functions(w: &mut Words<'_>) {
    macro_rules! total {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
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
        "duplicates" => |flow| flow.duplicates as f64,
        "fast_retransmits" => |flow| flow.fast_retransmits as f64,
        "timeouts" => |flow| flow.timeouts as f64,
        "cuts" => |flow| flow.window_cuts as f64,
        "transfers" => |flow| flow.completions_s.len() as f64,
    }
    macro_rules! mean {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
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
    super::bursts::add_all(w);
    // Loss episodes, as a share of all segments that a group sent.
    w.add("fast_retransmit_share(label)", |point, args| {
        let flows = group_flows(point, &args.text(0, "a group's label")?)?;
        let sum = |value: fn(&FlowResult) -> u64| flows.iter().map(|flow| value(flow)).sum::<u64>() as f64;
        Ok(sum(|flow| flow.fast_retransmits) / sum(|flow| flow.sent).max(1.0))
    });
    w.add("total_goodput()", |point, _| Ok(point.flows.iter().map(|flow| flow.goodput_bps).sum()));
    w.add("jain([label])", |point, args| {
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
    super::transfers::add_all(w);
    macro_rules! spread {
        ($($name:literal => $field:ident),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
                let label = args.text(0, "a group's label")?;
                group_flows(point, &label)?;
                let group = point.groups.iter().find(|group| group.label == label);
                Ok(group.map_or(f64::NAN, |group| group.goodput_bps.$field))
            });
        )*};
    }
    spread! { "goodput_mean" => mean, "goodput_min" => min, "goodput_max" => max, "goodput_std" => std }
}

fn add_link_functions(w: &mut Words<'_>) {
    macro_rules! links {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(link)"), |point, args| {
                let name = args.text(0, "a link's name")?;
                let value: fn(&ackclock_scenario::results::LinkResult) -> f64 = $field;
                point.links.iter().find(|link| link.name == name).map(value).ok_or_else(|| {
                    let known: Vec<_> = point.links.iter().map(|link| link.name.as_str()).collect();
                    wrong(format!("there is no link called \"{name}\"; {}", suggest(&name, &known)))
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
        "late" => |link| link.late as f64,
        "copies" => |link| link.copies as f64,
        "corrected" => |link| link.corrected as f64,
        "resent" => |link| link.resent as f64,
        "marks" => |link| link.marks as f64,
        "queue_mean" => |link| link.queue_mean,
        "queue_max" => |link| f64::from(link.queue_max),
    }
    w.add("traffic_throughput(label)", |point, args| {
        let label = args.text(0, "a stream's label")?;
        let stream = point.traffic.iter().find(|stream| stream.label == label);
        stream.map(|stream| stream.throughput_bps).ok_or_else(|| {
            let known: Vec<_> = point.traffic.iter().map(|stream| stream.label.as_str()).collect();
            wrong(format!("there is no traffic called \"{label}\"; {}", suggest(&label, &known)))
        })
    });
}
