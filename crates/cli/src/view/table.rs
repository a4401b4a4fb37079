//! Results as tables for people.

use super::figures::{self, Tables};
use super::seen::measurements;
use super::shown::shown;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table};

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

/// Prints the results: one row per group and point, then the bottlenecks, then expectations.
pub(crate) fn print(sweep: &Sweep, results: &[PointResult]) {
    for figures in
        [figures::groups, figures::transfers, figures::links, figures::traffic].map(|of| of(sweep, results))
    {
        if !figures.rows.is_empty() {
            say!("{}", table(figures));
        }
    }
    print_warnings(results);
    for point in results {
        for expectation in &point.expectations {
            say!("{} {}", if expectation.holds { "holds " } else { "FAILS " }, expectation.that);
            if !expectation.holds {
                let why = expectation.reason.clone();
                say!("       {}", why.unwrap_or_else(|| measurements(&expectation.seen, false)));
            }
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

fn table(figures: Tables) -> Table {
    let mut table = plain_table(&[], figures.rows.into_iter());
    table.set_header(figures.header);
    for column in table.column_iter_mut().skip(figures.words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
