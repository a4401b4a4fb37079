//! Counts the instructions of the hot path and compares them with stored numbers.

use ackclock_bench::callgrind::{measure, measured_region};
use ackclock_bench::reference::{Reference, Verdict};
use ackclock_bench::workload::{ids, workload};
use clap::{Parser, Subcommand};
use miette::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Count the instructions of the hot path.
#[derive(Parser)]
#[command(name = "ackclock-instructions", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure, and fail if a workload costs more than its reference plus the tolerance.
    Compare(Selection),
    /// Measure, and store the result as the new reference.
    Accept(Selection),
    /// Run one workload, and print its number of units of work.
    #[command(hide = true)]
    One { id: String },
}

#[derive(clap::Args)]
struct Selection {
    /// Run only these workloads.
    ids: Vec<String>,
    /// The file with the reference.
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
}

/// Costs are exact for one binary. Changes elsewhere in the program move them by about one percent.
const TOLERANCE_PERCENT: f64 = 2.0;

fn main() -> Result<ExitCode> {
    match Arguments::parse().command {
        Task::Compare(selection) => compare(&selection),
        Task::Accept(selection) => accept(&selection),
        Task::One { id } => {
            let mut workload = workload(&id)?;
            println!("{}", measured_region(&mut *workload.work));
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl Selection {
    fn file(&self) -> PathBuf {
        let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/instructions.json");
        self.reference.clone().unwrap_or_else(default)
    }

    fn ids(&self) -> Vec<String> {
        if self.ids.is_empty() { ids() } else { self.ids.clone() }
    }
}

fn compare(selection: &Selection) -> Result<ExitCode> {
    let reference = Reference::read(&selection.file())?;
    let mut worse = 0;
    println!("{:<20} {:>14} {:>14}", "workload", "instructions", "reference");
    for id in selection.ids() {
        let cost = measure(&id, workload(&id)?.per)?;
        let known = reference.workloads.get(&id);
        let verdict = match reference.judge(&id, &cost) {
            Verdict::Same => String::new(),
            Verdict::New => "  no reference yet".to_owned(),
            Verdict::Better(percent) => format!("  {percent:+.1} %"),
            Verdict::Worse(percent) => {
                worse += 1;
                format!("  {percent:+.1} %: worse")
            }
        };
        let other_work = known.is_some_and(|known| known.units != cost.units);
        let note = if other_work { "  (another number of units: the behaviour changed)" } else { "" };
        let stored = known.map_or("–".to_owned(), |known| format!("{:.1}", known.instructions));
        println!("{id:<20} {:>14.1} {stored:>14} per {}{verdict}{note}", cost.instructions, cost.per);
    }
    if worse == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "{worse} cost more than their reference and {} %; if that is what it takes, `make instructions-accept`",
        reference.tolerance_percent
    );
    let here = compiler();
    if here != reference.rustc {
        eprintln!(
            "the reference is {}'s, this is {here}: compare with a build of the older code",
            reference.rustc
        );
    }
    Ok(ExitCode::FAILURE)
}

fn accept(selection: &Selection) -> Result<ExitCode> {
    let file = selection.file();
    let mut workloads =
        if selection.ids.is_empty() { BTreeMap::new() } else { Reference::read(&file)?.workloads };
    for id in selection.ids() {
        let cost = measure(&id, workload(&id)?.per)?;
        println!("{id:<20} {:>14.1} per {}", cost.instructions, cost.per);
        workloads.insert(id, cost);
    }
    Reference { tolerance_percent: TOLERANCE_PERCENT, rustc: compiler(), workloads }.write(&file)?;
    Ok(ExitCode::SUCCESS)
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(
        |_| "an unknown compiler".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
