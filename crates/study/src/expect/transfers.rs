//! Functions over the transfers that a group's flows have finished, all of them or those of a range of sizes.

use super::call::{Answer, Arguments, refused};
use super::functions::{FunctionRegistry, group_flows};
use ackclock_scenario::results::{FlowResult, PointResult, Spread, percentile};
use minijinja::Error;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    w.add("started(label)", |point, args| {
        Ok(with_transfers(point, args)?
            .iter()
            .filter_map(|flow| flow.transfers)
            .map(|it| it.started as f64)
            .sum())
    });
    w.add("unfinished(label)", |point, args| {
        let flows = with_transfers(point, args)?;
        Ok(flows.iter().filter_map(|flow| flow.transfers).map(|it| it.unfinished as f64).sum())
    });
    w.add("completion_percentile(label, percentile, [from_bytes, to_bytes])", |point, args| {
        percentile_of(point, args, |flow| &flow.completions_s)
    });
    w.add("completion_std(label)", |point, args| {
        Ok(Spread::of(&finished(point, args, 1, |flow| &flow.completions_s)?).std)
    });
    w.add("slowdown(label, [from_bytes, to_bytes])", |point, args| {
        let values = finished(point, args, 1, |flow| &flow.slowdowns)?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    });
    w.add("slowdown_percentile(label, percentile, [from_bytes, to_bytes])", |point, args| {
        percentile_of(point, args, |flow| &flow.slowdowns)
    });
}

fn percentile_of(point: &PointResult, args: &Arguments, value: fn(&FlowResult) -> &Vec<f64>) -> Answer {
    let mut values = finished(point, args, 2, value)?;
    values.sort_by(f64::total_cmp);
    Ok(percentile(&values, args.number(1, "a percentile")?))
}

/// A value of every finished transfer of the group that the first argument names; the arguments from `first`
/// on, if they are there, say of which sizes: above the one and at most the other.
fn finished(
    point: &PointResult,
    args: &Arguments,
    first: usize,
    value: fn(&FlowResult) -> &Vec<f64>,
) -> Result<Vec<f64>, Error> {
    let flows = with_transfers(point, args)?;
    let (above, most) = if args.given.len() > first {
        (args.number(first, "a size in bytes")?, args.number(first + 1, "a size in bytes")?)
    } else {
        (f64::NEG_INFINITY, f64::INFINITY)
    };
    let all = flows.iter().flat_map(|flow| value(flow).iter().zip(&flow.sizes_bytes));
    let within = all.filter(|&(_, &bytes)| bytes as f64 > above && bytes as f64 <= most);
    Ok(within.map(|(&value, _)| value).collect())
}

/// The flows of the group that the first argument names, whose data must have an end.
fn with_transfers<'a>(point: &'a PointResult, args: &Arguments) -> Result<Vec<&'a FlowResult>, Error> {
    let label = args.text(0, "a group's label")?;
    let flows = group_flows(point, &label)?;
    if flows.iter().all(|flow| flow.transfers.is_none()) {
        return Err(refused(
            format!("\"{label}\" makes no transfers"),
            "give the group a size, such as size = \"1 MB\"",
        ));
    }
    Ok(flows)
}
