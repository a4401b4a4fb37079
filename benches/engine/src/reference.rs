//! The reference that costs are held against.

use crate::callgrind::Cost;
use miette::{Context, IntoDiagnostic, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// `benches/results/instructions.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// A cost may exceed its reference by this much, %.
    pub tolerance_percent: f64,
    /// The compiler that the numbers were taken with; another one may well give others.
    pub rustc: String,
    /// Cost of each workload.
    pub workloads: BTreeMap<String, Cost>,
}

/// How a cost compares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// Within the tolerance.
    Same,
    /// Lower by more than the tolerance, %.
    Better(f64),
    /// Higher by more than the tolerance, %.
    Worse(f64),
    /// There is no reference.
    New,
}

impl Reference {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Reference> {
        let text = std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| {
            format!("{} cannot be read; `make instructions-accept` writes it", file.display())
        })?;
        serde_json::from_str(&text)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} is not right", file.display()))
    }

    /// Writes a file.
    pub fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).into_diagnostic()?;
        std::fs::write(file, text + "\n")
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", file.display()))
    }

    /// Holds a cost against its reference.
    pub fn judge(&self, id: &str, cost: &Cost) -> Verdict {
        let Some(reference) = self.workloads.get(id) else { return Verdict::New };
        let change = 100.0 * (cost.instructions / reference.instructions - 1.0);
        if change > self.tolerance_percent {
            Verdict::Worse(change)
        } else if change < -self.tolerance_percent {
            Verdict::Better(change)
        } else {
            Verdict::Same
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_both_ways() {
        let cost = |instructions| Cost { instructions, per: "packet".to_owned(), units: 10 };
        let workloads = BTreeMap::from([("link".to_owned(), cost(100.0))]);
        let reference = Reference { tolerance_percent: 2.0, workloads, ..Reference::default() };
        assert_eq!(reference.judge("link", &cost(101.9)), Verdict::Same);
        assert!(matches!(reference.judge("link", &cost(102.1)), Verdict::Worse(_)));
        assert!(matches!(reference.judge("link", &cost(97.0)), Verdict::Better(_)));
        assert_eq!(reference.judge("queue", &cost(1.0)), Verdict::New);
    }
}
