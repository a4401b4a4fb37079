//! Tidy tables for other programs: one row per flow, group, link or finished transfer of each point, with
//! numbers as numbers and axes as columns.

use super::csv::Csv;
use super::directory::OutputDirectory;
use crate::failure::Failure;
use ackclock_scenario::results::{CAUSES, FlowResult, GroupResult, LinkResult, PointResult, Transfers};
use ackclock_view::charts::across::number;
use ackclock_view::names::plain;
use std::path::Path;

/// A column: its name, and the value of a row.
type Column<T> = (&'static str, fn(&T) -> Option<f64>);

const OF_FLOWS: &[Column<FlowResult>] = &[
    ("goodput_bps", |it| Some(it.goodput_bps)),
    ("throughput_bps", |it| Some(it.throughput_bps)),
    ("sent", |it| Some(it.sent as f64)),
    ("delivered", |it| Some(it.delivered as f64)),
    ("retransmits", |it| Some(it.retransmits as f64)),
    ("duplicates", |it| Some(it.duplicates as f64)),
    ("fast_retransmits", |it| Some(it.fast_retransmits as f64)),
    ("timeouts", |it| Some(it.timeouts as f64)),
    ("window_cuts", |it| Some(it.window_cuts as f64)),
    ("rtt_min_s", |it| it.rtt_min_s),
    ("rtt_mean_s", |it| it.rtt_mean_s),
    ("cwnd_mean", |it| Some(it.cwnd_mean)),
    ("propagation_rtt_s", |it| Some(it.propagation_rtt_s)),
    ("narrowest_bps", |it| Some(it.narrowest_bps)),
    ("jitter_s", |it| Some(it.jitter_s.unwrap_or(0.0))),
    ("started", |it| it.transfers.map(|it| it.started as f64)),
    ("finished", |it| it.transfers.map(|it| it.finished as f64)),
    ("unfinished", |it| it.transfers.map(|it| it.unfinished as f64)),
    ("mean_bytes", |it| it.transfers?.mean_bytes),
    ("completion_mean_s", |it| it.transfers?.mean_s),
    ("completion_p50_s", |it| it.transfers?.p50_s),
    ("completion_p99_s", |it| it.transfers?.p99_s),
    ("slowdown_mean", |it| Some(it.transfers?.slowdown?.mean)),
];

/// The transfers of a group.
fn transfers(group: &GroupResult) -> Option<Transfers> {
    group.transfers
}

const OF_GROUPS: &[Column<GroupResult>] = &[
    ("flows", |it| Some(it.count as f64)),
    ("goodput_total_bps", |it| Some(it.goodput_bps.total)),
    ("goodput_mean_bps", |it| Some(it.goodput_bps.mean)),
    ("goodput_min_bps", |it| Some(it.goodput_bps.min)),
    ("goodput_max_bps", |it| Some(it.goodput_bps.max)),
    ("goodput_std_bps", |it| Some(it.goodput_bps.std)),
    ("jain", |it| it.jain),
    ("started", |it| Some(transfers(it)?.started as f64)),
    ("finished", |it| Some(transfers(it)?.finished as f64)),
    ("unfinished", |it| Some(transfers(it)?.unfinished as f64)),
    ("mean_bytes", |it| transfers(it)?.mean_bytes),
    ("completion_mean_s", |it| transfers(it)?.mean_s),
    ("completion_p50_s", |it| transfers(it)?.p50_s),
    ("completion_p90_s", |it| transfers(it)?.p90_s),
    ("completion_p99_s", |it| transfers(it)?.p99_s),
    ("slowdown_mean", |it| Some(transfers(it)?.slowdown?.mean)),
    ("slowdown_p50", |it| Some(transfers(it)?.slowdown?.p50)),
    ("slowdown_p99", |it| Some(transfers(it)?.slowdown?.p99)),
];

const OF_LINKS: &[Column<LinkResult>] = &[
    ("rate_bps", |it| Some(it.rate_bps)),
    ("utilisation", |it| Some(it.utilisation)),
    ("arrivals", |it| Some(it.arrivals as f64)),
    ("drops", |it| Some(it.drops as f64)),
    ("drop_rate", |it| Some(it.drop_rate)),
    ("marks", |it| Some(it.marks as f64)),
    ("queue_mean_packets", |it| Some(it.queue_mean)),
    ("queue_max_packets", |it| Some(f64::from(it.queue_max))),
];

/// Writes `tidy/links.csv`: with the drops by their causes.
fn links(to: &OutputDirectory, results: &[PointResult], axes: &[String]) -> Result<(), Failure> {
    let names = OF_LINKS.iter().map(|it| it.0).chain(CAUSES.iter().map(|it| it.0));
    let words = axes.iter().map(String::as_str).chain(["seed", "link"]);
    let header: Vec<String> = words.chain(names).map(str::to_owned).collect();
    let mut table = Csv::open(to, Path::new("tidy"), "links.csv", &header)?;
    for point in results {
        for link in &point.links {
            let numbers = OF_LINKS.iter().map(|(_, value)| cell(value(link)));
            let causes = CAUSES.iter().map(|(_, value)| value(link).to_string());
            table.row(place(point).chain([link.name.clone()]).chain(numbers).chain(causes))?;
        }
    }
    table.finish()
}

/// Writes `tidy/flows.csv`, `tidy/groups.csv`, `tidy/links.csv` and, where transfers were finished,
/// `tidy/transfers.csv`.
pub(super) fn write(to: &OutputDirectory, results: &[PointResult], axes: &[String]) -> Result<(), Failure> {
    let folder = Path::new("tidy");
    let header = |words: &[&'static str], columns: &mut dyn Iterator<Item = &'static str>| -> Vec<String> {
        let axes = axes.iter().cloned().chain(["seed".to_owned()]);
        axes.chain(words.iter().chain(&columns.collect::<Vec<_>>()).map(|&name| name.to_owned())).collect()
    };
    let table = |name: &str, header: Vec<String>| Csv::open(to, folder, name, &header);
    let words = ["flow", "label", "control", "recovery"];
    let mut flows = table("flows.csv", header(&words, &mut OF_FLOWS.iter().map(|it| it.0)))?;
    let mut groups = table("groups.csv", header(&["label"], &mut OF_GROUPS.iter().map(|it| it.0)))?;
    for point in results {
        for flow in &point.flows {
            let words =
                [flow.id.to_string(), flow.label.clone(), flow.control.clone(), flow.recovery.clone()];
            let row = place(point).chain(words).chain(OF_FLOWS.iter().map(|(_, value)| cell(value(flow))));
            flows.row(row)?;
        }
        for group in &point.groups {
            let numbers = OF_GROUPS.iter().map(|(_, value)| cell(value(group)));
            groups.row(place(point).chain([group.label.clone()]).chain(numbers))?;
        }
    }
    flows.finish()?;
    groups.finish()?;
    links(to, results, axes)?;
    if results.iter().flat_map(|point| &point.flows).all(|flow| flow.completions_s.is_empty()) {
        return Ok(());
    }
    let columns = ["begin_s", "size_bytes", "completion_s", "slowdown"];
    let mut all = table("transfers.csv", header(&["flow", "label"], &mut columns.into_iter()))?;
    for point in results {
        for flow in &point.flows {
            for (number, took) in flow.completions_s.iter().enumerate() {
                let words = [flow.id.to_string(), flow.label.clone()];
                let numbers = [
                    cell(Some(flow.begins_s[number])),
                    flow.sizes_bytes[number].to_string(),
                    cell(Some(*took)),
                    cell(flow.slowdowns.get(number).copied()),
                ];
                all.row(place(point).chain(words).chain(numbers))?;
            }
        }
    }
    all.finish()
}

/// The values of the axes, in base units if they are numbers, and the seed.
fn place(point: &PointResult) -> impl Iterator<Item = String> {
    let value = |value: &serde_json::Value| match number(value) {
        Some(number) => number.to_string(),
        None => plain(value),
    };
    point.parameters.values().map(value).chain([point.seed.to_string()])
}

/// A number, or an empty text.
fn cell(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or(String::new(), |value| value.to_string())
}
