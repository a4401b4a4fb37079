//! Functions of the samples of the probes.
//!
//! The variables of a flow are `cwnd`, `ssthresh`, `srtt`, `in_flight`, `delivered` (segments in order since
//! the last sample), `arrived` (segments at the receiver since then), `goodput` (bit/s since then), and those
//! of its controller, such as Compound's `dwnd`.
//! For a group the values of its flows are added.

use super::call::{Answer, Arguments, no_look, refused, wrong};
use super::functions::{FunctionRegistry, group_flows};
use ackclock_scenario::results::{FlowResult, PointResult};
use ackclock_scenario::series::{Sample, Series};
use ackclock_scenario::suggest;
use minijinja::Error;

/// A time series: seconds and values.
pub(super) type Looks = Vec<(f64, f64)>;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    w.add("cwnd_max(label, [from_s, to_s])", |point, args| {
        Ok(most(&within(point, flow_looks(point, args, "cwnd")?, args, 1)?))
    });
    w.add("cwnd_min(label, [from_s, to_s])", |point, args| {
        Ok(least(&within(point, flow_looks(point, args, "cwnd")?, args, 1)?))
    });
    w.add("goodput_between(label, from_s, to_s)", goodput_between);
    w.add("time_to_cwnd(label, segments, [after_s])", |point, args| {
        let target = args.number(1, "a window in segments")?;
        let after = if args.given.len() > 2 { args.number(2, "a time in seconds")? } else { 0.0 };
        let looks = flow_looks(point, args, "cwnd")?;
        let reached = looks.into_iter().find(|&(at, cwnd)| at >= after && cwnd >= target);
        Ok(reached.map_or(f64::INFINITY, |(at, _)| at - after))
    });
    w.add("probe_mean(label, variable, [from_s, to_s])", |point, args| {
        let values = within(point, named(point, args)?, args, 2)?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    });
    w.add("probe_min(label, variable, [from_s, to_s])", |point, args| {
        Ok(least(&within(point, named(point, args)?, args, 2)?))
    });
    w.add("probe_max(label, variable, [from_s, to_s])", |point, args| {
        Ok(most(&within(point, named(point, args)?, args, 2)?))
    });
    w.add("probe_at(label, variable, at_s)", |point, args| {
        let time = args.number(2, "a time in seconds")?;
        if !time.is_finite() {
            return Ok(f64::NAN); // the time of an event that never happened
        }
        let before = named(point, args)?.into_iter().take_while(|&(at, _)| at <= time).last();
        before.map(|(_, value)| value).ok_or_else(|| no_look(format!("before {time} s"), "take a later time"))
    });
    w.add("probe_when(label, variable, 'above' or 'below', bound, after_s)", |point, args| {
        let (word, bound) = (args.text(2, "'above' or 'below'")?, args.number(3, "a bound")?);
        let after = args.number(4, "a time in seconds")?;
        let reached = |value: f64| match word.as_str() {
            "above" => Ok(value >= bound),
            "below" => Ok(value <= bound),
            _ => Err(wrong(format!("'above' or 'below' is wanted, not '{word}'"))),
        };
        for (at, value) in named(point, args)? {
            if at >= after && reached(value)? {
                return Ok(at);
            }
        }
        Ok(f64::INFINITY)
    });
    w.add("cut_time(label, n)", cut_time);
    w.add("queue_between(link, [from_s, to_s])", |point, args| {
        let name = args.text(0, "a link's name")?;
        let number = point.links.iter().position(|link| link.name == name);
        let number = number.ok_or_else(|| {
            let known: Vec<_> = point.links.iter().map(|link| link.name.as_str()).collect();
            refused(format!("there is no link called \"{name}\""), suggest(&name, &known))
        })?;
        let series = series(point)?;
        let looks = series.links[number].iter().map(|&(waiting, _)| f64::from(waiting));
        let values = within(point, timed(series, looks), args, 1)?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    });
}

/// The maximum; NaN if one of the values is NaN.
fn most(values: &[f64]) -> f64 {
    values.iter().copied().reduce(|a, b| if a > b || a.is_nan() { a } else { b }).unwrap_or(f64::NAN)
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().reduce(|a, b| if a < b || a.is_nan() { a } else { b }).unwrap_or(f64::NAN)
}

fn series(point: &PointResult) -> Result<&Series, Error> {
    point.series.as_ref().ok_or_else(|| refused("this needs probes", "add probe = \"1 s\" to the scenario"))
}

fn timed(series: &Series, values: impl Iterator<Item = f64>) -> Looks {
    // Division, not multiplication: a sample at 30 s is then exactly 30, and bounds work as written.
    series.at.iter().map(|at| at.as_nanos() as f64 / 1e9).zip(values).collect()
}

/// The time series of the variable that the second argument names.
pub(super) fn named(point: &PointResult, args: &Arguments) -> Result<Looks, Error> {
    flow_looks(point, args, &args.text(1, "a variable")?)
}

/// The time series of a variable, added over the flows of the group that the first argument names.
pub(super) fn flow_looks(point: &PointResult, args: &Arguments, variable: &str) -> Result<Looks, Error> {
    let flows = group_flows(point, &args.text(0, "a group's label")?)?;
    let series = series(point)?;
    if variable == "goodput" {
        let bits = payload_bits(&flows);
        let delivered = flow_looks(point, args, "delivered")?;
        let interval = delivered.get(1).map_or(f64::NAN, |(at, _)| *at);
        return Ok(delivered.into_iter().map(|(at, segments)| (at, segments * bits / interval)).collect());
    }
    let pick: Option<fn(&Sample) -> f32> = match variable {
        "cwnd" => Some(|sample| sample.cwnd),
        "ssthresh" => Some(|sample| sample.ssthresh),
        "srtt" => Some(|sample| sample.srtt_s),
        "in_flight" => Some(|sample| sample.in_flight),
        "delivered" => Some(|sample| sample.delivered),
        "arrived" => Some(|sample| sample.arrived),
        _ => None,
    };
    let mut sums = vec![0.0; series.at.len()];
    for flow in flows {
        if let Some(pick) = pick {
            let samples = series.flows[flow.id].iter().map(|sample| f64::from(pick(sample)));
            sums.iter_mut().zip(samples).for_each(|(sum, value)| *sum += value);
            continue;
        }
        let (names, values) = &series.inner[flow.id];
        let column = names.iter().position(|name| name == variable).ok_or_else(|| {
            let own = names.iter().map(|name| format!(", {name}")).collect::<String>();
            refused(
                format!("there is no \"{variable}\""),
                format!("there are cwnd, ssthresh, srtt, in_flight, delivered, arrived, goodput{own}"),
            )
        })?;
        let values = values.iter().skip(column).step_by(names.len()).map(|&value| f64::from(value));
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    Ok(timed(series, sums.into_iter()))
}

/// The values within (from, to]. These are the arguments from `first` on, or else the measuring window.
pub(super) fn within(
    point: &PointResult,
    looks: Looks,
    args: &Arguments,
    first: usize,
) -> Result<Vec<f64>, Error> {
    let (from, to) = if args.given.len() <= first {
        (whole_nanoseconds(point.measure_s[0]), whole_nanoseconds(point.measure_s[1]))
    } else {
        (args.number(first, "a time in seconds")?, args.number(first + 1, "a time in seconds")?)
    };
    if !(from.is_finite() && to.is_finite()) {
        return Ok(vec![f64::NAN]); // bounded by an event that never happened
    }
    let inside: Vec<_> =
        looks.into_iter().filter(|&(at, _)| at > from && at <= to).map(|(_, value)| value).collect();
    if inside.is_empty() {
        return Err(no_look(
            format!("between {from} s and {to} s"),
            "take a longer time or a shorter interval of the probes",
        ));
    }
    Ok(inside)
}

/// Rounds seconds to whole nanoseconds, to remove the error of a multiplication.
fn whole_nanoseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e9
}

/// The payload per segment, bits. The flows of a group have segments of one size.
fn payload_bits(flows: &[&FlowResult]) -> f64 {
    flows.first().map_or(f64::NAN, |flow| f64::from(flow.payload_bytes) * 8.0)
}

fn goodput_between(point: &PointResult, args: &Arguments) -> Answer {
    let flows = group_flows(point, &args.text(0, "a group's label")?)?;
    let bits = payload_bits(&flows);
    let span = args.number(2, "a time in seconds")? - args.number(1, "a time in seconds")?;
    let looks = within(point, flow_looks(point, args, "delivered")?, args, 1)?;
    Ok(looks.into_iter().sum::<f64>() * bits / span)
}

/// The time of the n-th reduction of cwnd: the sample that is at least a fifth below the one before.
fn cut_time(point: &PointResult, args: &Arguments) -> Answer {
    let wanted = args.number(1, "which cut, from 1")?;
    let looks = flow_looks(point, args, "cwnd")?;
    let cuts = looks.windows(2).filter(|pair| pair[1].1 <= 0.8 * pair[0].1).map(|pair| pair[1].0);
    let cut = cuts.enumerate().find(|&(number, _)| number as f64 + 1.0 >= wanted);
    Ok(cut.map_or(f64::INFINITY, |(_, at)| at))
}
