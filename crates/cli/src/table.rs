//! Results as tables for people.

use ackclock_sim::results::PointResult;
use ackclock_sim::scenario::Sweep;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

/// A table of texts.
pub(crate) fn plain_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.to_vec());
    table.add_rows(rows);
    table
}

/// Prints what was measured: one row per group and point, then the bottlenecks, then expectations.
pub(crate) fn print(sweep: &Sweep, results: &[PointResult]) {
    say!("{}", groups(sweep, results));
    say!("{}", links(sweep, results));
    for point in results {
        for expectation in &point.expectations {
            say!("{} {}", if expectation.holds { "holds " } else { "FAILS " }, expectation.that);
        }
    }
}

fn short(axis: &str) -> String {
    match axis.rsplit('.').next() {
        Some(last) if last.parse::<usize>().is_err() => last.to_owned(),
        _ => axis.to_owned(),
    }
}

fn parameters(point: &PointResult) -> Vec<Cell> {
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    point.parameters.values().map(|value| Cell::new(text(value))).collect()
}

fn numbers(values: impl IntoIterator<Item = String>) -> Vec<Cell> {
    values.into_iter().map(|value| Cell::new(value).set_alignment(CellAlignment::Right)).collect()
}

fn header(sweep: &Sweep, columns: &[&str]) -> Vec<String> {
    sweep.axes.iter().map(|axis| short(axis)).chain(columns.iter().map(|&column| column.to_owned())).collect()
}

fn groups(sweep: &Sweep, results: &[PointResult]) -> Table {
    let columns =
        ["flows", "n", "goodput Mbit/s", "per flow", "Jain", "cwnd", "RTT ms", "resent", "timeouts", "cuts"];
    let mut table = plain_table(&[], std::iter::empty());
    table.set_header(header(sweep, &columns));
    for point in results {
        for group in &point.groups {
            let own: Vec<_> = point.flows.iter().filter(|flow| flow.label == group.label).collect();
            let mean = |value: fn(&ackclock_sim::results::FlowResult) -> f64| {
                own.iter().map(|flow| value(flow)).sum::<f64>() / own.len() as f64
            };
            let sum = |value: fn(&ackclock_sim::results::FlowResult) -> u64| {
                own.iter().map(|flow| value(flow)).sum::<u64>()
            };
            let mut row = parameters(point);
            row.push(Cell::new(&group.label));
            row.extend(numbers([
                group.count.to_string(),
                format!("{:.2}", group.goodput_bps.total / 1e6),
                format!("{:.2}", group.goodput_bps.mean / 1e6),
                group.jain.map_or("-".to_owned(), |jain| format!("{jain:.4}")),
                format!("{:.0}", mean(|flow| flow.cwnd_mean)),
                format!("{:.1}", mean(|flow| flow.rtt_mean_s.unwrap_or(f64::NAN)) * 1e3),
                sum(|flow| flow.retransmits).to_string(),
                sum(|flow| flow.timeouts).to_string(),
                sum(|flow| flow.window_cuts).to_string(),
            ]));
            table.add_row(row);
        }
    }
    table
}

fn links(sweep: &Sweep, results: &[PointResult]) -> Table {
    let columns =
        ["link", "utilisation %", "queue mean", "queue max", "drops", "drop rate", "marks", "M segments/s"];
    let mut table = plain_table(&[], std::iter::empty());
    table.set_header(header(sweep, &columns));
    for point in results {
        for link in point
            .links
            .iter()
            .filter(|link| link.drops > 0 || link.queue_max > 0 || link.name == "bottleneck")
        {
            let mut row = parameters(point);
            row.push(Cell::new(&link.name));
            row.extend(numbers([
                format!("{:.2}", link.utilisation * 100.0),
                format!("{:.1}", link.queue_mean),
                link.queue_max.to_string(),
                link.drops.to_string(),
                format!("{:.2e}", link.drop_rate),
                link.marks.to_string(),
                format!("{:.2}", point.segments_per_wall_s / 1e6),
            ]));
            table.add_row(row);
        }
    }
    table
}
