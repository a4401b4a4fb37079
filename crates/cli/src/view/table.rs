//! Results as tables for people.

use super::figures::{self, Figures};
use super::seen::measurements;
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

fn table(figures: Figures) -> Table {
    let mut table = plain_table(&[], figures.rows.into_iter());
    table.set_header(figures.header);
    for column in table.column_iter_mut().skip(figures.words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
