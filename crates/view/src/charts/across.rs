//! Charts of results against a swept value, for example goodput against the rate of the link.

use super::axis::Axis;
use super::chart::{Chart, Curve, MAX_CURVES, Style};
use super::curves::Unit;
use crate::names::{plain, short};
use ackclock_scenario::Sweep;
use ackclock_scenario::results::{BurstResult, LinkResult, PointResult, Transfers};
use ackclock_units::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

/// The least number of values of an axis for a curve.
const MIN_VALUES: usize = 3;
/// If the largest value of an axis is at least this many times the smallest, the axis is logarithmic.
const DECADES: f64 = 15.0;

/// A quantity of a point, or of one of its groups.
pub(super) struct Quantity {
    id: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    /// True: one curve per group. False: one curve for all.
    pub(super) of_groups: bool,
    /// Its value for a point and the number of a group.
    pub(super) value: fn(&PointResult, usize) -> f64,
}

pub(super) const QUANTITIES: [Quantity; 9] = [
    Quantity {
        id: "goodput",
        title: "Goodput",
        unit: Unit::BitRate,
        of_groups: true,
        value: |point, group| point.groups[group].goodput_bps.total,
    },
    Quantity {
        id: "transmitted",
        title: "Transmitted throughput of bursts",
        unit: Unit::BitRate,
        of_groups: true,
        value: |point, group| of_bursts(point, group, |bursts| bursts.transmitted_bps),
    },
    Quantity {
        id: "received",
        title: "Received throughput of bursts",
        unit: Unit::BitRate,
        of_groups: true,
        value: |point, group| of_bursts(point, group, |bursts| bursts.received_bps),
    },
    Quantity {
        id: "completion",
        title: "Median completion time",
        unit: Unit::Fixed("ms"),
        of_groups: true,
        value: |point, group| of_transfers(point, group, |it| it.p50_s),
    },
    Quantity {
        id: "completion-99",
        title: "Completion time of 99 %",
        unit: Unit::Fixed("ms"),
        of_groups: true,
        value: |point, group| of_transfers(point, group, |it| it.p99_s),
    },
    Quantity {
        id: "utilisation",
        title: "Utilisation",
        unit: Unit::Fixed("%"),
        of_groups: false,
        value: |point, _| busiest(point).map_or(f64::NAN, |link| link.utilisation * 100.0),
    },
    Quantity {
        id: "queue",
        title: "Mean queue",
        unit: Unit::Fixed("packets"),
        of_groups: false,
        value: |point, _| busiest(point).map_or(f64::NAN, |link| link.queue_mean),
    },
    Quantity {
        id: "drop-rate",
        title: "Drop rate",
        unit: Unit::Fixed(""),
        of_groups: false,
        value: |point, _| busiest(point).map_or(f64::NAN, |link| link.drop_rate),
    },
    Quantity {
        id: "jain",
        title: "Jain’s index",
        unit: Unit::Fixed(""),
        of_groups: false,
        value: |point, _| if point.flows.len() > 1 { point.jain.unwrap_or(f64::NAN) } else { f64::NAN },
    },
];

/// The value for all bursts of a group together; NaN if it writes none.
fn of_bursts(point: &PointResult, group: usize, value: fn(&BurstResult) -> Option<f64>) -> f64 {
    let label = &point.groups[group].label;
    let flows = point.flows.iter().filter(|flow| flow.label == *label);
    flows.map(|flow| flow.bursts.as_ref().and_then(value)).sum::<Option<f64>>().unwrap_or(f64::NAN)
}

/// A time of a group's transfers, ms; NaN if none finished.
fn of_transfers(point: &PointResult, group: usize, value: fn(&Transfers) -> Option<f64>) -> f64 {
    let seconds = point.groups[group].transfers.as_ref().and_then(value);
    seconds.map_or(f64::NAN, |seconds| seconds * 1e3)
}

/// The link with the longest queue: the bottleneck, whatever its name is.
fn busiest(point: &PointResult) -> Option<&LinkResult> {
    point.links.iter().max_by(|a, b| a.queue_mean.total_cmp(&b.queue_mean))
}

/// The number that a value of an axis stands for.
pub fn number(value: &serde_json::Value) -> Option<f64> {
    let text = match value {
        serde_json::Value::String(text) => text,
        other => return other.as_f64(),
    };
    let counted = |unit| text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok();
    None.or_else(|| text.parse::<Rate>().ok().map(Rate::bps_f64))
        .or_else(|| text.parse::<Duration>().ok().map(Duration::as_secs_f64))
        .or_else(|| text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
        .or_else(|| ["bdp", "packets", "packet", "segments"].into_iter().find_map(counted))
}

/// The axis with the most values, if all of them are numbers.
fn numeric_axis<'a>(sweep: &'a Sweep, results: &[PointResult]) -> Option<(&'a str, Vec<(f64, String)>)> {
    let mut best: Option<(&str, Vec<(f64, String)>)> = None;
    for axis in &sweep.axes {
        let values: Option<Vec<_>> = results
            .iter()
            .map(|point| point.parameters.get(axis).and_then(|value| Some((number(value)?, plain(value)))))
            .collect();
        let Some(mut values) = values else { continue };
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values.dedup_by(|a, b| a.0 == b.0);
        let least = best.as_ref().map_or(MIN_VALUES, |(_, values)| values.len() + 1);
        if values.len() >= least {
            best = Some((axis, values));
        }
    }
    best
}

/// Charts of every quantity against the numeric axis. None if there is no such axis, or if there were too
/// many curves.
pub fn charts(sweep: &Sweep, results: &[PointResult]) -> Vec<Chart> {
    let Some((axis, ticks)) = numeric_axis(sweep, results) else { return Vec::new() };
    let groups = results.first().map_or(0, |point| point.groups.len());
    if results.iter().any(|point| point.groups.len() != groups) {
        return Vec::new();
    }
    let log = ticks.first().zip(ticks.last()).is_some_and(|(a, b)| a.0 > 0.0 && b.0 > DECADES * a.0);
    let x = Axis::Values { label: short(axis), log, ticks };
    let mut charts = Vec::new();
    for quantity in &QUANTITIES {
        let mut curves = Vec::new();
        for group in 0..if quantity.of_groups { groups } else { 1 } {
            for (name, points) in by_other_axes(axis, results) {
                let label = match (quantity.of_groups && groups > 1, name.is_empty()) {
                    (false, _) => name,
                    (true, true) => results[0].groups[group].label.clone(),
                    (true, false) => format!("{name}: {}", results[0].groups[group].label),
                };
                curves
                    .push(curve(label, curves.len(), axis, &points, |point| (quantity.value)(point, group)));
            }
        }
        let drawn = curves.iter().flat_map(|curve| &curve.points).any(|(_, value)| value.is_finite());
        if drawn && curves.len() <= MAX_CURVES {
            let unit = quantity.unit.of(&mut curves);
            charts.push(Chart {
                id: format!("across-{}", quantity.id),
                title: quantity.title.to_owned(),
                unit: unit.to_owned(),
                curves,
                x: x.clone(),
                small: true,
                ..Chart::default()
            });
        }
    }
    charts
}

/// The points, grouped by the values of all axes except this one.
fn by_other_axes<'a>(axis: &str, results: &'a [PointResult]) -> Vec<(String, Vec<&'a PointResult>)> {
    let mut sorted: Vec<(String, Vec<&PointResult>)> = Vec::new();
    for point in results {
        let others: Vec<_> = point.parameters.iter().filter(|(name, _)| *name != axis).collect();
        let name = match &others[..] {
            [(_, value)] => plain(value),
            others => {
                let words = others.iter().map(|(axis, value)| format!("{} {}", short(axis), plain(value)));
                words.collect::<Vec<_>>().join(", ")
            }
        };
        match sorted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => sorted.push((name, vec![point])),
        }
    }
    sorted
}

/// The means over seeds, with a band from the minimum to the maximum.
fn curve(
    label: String,
    colour: usize,
    axis: &str,
    points: &[&PointResult],
    value: impl Fn(&PointResult) -> f64,
) -> Curve {
    let mut at: BTreeMap<u64, (f64, Vec<f64>)> = BTreeMap::new();
    for point in points {
        let Some(x) = point.parameters.get(axis).and_then(number) else { continue };
        // The bits of a non-negative float sort like the number.
        at.entry(x.to_bits()).or_insert((x, Vec::new())).1.push(value(point));
    }
    let mut curve = Curve { label, style: Style::Colour(colour), ..Curve::default() };
    for (x, values) in at.into_values() {
        curve.points.push((x, values.iter().sum::<f64>() / values.len() as f64));
        if values.len() > 1 {
            let ends = (
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(0.0, f64::max),
            );
            curve.band.push((x, ends.0, ends.1));
        }
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::number;
    use serde_json::json;

    #[test]
    fn values_with_units_are_numbers() {
        for (value, expected) in [
            (json!("100 Mbit/s"), Some(1e8)),
            (json!("40 ms"), Some(0.04)),
            (json!("64 kB"), Some(64e3)),
            (json!("0.5 bdp"), Some(0.5)),
            (json!("5000 packets"), Some(5000.0)),
            (json!(1e-6), Some(1e-6)),
            (json!("layered"), None),
            (json!(true), None),
        ] {
            assert_eq!(number(&value), expected, "{value}");
        }
    }
}
