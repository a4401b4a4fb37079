//! The reference costs.

use crate::callgrind::Cost;
use miette::{Context, IntoDiagnostic, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// `benches/results/instructions.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The tolerance: a cost may exceed its reference by this much, %.
    pub tolerance_percent: f64,
    /// The compiler of the reference. Another compiler may give other numbers.
    pub rustc: String,
    /// The cost of each workload.
    pub workloads: BTreeMap<String, Cost>,
}

/// The result of a comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// The cost is within the tolerance.
    Same,
    /// The cost is lower by more than the tolerance, %.
    Better(f64),
    /// The cost is higher by more than the tolerance, %.
    Worse(f64),
    /// The workload has no reference.
    New,
}

impl Reference {
    /// Reads a reference from `file`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a reference.
    pub fn read(file: &Path) -> Result<Reference> {
        let text = std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| {
            format!("{} cannot be read; `make instructions-accept` writes it", file.display())
        })?;
        serde_json::from_str(&text)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} is not right", file.display()))
    }

    /// Writes the reference to `file`.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).into_diagnostic()?;
        std::fs::write(file, text + "\n")
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", file.display()))
    }

    /// Compares a cost with its reference.
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
