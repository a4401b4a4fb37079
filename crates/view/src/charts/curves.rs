//! From the samples of the probes to charts.

use super::axis::Axis;
use super::chart::{Chart, Curve, MAX_CURVES, Style};
use super::{sequence, transfers};
use crate::names::seconds;
use crate::shown::PointView;
use ackclock_scenario::series::{Sample, Series};
use std::ops::Range;

/// The unit of a quantity.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// Values are in bit/s, and are shown in what fits the largest of them.
    BitRate,
    /// Values are shown as they are.
    Fixed(&'static str),
}

impl Unit {
    /// The unit of these curves, which are scaled to it.
    pub(super) fn of(self, curves: &mut [Curve]) -> &'static str {
        match self {
            Unit::BitRate => scale_bits(curves),
            Unit::Fixed(unit) => unit,
        }
    }
}

/// A quantity of flows in a chart.
struct Quantity {
    id: &'static str,
    title: &'static str,
    unit: Unit,
    /// True: the sum of many flows. False: their mean.
    sum: bool,
    value: fn(&PointView<'_>, &Series, usize, usize) -> f64,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        id: "throughput",
        title: "Throughput at the receiver",
        unit: Unit::BitRate,
        sum: true,
        value: throughput,
    },
    Quantity {
        id: "cwnd",
        title: "cwnd",
        unit: Unit::Fixed("segments"),
        sum: false,
        value: |_, series, flow, look| active(series, flow, look, f64::from(series.flows[flow][look].cwnd)),
    },
    Quantity { id: "srtt", title: "Smoothed RTT", unit: Unit::Fixed("ms"), sum: false, value: srtt_ms },
];

/// The segments in flight, for pictures of published experiments.
const IN_FLIGHT: Quantity = Quantity {
    id: "in-flight",
    title: "In flight",
    unit: Unit::Fixed("segments"),
    sum: false,
    value: |_, series, flow, look| f64::from(series.flows[flow][look].in_flight),
};

fn throughput(shown: &PointView<'_>, series: &Series, flow: usize, look: usize) -> f64 {
    shown.rates(series, flow, look).1
}

/// A value of a flow while it has data to send. Between transfers there is no meaningful window.
fn active(series: &Series, flow: usize, look: usize, value: f64) -> f64 {
    let Sample { in_flight, arrived, .. } = series.flows[flow][look];
    if in_flight > 0.0 || arrived > 0.0 { value } else { f64::NAN }
}

fn srtt_ms(_: &PointView<'_>, series: &Series, flow: usize, look: usize) -> f64 {
    match series.flows[flow][look] {
        Sample { srtt_s, .. } if srtt_s > 0.0 => active(series, flow, look, f64::from(srtt_s) * 1e3),
        _ => f64::NAN, // no sample yet
    }
}

/// Averages over this number of samples.
fn smooth(curve: &mut Curve, looks: usize) {
    // The first sample is at time zero, before anything was sent.
    let Some((first, rest)) = curve.points.split_first() else { return };
    let mut smoothed = vec![*first];
    for piece in rest.chunks(looks) {
        let mean = piece.iter().map(|&(_, value)| value).sum::<f64>() / piece.len() as f64;
        smoothed.extend(piece.last().map(|&(at, _)| (at, mean)));
    }
    curve.points = smoothed;
}

/// The number of samples in two round trips. Within one, the bursts of a sender come and go.
fn looks_of_two_round_trips(shown: &PointView<'_>, series: &Series) -> usize {
    let [from, to, ..] = series.at[..] else { return 1 };
    let longest = shown.result.flows.iter().filter_map(|flow| flow.rtt_min_s).fold(0.0, f64::max);
    let looks = (2.0 * longest / to.since(from).as_secs_f64()).ceil();
    // The resolution must stay visible.
    (looks as usize).clamp(1, (series.at.len() / 100).max(1))
}

fn times(series: &Series) -> impl Iterator<Item = f64> {
    series.at.iter().copied().map(seconds)
}

fn curve(series: &Series, label: String, colour: usize, value: impl Fn(usize) -> f64) -> Curve {
    let points = times(series).enumerate().map(|(look, at)| (at, value(look))).collect();
    Curve { label, points, style: Style::Colour(colour), ..Curve::default() }
}

/// Several flows as one curve: their sum, or their mean with a band of the middle four fifths.
fn merged(
    series: &Series,
    label: String,
    colour: usize,
    flows: Range<usize>,
    sum: bool,
    value: impl Fn(usize, usize) -> f64,
) -> Curve {
    let mut merged = Curve { label, style: Style::Colour(colour), ..Curve::default() };
    for (look, at) in times(series).enumerate() {
        let mut values: Vec<f64> =
            flows.clone().map(|flow| value(flow, look)).filter(|v| v.is_finite()).collect();
        let total: f64 = values.iter().sum();
        if sum {
            merged.points.push((at, total));
            continue;
        }
        merged.points.push((at, total / values.len() as f64));
        if values.len() > 1 {
            values.sort_by(f64::total_cmp);
            let at_share = |share: f64| values[((values.len() - 1) as f64 * share + 0.5) as usize];
            merged.band.push((at, at_share(0.1), at_share(0.9)));
        }
    }
    merged
}

impl Quantity {
    /// One curve per flow if there are few, otherwise one per group.
    fn of_point(&self, shown: &PointView<'_>, series: &Series) -> Vec<Curve> {
        let flows = shown.result.flows.len();
        if flows <= MAX_CURVES {
            let one = |flow| {
                curve(series, shown.flow_name(flow), flow, |look| (self.value)(shown, series, flow, look))
            };
            return (0..flows).map(one).collect();
        }
        self.of_groups(shown, series, "", 0)
    }

    fn of_groups(&self, shown: &PointView<'_>, series: &Series, prefix: &str, colour: usize) -> Vec<Curve> {
        let several = shown.result.groups.len() > 1 || prefix.is_empty();
        let groups = shown.groups().take(MAX_CURVES).enumerate().map(|(number, (label, flows))| {
            let what = match (flows.len(), self.sum) {
                (1, _) => String::new(),
                (n, true) => format!(" ({n} flows together)"),
                (n, false) => format!(" (mean of {n})"),
            };
            let label = match (prefix.is_empty(), several) {
                (true, _) => format!("{label}{what}"),
                (false, true) => format!("{prefix}: {label}{what}"),
                (false, false) => format!("{prefix}{what}"),
            };
            merged(series, label, colour + number, flows, self.sum, |flow, look| {
                (self.value)(shown, series, flow, look)
            })
        });
        groups.collect()
    }
}

/// All charts of one point.
pub fn of_point(shown: &PointView<'_>) -> Vec<Chart> {
    let Some(series) = &shown.result.series else { return transfers::charts(shown) };
    let mut charts = Vec::new();
    for quantity in &QUANTITIES {
        let mut curves = quantity.of_point(shown, series);
        if quantity.id == "throughput" {
            curves.extend(streams(shown, series));
            let looks = looks_of_two_round_trips(shown, series);
            curves.iter_mut().for_each(|curve| smooth(curve, looks));
        }
        if quantity.id == "cwnd" && shown.result.flows.len() == 1 {
            let mut ssthresh =
                curve(series, "ssthresh".to_owned(), 0, |look| f64::from(series.flows[0][look].ssthresh));
            ssthresh.style = Style::Aside;
            curves[0].label = "cwnd".to_owned();
            curves.insert(0, ssthresh);
        }
        charts.push(chart(quantity, shown, curves));
    }
    charts.insert(2, queue_chart(shown, queues(shown, series, shown.links().take(MAX_CURVES))));
    charts.extend(transfers::charts(shown));
    if !many_transfers(shown) {
        charts.extend(inner(shown, series));
    }
    charts.extend(sequence::charts(shown));
    charts
}

/// True if there are many flows and all of them end: their controllers' variables say little, and the
/// times of the transfers say much.
fn many_transfers(shown: &PointView<'_>) -> bool {
    let flows = &shown.result.flows;
    flows.len() > MAX_CURVES && flows.iter().all(|flow| flow.transfers.is_some())
}

/// The points of a small sweep that have samples, and the longest of them. None if there were too many
/// curves.
struct Overlay<'a> {
    all: Vec<(&'a PointView<'a>, &'a Series)>,
    longest: &'a PointView<'a>,
}

impl<'a> Overlay<'a> {
    fn of(points: &'a [PointView<'a>]) -> Option<Overlay<'a>> {
        let curves: usize = points.iter().map(|shown| shown.result.groups.len()).sum();
        let all: Option<Vec<_>> =
            points.iter().map(|shown| shown.result.series.as_ref().map(|series| (shown, series))).collect();
        let longest = points.iter().max_by(|a, b| a.result.duration_s.total_cmp(&b.result.duration_s))?;
        all.filter(|_| curves <= MAX_CURVES).map(|all| Overlay { all, longest })
    }

    /// One chart with every point's curves.
    fn chart(&self, quantity: &Quantity) -> Chart {
        let mut curves = Vec::new();
        for (shown, series) in &self.all {
            let mut own = quantity.of_groups(shown, series, &shown.name, curves.len());
            if quantity.id == "throughput" {
                let looks = looks_of_two_round_trips(shown, series);
                own.iter_mut().for_each(|curve| smooth(curve, looks));
            }
            curves.extend(own);
        }
        chart(quantity, self.longest, curves)
    }
}

/// Charts with the curves of all points of a small sweep. Empty if there were too many.
pub fn overlaid(points: &[PointView<'_>]) -> Vec<Chart> {
    let Some(overlay) = Overlay::of(points).filter(|_| points.len() > 1) else { return Vec::new() };
    let mut charts: Vec<Chart> = QUANTITIES.iter().map(|quantity| overlay.chart(quantity)).collect();
    charts.insert(2, queue_chart(overlay.longest, busiest_queues(&overlay.all)));
    charts
}

/// One chart for all points: throughput at the receiver, or segments in flight.
pub fn one(points: &[PointView<'_>], in_flight: bool) -> Option<Chart> {
    let quantity = if in_flight { &IN_FLIGHT } else { &QUANTITIES[0] };
    Overlay::of(points).map(|overlay| overlay.chart(quantity))
}

/// The longest queue of every point: that of the bottleneck, whatever its name is.
fn busiest_queues(all: &[(&PointView<'_>, &Series)]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (shown, series) in all {
        let links = &shown.result.links;
        let busiest = (0..links.len()).max_by(|&a, &b| links[a].queue_mean.total_cmp(&links[b].queue_mean));
        for mut curve in queues(shown, series, busiest.into_iter()) {
            curve.label = format!("{} at {}", shown.name, curve.label);
            curve.style = Style::Colour(curves.len());
            curves.push(curve);
        }
    }
    curves
}

fn chart(quantity: &Quantity, shown: &PointView<'_>, mut curves: Vec<Curve>) -> Chart {
    let unit = quantity.unit.of(&mut curves);
    Chart {
        id: quantity.id.to_owned(),
        title: quantity.title.to_owned(),
        unit: unit.to_owned(),
        curves,
        x: time(shown),
        afloat: quantity.id == "srtt",
        ..Chart::default()
    }
}

fn time(shown: &PointView<'_>) -> Axis {
    Axis::Time { duration: shown.result.duration_s, window: shown.window() }
}

fn queue_chart(shown: &PointView<'_>, mut curves: Vec<Curve>) -> Chart {
    // The common end of all labels goes into the title.
    let place = |label: &str| label.rsplit_once(" at ").map_or(label, |(_, link)| link).to_owned();
    let mut places: Vec<String> = curves.iter().map(|curve| place(&curve.label)).collect();
    places.dedup();
    let title = match &places[..] {
        [one] => {
            let end = format!(" at {one}");
            for curve in &mut curves {
                curve.label = curve.label.trim_end_matches(&end).to_owned();
            }
            format!("Queue at {one}")
        }
        _ => "Queue".to_owned(),
    };
    Chart {
        id: "queue".to_owned(),
        title,
        unit: "packets".to_owned(),
        curves,
        x: time(shown),
        ..Chart::default()
    }
}

fn queues(shown: &PointView<'_>, series: &Series, links: impl Iterator<Item = usize>) -> Vec<Curve> {
    links
        .enumerate()
        .map(|(colour, link)| {
            let label = shown.result.links[link].name.clone();
            curve(series, label, colour, |look| f64::from(series.links[link][look].0))
        })
        .collect()
}

/// Unresponsive traffic, next to the goodput of the flows.
fn streams(shown: &PointView<'_>, series: &Series) -> Option<Curve> {
    let label = match &shown.result.traffic[..] {
        [] => return None,
        [one] => one.label.clone(),
        several => format!("unresponsive traffic ({})", several.len()),
    };
    let mut total =
        curve(series, label, 0, |look| series.streams.iter().map(|stream| f64::from(stream[look])).sum());
    total.style = Style::Aside;
    Some(total)
}

/// The internal variables of the schemes, with a small chart for each.
fn inner(shown: &PointView<'_>, series: &Series) -> Vec<Chart> {
    let mut names: Vec<&str> = Vec::new();
    for name in series.inner.iter().flat_map(|(names, _)| names) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let value = |name: &str, flow: usize, look: usize| {
        let (names, values) = &series.inner[flow];
        let place = names.iter().position(|known| known == name)?;
        values.get(look * names.len() + place).map(|&value| f64::from(value))
    };
    let has = |name: &str, flow: usize| series.inner[flow].0.iter().any(|known| known == name);
    let few = shown.result.flows.len() <= MAX_CURVES;
    names
        .into_iter()
        .map(|name| {
            let at = |flow: usize, look: usize| {
                active(series, flow, look, value(name, flow, look).unwrap_or(f64::NAN))
            };
            let curves: Vec<Curve> = if few {
                let owners = (0..shown.result.flows.len()).filter(|&flow| has(name, flow));
                owners.map(|flow| curve(series, shown.flow_name(flow), flow, |look| at(flow, look))).collect()
            } else {
                let groups = shown.groups().enumerate().filter(|(_, (_, flows))| has(name, flows.start));
                let groups = groups.take(MAX_CURVES).map(|(colour, (label, flows))| {
                    let label = format!("{label}, mean of {}", flows.len());
                    merged(series, label, colour, flows, false, at)
                });
                groups.collect()
            };
            // The title names the flow if there is no legend.
            let title = match &curves[..] {
                [one] if shown.result.flows.len() > 1 => format!("{name} of {}", one.label),
                _ => name.to_owned(),
            };
            Chart {
                id: format!("inner-{name}"),
                title,
                unit: String::new(),
                curves,
                x: time(shown),
                small: true,
                ..Chart::default()
            }
        })
        .collect()
}

/// Converts rates to the unit that fits the largest of them.
fn scale_bits(curves: &mut [Curve]) -> &'static str {
    let points = curves.iter().flat_map(|curve| &curve.points);
    let most = points.map(|&(_, value)| value).filter(|value| value.is_finite()).fold(0.0_f64, f64::max);
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let (worth, unit) = units.into_iter().find(|&(worth, _)| most >= 2.0 * worth).unwrap_or((1.0, "bit/s"));
    for curve in curves {
        curve.points.iter_mut().for_each(|(_, value)| *value /= worth);
        curve.band.iter_mut().for_each(|(_, low, high)| (*low, *high) = (*low / worth, *high / worth));
    }
    unit
}
