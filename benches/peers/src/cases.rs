//! The cases: scenarios of ackclock and how each is to be compared.

use ackclock_scenario::{Point, Sweep};
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How ns-2 is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// As it comes: default scheduler, all packet headers, ordinary nodes.
    Stock,
    /// With everything that speeds it up and leaves the packets as they are.
    Tuned,
}

/// Which table a case belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Speed, as well as agreement.
    Speed,
    /// Agreement.
    Agreement,
    /// How cost and memory grow with rate and number of flows.
    Scaling,
}

/// One entry of `cases.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its word on the command line and in results.
    pub id: String,
    /// What it is, for the table.
    pub title: String,
    /// Its table.
    pub kind: Kind,
    /// The scenario's file beside `cases.toml`; its sweep and seeds give the points.
    pub scenario: PathBuf,
    /// How ns-2 is run; not at all if empty.
    #[serde(default = "tuned")]
    pub ns2: Vec<Way>,
    /// Runs of each simulator, of which the median counts.
    #[serde(default = "once")]
    pub repeats: usize,
    /// Wall time after which a run of ns-2 is given up, s.
    #[serde(default = "five_minutes")]
    pub limit_s: f64,
    /// How many times faster than ns-2 as it comes this should be.
    pub speed: Option<f64>,
    /// Memory that it may take above the program's, MB, where that is not by what is in flight.
    pub memory_mb: Option<f64>,
    /// A word that leads to the explanation of what exceeds a target.
    pub note: Option<String>,
}

fn tuned() -> Vec<Way> {
    vec![Way::Tuned]
}

fn once() -> usize {
    1
}

fn five_minutes() -> f64 {
    300.0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    case: Vec<Case>,
}

/// Where the cases are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Reads the index.
pub fn read() -> Result<Vec<Case>> {
    let file = directory().join("cases.toml");
    let text = std::fs::read_to_string(&file)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be read", file.display()))?;
    let index: Index = toml::from_str(&text).into_diagnostic().wrap_err("cases.toml is not right")?;
    Ok(index.case)
}

impl Case {
    /// The scenario's file.
    pub fn file(&self) -> PathBuf {
        directory().join(&self.scenario)
    }

    /// The points of its scenario.
    pub fn points(&self) -> Result<Vec<Point>> {
        points(&self.file())
    }
}

/// The points of a scenario file.
pub fn points(file: &Path) -> Result<Vec<Point>> {
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    Ok(Sweep::read(&name, &text, &[])?.points)
}

/// One point of a scenario file.
pub fn point(file: &Path, number: usize) -> Result<Point> {
    let points = points(file)?;
    let count = points.len();
    points.into_iter().nth(number).ok_or_else(|| {
        miette!(
            help = format!("points are numbered from 0 to {}", count.saturating_sub(1)),
            "{} has no point {number}",
            file.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::parameters;
    use std::collections::BTreeSet;

    #[test]
    fn every_case_can_be_run_on_both_sides() {
        let cases = read().expect("cases.toml is right");
        let ids: BTreeSet<_> = cases.iter().map(|case| &case.id).collect();
        assert_eq!(ids.len(), cases.len(), "ids are unique");
        for case in &cases {
            for point in case.points().expect("the scenario is right") {
                let built = point.scenario.build().expect("the scenario can be laid out");
                if !case.ns2.is_empty() {
                    parameters(&built.plan).unwrap_or_else(|error| panic!("{}: {error:?}", case.id));
                }
            }
        }
    }
}
