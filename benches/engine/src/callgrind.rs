//! Counts instructions with Valgrind's callgrind, inside [`measured_region`] only.

use miette::{Context, IntoDiagnostic, Result, miette};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::process::Command;

/// The measured part of a process. callgrind collects from its entry to its return.
#[inline(never)]
pub fn measured_region(work: &mut dyn FnMut() -> u64) -> u64 {
    work()
}

/// The cost of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Instructions per unit.
    pub instructions: f64,
    /// The unit of work.
    pub per: String,
    /// The number of units. If it changes, the behaviour has changed.
    pub units: u64,
}

/// Runs one workload of this program in a process under callgrind. `per` names the unit of work.
///
/// # Errors
///
/// If Valgrind cannot be run, the workload fails, or callgrind's file has no total.
pub fn measure(id: &str, per: &str) -> Result<Cost> {
    let directory = tempfile::tempdir().into_diagnostic()?;
    let counts = directory.path().join("counts");
    let program = std::env::current_exe().into_diagnostic()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*measured_region*"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(program)
        .args(["one", id])
        .output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(miette!(
                help = "install Debian's package valgrind (apt-get install valgrind)",
                "instructions are counted by valgrind, which is not installed"
            ));
        }
        other => other.into_diagnostic()?,
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(miette!("{id} failed under valgrind:\n{complaints}"));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let units: u64 = printed.trim().parse().into_diagnostic().wrap_err("the workload's count")?;
    let text = std::fs::read_to_string(&counts).into_diagnostic()?;
    let total = total(&text).ok_or_else(|| miette!("callgrind wrote no total:\n{complaints}"))?;
    if total == 0 || units == 0 {
        return Err(miette!("{id}: nothing was counted; was the program built without symbols?"));
    }
    Ok(Cost { instructions: total as f64 / units as f64, per: per.to_owned(), units })
}

/// The number after "totals:" (or "summary:") in callgrind's file.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    line?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_callgrinds_total() {
        assert_eq!(total("events: Ir\nfn=(1)\n0 5\ntotals: 1234\n"), Some(1234));
        assert_eq!(total("summary: 99 3\n"), Some(99));
        assert_eq!(total("nothing"), None);
    }
}
