//! What is printed: a table per experiment, or one of all works.

use super::emulated::Emulated;
use super::shown::{counts, distance, in_doubt, measured, published, total, verdict};
use crate::view::table::plain_table;
use ackclock_study::reproduce::{Asserted, Experiment, Reproduction};
use std::fmt::Write as _;

/// The width of a table that does not go to a terminal, columns.
const WIDTH: u16 = 160;

/// One table per experiment.
pub(super) fn print(reproductions: &[Reproduction], emulated: Option<&Emulated>) {
    for (number, reproduction) in reproductions.iter().enumerate() {
        let Reproduction { id, title, section, points, claims, .. } = reproduction;
        say!("{id} (section {section}): {title}; {points} points");
        if claims.is_empty() {
            say!("  nothing is claimed\n");
            continue;
        }
        let mut header = vec!["claim", "verdict", "published", "measured"];
        let place = emulated.map(Emulated::place).unwrap_or_default();
        if emulated.is_some() {
            header.extend([place.as_str(), "emulated"]);
        }
        let rows = claims.iter().enumerate().map(|(at, claim)| {
            let found = [Some(verdict(claim)), distance(claim)].into_iter().flatten().collect::<Vec<_>>();
            let mut row = vec![
                claim.text.clone(),
                found.join("\n"),
                published(claim),
                measured(claim, false).join("\n"),
            ];
            if let Some(emulated) = emulated {
                let claim = &emulated.reproductions[number].claims[at];
                row.push(in_doubt(&verdict(claim), claim.verdict, &emulated.trust(number)));
                row.push(measured(claim, false).join("\n"));
            }
            row
        });
        let mut table = plain_table(&header, rows);
        if !table.is_tty() {
            table.set_width(WIDTH);
        }
        say!("{table}\n");
        for doubt in emulated.into_iter().flat_map(|emulated| emulated.trust(number).doubts) {
            tell!("{id}: DO NOT TRUST THE EMULATED RESULT: {doubt}");
        }
    }
    say!("{}", counts(total(reproductions)));
    if let Some(emulated) = emulated {
        say!("{}: {}", emulated.place(), counts(total(&emulated.reproductions)));
    }
}

/// The text of `ackclock show` for an experiment.
pub(crate) fn describe(experiment: &Experiment) -> String {
    let Experiment { id, work, title, section, kind, summary, notes, .. } = experiment;
    let mut text =
        format!("{title} ({id})\n{work}, section {section}; {}\n\n{}\n", kind.word(), summary.trim());
    for note in notes {
        let _ = write!(text, "\n  * {}", note.trim());
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    text.push_str("\nClaims\n");
    for claim in &experiment.claims {
        let _ = write!(text, "\n  - {}\n", claim.text.trim());
        let _ = match &claim.asserted {
            Asserted::That(that) => writeln!(text, "    {}", that.trim()),
            Asserted::Untestable(why) => {
                writeln!(text, "    untestable: {}", why.trim())
            }
        };
    }
    text
}
