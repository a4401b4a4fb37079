//! The cases: scenarios of ackclock, and how to compare each of them.

use ackclock_scenario::{Point, Sweep};
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How to run ns-2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// As installed: default scheduler, all packet headers, ordinary nodes.
    Stock,
    /// With all settings that speed it up without changing the packets.
    Tuned,
}

/// The table in which a case appears.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Speed and agreement.
    Speed,
    /// Agreement only.
    Agreement,
    /// Agreement in the queue, too: active queue management, marks, delay-based control, several bottlenecks.
    Queue,
    /// Agreement of a rate-based transport.
    Tfrc,
    /// The growth of cost and memory with rate and number of flows.
    Scaling,
}

/// One entry of `cases.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name on the command line and in results.
    pub id: String,
    /// The title in the table.
    pub title: String,
    /// The table.
    pub kind: Kind,
    /// The scenario file in the directory of `cases.toml`. Its sweep and seeds give the points.
    pub scenario: PathBuf,
    /// How to run ns-2. Empty: ns-2 does not run.
    #[serde(default = "tuned")]
    pub ns2: Vec<Way>,
    /// The number of runs of each simulator. The median counts.
    #[serde(default = "once")]
    pub repeats: usize,
    /// The wall time after which a run of ns-2 is stopped, s.
    #[serde(default = "five_minutes")]
    pub limit_s: f64,
    /// The target speedup over ns-2 as installed.
    pub speed: Option<f64>,
    /// The target speedup over htsim in its lean style. `None`: htsim does not run.
    pub htsim: Option<f64>,
    /// The allowed memory above that of the program, MB. `None`: the limit follows from the packets in
    /// flight.
    pub memory_mb: Option<f64>,
    /// A name that links to the explanation of what exceeds a target.
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

/// The directory of the cases.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Reads `cases.toml`.
///
/// # Errors
///
/// If the file cannot be read, or is not valid.
pub fn read() -> Result<Vec<Case>> {
    let file = directory().join("cases.toml");
    let text = std::fs::read_to_string(&file)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be read", file.display()))?;
    let index: Index = toml::from_str(&text).into_diagnostic().wrap_err("cases.toml is not right")?;
    Ok(index.case)
}

impl Case {
    /// The path of the scenario file.
    pub fn file(&self) -> PathBuf {
        directory().join(&self.scenario)
    }

    /// The points of its scenario.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be read, or is not valid.
    pub fn points(&self) -> Result<Vec<Point>> {
        points(&self.file())
    }
}

/// The points of a scenario file.
///
/// # Errors
///
/// If the file cannot be read, or is not a valid scenario.
pub fn points(file: &Path) -> Result<Vec<Point>> {
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    Ok(Sweep::read(&name, &text, &[])?.points)
}

/// The point `number` of a scenario file, counted from 0.
///
/// # Errors
///
/// As [`points`], and if the scenario has no such point.
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
