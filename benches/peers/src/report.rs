//! Results as data, and their place in the documentation.

use crate::cases::{Kind, Way};
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::table;
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::Serialize;
use std::path::Path;

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The day.
    pub date: String,
    /// What it was measured on.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// Peak memory of a run of next to nothing, kB.
    pub trivial_rss_kb: u64,
    /// The cases.
    pub cases: Vec<CaseReport>,
}

/// A case's results.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Its word.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Its table.
    pub kind: Kind,
    /// The scenario's file.
    pub scenario: String,
    /// How many times faster than ns-2 as it comes it should be.
    pub speed_target: Option<f64>,
    /// Memory that it may take above the program's, MB, where that is not by what is in flight.
    pub memory_mb: Option<f64>,
    /// Where what exceeds a target is explained.
    pub note: Option<String>,
    /// Wall time after which ns-2 was given up, s.
    pub limit_s: f64,
    /// Runs of which the median is given.
    pub repeats: usize,
    /// One entry per point and seed.
    pub points: Vec<PointReport>,
}

/// A point's results.
#[derive(Clone, Debug, Serialize)]
pub struct PointReport {
    /// What distinguishes it: last part of each axis's name, and its value.
    pub parameters: Vec<(String, String)>,
    /// Seed of the random streams.
    pub seed: u64,
    /// What the ns-2 script was told.
    pub ns2_arguments: Vec<String>,
    /// Did ns-2 get a list of packets to lose, drawn by ackclock?
    pub chosen_losses: bool,
    /// Number of flows.
    pub flows: usize,
    /// Segments that fit the longest path and its queue.
    pub most_in_flight: u64,
    /// ackclock.
    pub own: Outcome,
    /// ns-2 as it comes; it counts no drops, so as not to pay for counting.
    pub ns2_stock: Option<Outcome>,
    /// ns-2, tuned.
    pub ns2_tuned: Option<Outcome>,
    /// Ways of running ns-2 that took too long.
    pub given_up: Vec<Way>,
}

const BEGIN: &str = "<!-- begin: written by `make peers` -->";
const END: &str = "<!-- end: written by `make peers` -->";

impl Report {
    /// Writes `DIR/peers-DATE.json`.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let file = directory.join(format!("peers-{}.json", self.date));
        let text = serde_json::to_string_pretty(self).into_diagnostic()?;
        std::fs::write(&file, text + "\n")
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", file.display()))?;
        eprintln!("wrote {}", file.display());
        Ok(())
    }

    /// Replaces the generated part of a document.
    pub fn splice(&self, document: &Path) -> Result<()> {
        let name = document.display();
        let text = std::fs::read_to_string(document)
            .into_diagnostic()
            .wrap_err_with(|| format!("{name} cannot be read"))?;
        let renewed = splice(&text, &table::markdown(self)).ok_or_else(|| {
            miette!(help = format!("it needs the lines {BEGIN} and {END}"), "{name} has no place for tables")
        })?;
        std::fs::write(document, renewed)
            .into_diagnostic()
            .wrap_err_with(|| format!("{name} cannot be written"))?;
        eprintln!("wrote {name}");
        Ok(())
    }
}

/// `text` with `part` between the two marks.
fn splice(text: &str, part: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", part.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_generated_part_changes() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let once = splice(&text, "new").expect("the marks are there");
        assert_eq!(once, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(splice(&once, "new"), Some(once.clone()));
        assert_eq!(splice("no marks", "new"), None);
    }
}
