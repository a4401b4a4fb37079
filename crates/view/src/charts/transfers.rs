//! Charts of finished transfers: how many were complete within which time, how slow the sizes are, and how
//! the time of equal transfers changes in a run.

use super::axis::{Axis, tidy};
use super::chart::{Chart, Curve, MAX_CURVES, Mark, Style};
use crate::names::bytes;
use crate::shown::PointView;
use ackclock_scenario::results::{FlowResult, GroupResult, Percentiles, SizeClass};

/// With fewer finished transfers a distribution says little.
const MIN_FINISHED: usize = 10;
/// The largest number of steps of a distribution's curve.
const MAX_STEPS: usize = 400;

/// The charts of a point; none if few transfers finished.
pub(super) fn charts(shown: &PointView<'_>) -> Vec<Chart> {
    let over_time = over_time(shown, latencies(shown, "", 0));
    [over_time, completions(shown), slowdowns(shown)].into_iter().flatten().collect()
}

/// The times of equal transfers in one chart, with the curves of all points of a small sweep.
pub fn overlaid(points: &[PointView<'_>]) -> Option<Chart> {
    let longest = points.iter().max_by(|a, b| a.result.duration_s.total_cmp(&b.result.duration_s))?;
    let mut curves: Vec<Curve> = Vec::new();
    for shown in points {
        curves.extend(latencies(shown, &shown.name, curves.len()));
    }
    over_time(longest, curves).filter(|chart| points.len() > 1 && chart.curves.len() <= MAX_CURVES)
}

fn over_time(shown: &PointView<'_>, curves: Vec<Curve>) -> Option<Chart> {
    let mut owners: Vec<&str> = curves.iter().filter_map(|curve| curve.label.rsplit(": ").next()).collect();
    owners.dedup();
    let title = match &owners[..] {
        [] => return None,
        // There is no legend, or it names the points.
        [one] => format!("Time of a transfer of {one}, by when it began"),
        _ => "Time of a transfer, by when it began".to_owned(),
    };
    Some(Chart {
        id: "completion-over-time".to_owned(),
        title,
        unit: "ms".to_owned(),
        x: Axis::Time { duration: shown.result.duration_s, window: shown.window() },
        curves,
        ..Chart::default()
    })
}

/// When transfers began, s, and how long they took, ms: a curve for each group whose transfers have one size.
/// With several sizes, the size says more than the time of day.
fn latencies(shown: &PointView<'_>, prefix: &str, colour: usize) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (label, flows) in shown.groups() {
        let flows = &shown.result.flows[flows];
        let mut sizes = flows.iter().flat_map(|flow| &flow.sizes_bytes);
        let first = sizes.next();
        if first.is_none() || sizes.any(|size| Some(size) != first) {
            continue;
        }
        let mut points: Vec<(f64, f64)> = flows
            .iter()
            .flat_map(|flow| flow.begins_s.iter().zip(&flow.completions_s))
            .map(|(&begin, &took)| (begin, took * 1e3))
            .collect();
        if points.len() >= MIN_FINISHED {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            curves.push(Curve {
                label: if prefix.is_empty() { label.to_owned() } else { format!("{prefix}: {label}") },
                points,
                style: Style::Colour(colour + curves.len()),
                mark: if flows.len() == 1 { Mark::Line } else { Mark::Dot },
                ..Curve::default()
            });
        }
    }
    curves
}

/// The cumulative distribution of completion times, a curve per group.
fn completions(shown: &PointView<'_>) -> Option<Chart> {
    let mut curves = Vec::new();
    for (label, flows) in shown.groups() {
        let times = shown.result.flows[flows].iter().flat_map(|flow: &FlowResult| &flow.completions_s);
        let mut times: Vec<f64> = times.copied().filter(|&time| time > 0.0).collect();
        if times.len() >= MIN_FINISHED {
            times.sort_by(f64::total_cmp);
            let style = Style::Colour(curves.len());
            let curve = Curve { label: label.to_owned(), points: steps(&times), style, ..Curve::default() };
            curves.push(curve);
        }
    }
    curves.truncate(MAX_CURVES);
    let times = || curves.iter().flat_map(|curve| &curve.points).map(|&(time, _)| time);
    let (least, most) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    Some(Chart {
        id: "completion-times".to_owned(),
        title: match &curves[..] {
            // There is no legend.
            [only] if shown.result.groups.len() > 1 => {
                format!("Transfers of {} complete within this time", only.label)
            }
            _ => "Transfers complete within this time".to_owned(),
        },
        unit: "% of the finished".to_owned(),
        x: Axis::Log { label: "time", ticks: decades(least, most, seconds) },
        curves,
        ..Chart::default()
    })
}

/// Time and share in per cent of sorted times, thinned out.
fn steps(times: &[f64]) -> Vec<(f64, f64)> {
    let share = |rank: usize| (times[rank], 100.0 * (rank + 1) as f64 / times.len() as f64);
    if times.len() <= MAX_STEPS {
        return (0..times.len()).map(share).collect();
    }
    let last = times.len() - 1;
    (0..MAX_STEPS).map(|step| share(step * last / (MAX_STEPS - 1))).collect()
}

/// The slowdown of each class of sizes, a curve per group.
fn slowdowns(shown: &PointView<'_>) -> Option<Chart> {
    let mut curves = Vec::new();
    for group in &shown.result.groups {
        let points: Vec<(f64, Percentiles)> = by_size(group).collect();
        if points.len() > 1 {
            curves.push(Curve {
                label: group.label.clone(),
                points: points.iter().map(|(size, slowdown)| (*size, slowdown.mean)).collect(),
                band: points.iter().map(|(size, slowdown)| (*size, slowdown.p50, slowdown.p99)).collect(),
                style: Style::Colour(curves.len()),
                ..Curve::default()
            });
        }
    }
    curves.truncate(MAX_CURVES);
    let sizes = || curves.iter().flat_map(|curve| &curve.points).map(|&(size, _)| size);
    let (least, most) = (sizes().reduce(f64::min)?, sizes().reduce(f64::max)?);
    Some(Chart {
        id: "slowdown-by-size".to_owned(),
        title: "Mean slowdown by size; shaded from the median to 99 %".to_owned(),
        x: Axis::Log { label: "size", ticks: decades(least, most, |value| bytes(value.round() as u64)) },
        curves,
        ..Chart::default()
    })
}

/// A size in the middle of each class, bytes, and its slowdown.
fn by_size(group: &GroupResult) -> impl Iterator<Item = (f64, Percentiles)> + '_ {
    // The classes are decades.
    let middle = |class: &SizeClass| match (class.above_bytes, class.to_bytes) {
        (0, Some(to)) => to as f64 / 10_f64.sqrt(),
        (above, _) => above as f64 * 10_f64.sqrt(),
    };
    group.transfers_by_size.iter().filter_map(move |class| Some((middle(class), class.slowdown?)))
}

/// The powers of ten around these positive values, with names.
fn decades(least: f64, most: f64, name: fn(f64) -> String) -> Vec<(f64, String)> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    (first..=last.max(first + 1)).map(|power| 10_f64.powi(power)).map(|value| (value, name(value))).collect()
}

fn seconds(value: f64) -> String {
    match value {
        value if value < 0.999e-3 => format!("{} us", tidy((value * 1e6).round())),
        value if value < 0.999 => format!("{} ms", tidy((value * 1e3).round())),
        value => format!("{} s", tidy(value.round())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_surround_the_values_and_have_units() {
        let named = |least, most, name| {
            decades(least, most, name).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(named(3e-3, 0.8, seconds), "1 ms, 10 ms, 100 ms, 1 s");
        assert_eq!(named(1e-5, 1e-5, seconds), "10 us, 100 us");
    }

    #[test]
    fn a_distribution_ends_at_all_however_it_is_thinned() {
        let times: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let thin = steps(&times);
        assert_eq!((thin.len(), thin[0], thin[MAX_STEPS - 1]), (MAX_STEPS, (1.0, 0.01), (10_000.0, 100.0)));
        assert_eq!(steps(&[1.0, 2.0]), [(1.0, 50.0), (2.0, 100.0)]);
    }
}
