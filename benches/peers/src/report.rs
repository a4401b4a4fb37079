//! Results as data, and their place in the documentation.

use crate::cases::{Kind, Way};
use crate::htsim::Measured;
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::table;
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::Serialize;
use std::path::Path;

/// All measurements.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The date.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// The peak memory of an almost empty run, kB.
    pub trivial_rss_kb: u64,
    /// The cases.
    pub cases: Vec<CaseReport>,
}

/// The results of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// The name.
    pub id: String,
    /// The title.
    pub title: String,
    /// The table.
    pub kind: Kind,
    /// The scenario file.
    pub scenario: String,
    /// The target speedup over ns-2 as installed.
    pub speed_target: Option<f64>,
    /// The target speedup over htsim in its lean style. `None`: htsim does not run.
    pub htsim_target: Option<f64>,
    /// The allowed memory above that of the program, MB. `None`: the limit follows from the packets in
    /// flight.
    pub memory_mb: Option<f64>,
    /// The name of the explanation of what exceeds a target.
    pub note: Option<String>,
    /// The wall time after which a run of ns-2 is stopped, s.
    pub limit_s: f64,
    /// The number of runs behind each median.
    pub repeats: usize,
    /// One entry per point and seed.
    pub points: Vec<PointReport>,
}

/// The results of a point.
#[derive(Clone, Debug, Serialize)]
pub struct PointReport {
    /// The coordinates of the point: the last part of each axis's name, and its value.
    pub parameters: Vec<(String, String)>,
    /// The seed of the random streams.
    pub seed: u64,
    /// The arguments of the ns-2 script.
    pub ns2_arguments: Vec<String>,
    /// True if ns-2 got a list of packets to lose, drawn by ackclock.
    pub chosen_losses: bool,
    /// The number of flows.
    pub flows: usize,
    /// The number of segments that fit into the longest path and its queue.
    pub most_in_flight: u64,
    /// The result of ackclock.
    pub own: Outcome,
    /// The result of ns-2 as installed. It counts no drops, because counting would cost time.
    pub ns2_stock: Option<Outcome>,
    /// The result of ns-2, tuned.
    pub ns2_tuned: Option<Outcome>,
    /// The result of htsim over the same links. `None` without a copy of htsim.
    pub htsim_links: Option<Measured>,
    /// The result of htsim with one queue.
    pub htsim_lean: Option<Measured>,
    /// The ways of running ns-2 that exceeded the time limit.
    pub given_up: Vec<Way>,
}

const BEGIN: &str = "<!-- begin: written by `make peers` -->";
const END: &str = "<!-- end: written by `make peers` -->";

impl Report {
    /// Writes `DIR/peers-DATE.json`.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
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
    ///
    /// # Errors
    ///
    /// If the document cannot be read or written, or has no marks.
    pub fn splice(&self, document: &Path) -> Result<()> {
        let name = document.display();
        std::fs::write(document, with_tables(document, &table::markdown(self))?)
            .into_diagnostic()
            .wrap_err_with(|| format!("{name} cannot be written"))?;
        eprintln!("wrote {name}");
        Ok(())
    }
}

/// The text of a document with these tables.
///
/// # Errors
///
/// If it cannot be read, or has no marks.
pub fn with_tables(document: &Path, tables: &str) -> Result<String> {
    let name = document.display();
    let text = std::fs::read_to_string(document)
        .into_diagnostic()
        .wrap_err_with(|| format!("{name} cannot be read"))?;
    splice(&text, tables).ok_or_else(|| {
        miette!(help = format!("it needs the lines {BEGIN} and {END}"), "{name} has no place for tables")
    })
}

/// Replaces the text between the two marks by `part`. `None` without marks.
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
