//! Results as tables for people.

use ackclock_scenario::Sweep;
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_view::figures::{self, Tables, jitter};
use ackclock_view::seen::measurements;
use ackclock_view::shown::{PointView, shown};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use std::io::IsTerminal;
use std::sync::OnceLock;

/// The width of tables where there is no terminal, columns.
const WITHOUT_TERMINAL: u16 = 132;

/// The width that the user wants.
static WANTED: OnceLock<u16> = OnceLock::new();

/// From now on tables are at most so many columns wide; 0: as wide as they need.
pub(crate) fn set_width(columns: u16) {
    WANTED.get_or_init(|| columns);
}

/// A table of texts.
pub(crate) fn plain_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.to_vec());
    match WANTED.get() {
        Some(0) => table.set_content_arrangement(ContentArrangement::Disabled),
        Some(&columns) => table.set_width(columns),
        None if !std::io::stdout().is_terminal() => table.set_width(WITHOUT_TERMINAL),
        None => &mut table, // as wide as the terminal
    };
    table.add_rows(rows);
    table
}

/// Prints the results: one row per group and point, then the bottlenecks, then expectations, last those
/// about all points together.
pub(crate) fn print(sweep: &Sweep, results: &[PointResult], over_points: &[Expectation]) {
    for figures in figures::all(sweep, results) {
        say!("{}", table(figures));
    }
    if let Some(note) = jitter(results) {
        say!("{note}");
    }
    print_warnings(results);
    for PointView { result, name, .. } in shown(results) {
        print_expectations(&name, &result.expectations);
    }
    print_expectations(if results.len() > 1 { "all points" } else { "" }, over_points);
}

fn print_expectations(at: &str, expectations: &[Expectation]) {
    let place = if at.is_empty() { String::new() } else { format!("{at}: ") };
    for expectation in expectations {
        say!("{} {place}{}", if expectation.holds { "holds " } else { "FAILS " }, expectation.that);
        if !expectation.holds {
            let why = expectation.reason.clone();
            say!("       {}", why.unwrap_or_else(|| measurements(&expectation.seen, false)));
        }
    }
}

/// The most warnings that a table shows.
const MAX_WARNINGS: usize = 10;

/// Prints what to know before the numbers are believed, with the points' names where there are several.
fn print_warnings(results: &[PointResult]) {
    let points = shown(results);
    let warnings =
        points.iter().flat_map(|point| point.result.warnings.iter().map(move |it| (&point.name, it)));
    for (name, warning) in warnings.clone().take(MAX_WARNINGS) {
        let at = if name.is_empty() { String::new() } else { format!("{name}: ") };
        say!("warning: {at}{warning}");
    }
    let more = warnings.count().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        say!("warning: {more} more; the report and --json have all");
    }
}

/// A word of so many letters stays on one line, a header's too.
const WORD: usize = 12;

fn table(figures: Tables) -> Table {
    let letters = |cell: &str| cell.lines().map(|line| line.chars().count()).max();
    let longest = |column: usize| {
        let header = letters(&figures.header[column]);
        header.max(figures.rows.iter().filter_map(|row| letters(&row[column])).max())
    };
    let shares: Vec<usize> =
        (0..figures.words).map(|column| longest(column).unwrap_or(0).min(WORD)).collect();
    let mut table = plain_table(&[], figures.rows.into_iter());
    table.set_header(figures.header);
    for (column, &letters) in table.column_iter_mut().zip(&shares) {
        let padding = column.padding_width();
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(letters as u16 + padding)));
    }
    for column in table.column_iter_mut().skip(figures.words) {
        column.set_cell_alignment(CellAlignment::Right);
        // A number stays on one line.
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}
