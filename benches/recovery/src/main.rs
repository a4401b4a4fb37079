//! Runs scenarios in which paths reorder, corrupt and drop packets. Writes a table for each into the
//! documentation, with one row per path and one column per loss handling.

use ackclock_scenario::Sweep;
use ackclock_scenario::results::{FlowResult, PointResult};
use ackclock_sim::engine::NoObserver;
use ackclock_study::runner::Runner;
use clap::Parser;
use miette::{Context, IntoDiagnostic, Result, miette};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Measure loss handling over bad paths.
#[derive(Parser)]
struct Arguments {
    /// Directory of the scenarios.
    #[arg(long, default_value = "scenarios/recovery")]
    scenarios: PathBuf,
    /// The page in which the tables are replaced.
    #[arg(long, default_value = "docs/src/choosing-recovery.md")]
    page: PathBuf,
    /// Number of threads; by default all cores.
    #[arg(long)]
    threads: Option<usize>,
}

/// The axis whose values are the columns.
const COLUMNS: &str = "handling";

/// A value that a table shows for each point.
struct Measure {
    title: &'static str,
    of: fn(&PointResult) -> Option<f64>,
    digits: usize,
}

const GOODPUT: Measure = Measure {
    title: "Goodput of the bulk flow, Mbit/s",
    of: |point| Some(goodput(point, "bulk")),
    digits: 1,
};
const NEEDLESS: Measure =
    Measure { title: "Spurious retransmissions per 1000 segments sent", of: needless, digits: 2 };
const LATENCY: Measure = Measure {
    title: "Transfers of 100 kB: 95th percentile of the completion time, ms",
    of: latency,
    digits: 0,
};
const SHARE: Measure = Measure {
    title: "Goodput relative to that of the SACK flows",
    of: |point| Some(goodput(point, "bulk") / goodput(point, "SACK")),
    digits: 2,
};
const DROPS: Measure = Measure {
    title: "Packets dropped per 1000",
    of: |point| point.links.first().map(|link| link.drop_rate * 1e3),
    digits: 2,
};

/// The name of each scenario, which is also its file and its mark in the page, and what the table shows.
const TABLES: [(&str, &[Measure]); 4] = [
    ("bursts", &[GOODPUT, NEEDLESS, LATENCY]),
    ("reordering", &[GOODPUT, NEEDLESS, LATENCY]),
    ("wireless", &[GOODPUT, NEEDLESS, LATENCY]),
    ("congestion", &[SHARE, DROPS, LATENCY]),
];

fn goodput(point: &PointResult, label: &str) -> f64 {
    of_group(point, label).map(|flow| flow.goodput_bps).sum::<f64>() / 1e6
}

fn of_group<'a>(point: &'a PointResult, label: &str) -> impl Iterator<Item = &'a FlowResult> {
    point.flows.iter().filter(move |flow| flow.label == label)
}

fn needless(point: &PointResult) -> Option<f64> {
    let (twice, sent) = of_group(point, "bulk")
        .fold((0, 0), |(twice, sent), flow| (twice + flow.duplicates, sent + flow.sent));
    (sent > 0).then(|| twice as f64 / sent as f64 * 1e3)
}

fn latency(point: &PointResult) -> Option<f64> {
    let group = point.groups.iter().find(|group| group.label == "short")?;
    group.transfers.and_then(|transfers| transfers.p95_s).map(|p95_s| p95_s * 1e3)
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut page = read(&arguments.page)?;
    for (word, measures) in TABLES {
        eprintln!("{word} ...");
        let results = run(&arguments.scenarios.join(format!("{word}.toml")), arguments.threads)?;
        let tables: Vec<String> = measures.iter().map(|measure| table(measure, &results)).collect();
        page = replaced(&page, word, &tables.join("\n"))?;
    }
    std::fs::write(&arguments.page, page)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be written", arguments.page.display()))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be read", path.display()))
}

fn run(path: &Path, threads: Option<usize>) -> Result<Vec<PointResult>> {
    let sweep = Sweep::read(&path.display().to_string(), &read(path)?, &[])?;
    let stop = AtomicBool::new(false);
    let runner = Runner { probes: false, threads, stop: &stop, store: None, progress: &|_, _| {} };
    let results = runner.run(&sweep.points, &NoObserver).into_diagnostic()?;
    for point in &results {
        if let Some(failed) = point.expectations.iter().find(|expectation| !expectation.holds) {
            return Err(miette!(
                "{}: {} does not hold at {:?}",
                path.display(),
                failed.that,
                point.parameters
            ));
        }
    }
    Ok(results)
}

/// One row per combination of the other axes, and one column per loss handling.
fn table(measure: &Measure, results: &[PointResult]) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (mut columns, mut rows): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut cells = Vec::new();
    for point in results {
        let column = point.parameters.get(COLUMNS).map(word).unwrap_or_default();
        let others = point.parameters.iter().filter(|(axis, _)| *axis != COLUMNS);
        let row =
            others.map(|(axis, value)| format!("{axis} {}", word(value))).collect::<Vec<_>>().join(", ");
        let place = |all: &mut Vec<String>, one: String| {
            all.iter().position(|known| *known == one).unwrap_or_else(|| {
                all.push(one);
                all.len() - 1
            })
        };
        cells.push((place(&mut rows, row), place(&mut columns, column), (measure.of)(point)));
    }
    let mut text = format!("**{}**\n\n| path | {} |\n|---|", measure.title, columns.join(" | "));
    text += &"---:|".repeat(columns.len());
    text.push('\n');
    for (number, row) in rows.iter().enumerate() {
        let values = (0..columns.len()).map(|column| {
            let value =
                cells.iter().find(|cell| (cell.0, cell.1) == (number, column)).and_then(|cell| cell.2);
            value.map_or("-".to_owned(), |value| format!("{value:.*}", measure.digits))
        });
        text += &format!("| {row} | {} |\n", values.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// The page with the text between the marks of a table replaced.
fn replaced(page: &str, word: &str, table: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- begin: {word} -->\n"), format!("<!-- end: {word} -->"));
    let missing = || miette!("the page has no place for \"{word}\": {begin}{end}");
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{table}\n{end}{after}"))
}
