//! One table of all works: what is published, what is represented, and what was found.

use super::page::Origin;
use crate::view::table::plain_table;
use ackclock_study::reproduce::{Counts, Row};
use std::fmt::Write as _;

/// The columns.
const HEADER: [&str; 13] = [
    "family",
    "work",
    "published",
    "represented",
    "hold",
    "fail",
    "contradicted",
    "undecided",
    "untestable",
    "calibrated",
    "identity",
    "ours",
    "unlinked",
];

/// The rows and their sum as texts.
fn cells(rows: &[Row]) -> Vec<Vec<String>> {
    let total = rows.iter().fold(Row::default(), |sum, row| sum.plus(row));
    let several = (rows.len() > 1).then_some(&total);
    let texts = rows.iter().chain(several).map(|row| {
        let Counts { holds, fails, undecided, untestable, calibrated, identity } = row.counts;
        let name = if row.family.is_empty() { "all" } else { &row.family };
        let numbers = [
            row.published,
            row.represented,
            holds,
            fails,
            row.contradicted,
            undecided,
            untestable,
            calibrated,
            identity,
            row.ours,
            row.unlinked,
        ];
        let numbers = numbers.iter().map(ToString::to_string);
        [name.to_owned(), row.work.clone()].into_iter().chain(numbers).collect()
    });
    texts.collect()
}

/// Prints the table.
pub(super) fn print(rows: &[Row]) {
    say!("{}", plain_table(&HEADER, cells(rows).into_iter()));
}

/// The table in Markdown. The column of claims without a link appears only if there are any.
pub(super) fn markdown(rows: &[Row], origin: &Origin) -> String {
    let columns = HEADER.len() - usize::from(rows.iter().all(|row| row.unlinked == 0));
    let mut text = format!("{}\n\n| {} |\n", origin.comment(), HEADER[..columns].join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(columns));
    for row in cells(rows) {
        let _ = writeln!(text, "| {} |", row[..columns].join(" | "));
    }
    text.push('\n');
    text
}
