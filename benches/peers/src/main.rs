//! Compares ackclock with ns-2 and htsim.

use ackclock_peers::cases::{self, Case};
use ackclock_peers::htsim::Htsim;
use ackclock_peers::machine::Machine;
use ackclock_peers::report::{self, Report};
use ackclock_peers::{golden, ns2, own, replay, run, table, trace};
use clap::{Parser, Subcommand};
use miette::{Context, IntoDiagnostic, Result, miette};
use std::fs;
use std::path::{Path, PathBuf};

/// The same dumbbells in ackclock, in ns-2 and in htsim, side by side.
#[derive(Parser)]
#[command(name = "ackclock-peers", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the cases, print the tables, and write the results.
    Run {
        /// Run only this case; may be repeated.
        #[arg(long, value_name = "ID")]
        only: Vec<String>,
        /// Number of runs of each simulator; the median counts. Overrides the number in the case.
        #[arg(long, value_name = "N")]
        repeats: Option<usize>,
        /// A copy of htsim (github.com/Broadcom/csg-htsim). Without it, htsim is left out.
        #[arg(long, value_name = "DIR")]
        htsim: Option<PathBuf>,
        /// Write the results into this directory.
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
        /// Write the tables into this document, between its marks. All cases have to run, because those of
        /// others would be gone.
        #[arg(long, value_name = "FILE", conflicts_with = "only")]
        document: Option<PathBuf>,
    },
    /// Run one point of a scenario in ackclock, and print the result.
    Own {
        /// The scenario.
        file: PathBuf,
        /// Number of the point, from 0.
        #[arg(long, default_value_t = 0)]
        point: usize,
    },
    /// Print the events of a flow, packet by packet.
    Trace {
        /// The scenario.
        file: PathBuf,
        /// Number of the point, from 0.
        #[arg(long, default_value_t = 0)]
        point: usize,
        /// Number of the flow, from 0.
        #[arg(long, default_value_t = 0)]
        flow: usize,
        /// Positions of the packets that the bottleneck loses.
        #[arg(long, value_delimiter = ',')]
        drop: Vec<u64>,
    },
    /// Run ns-2 under the chosen drop patterns, and record what it sends.
    Golden,
    /// Print the parameters with which the ns-2 script runs the same.
    Arguments {
        /// The scenario.
        file: PathBuf,
        /// Number of the point, from 0.
        #[arg(long, default_value_t = 0)]
        point: usize,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Run { only, repeats, htsim, results, document } => {
            // What takes half an hour is not lost at its end.
            if let Some(directory) = &results {
                fs::create_dir_all(directory)
                    .into_diagnostic()
                    .wrap_err_with(|| format!("{} cannot be made", directory.display()))?;
            }
            document.as_deref().map(|document| report::with_tables(document, "")).transpose()?;
            let report = measure(&only, repeats, htsim.as_deref())?;
            println!("{}", table::markdown(&report));
            if let Some(directory) = results {
                report.write(&directory)?;
            }
            if let Some(document) = document {
                report.splice(&document)?;
            }
        }
        Command::Own { file, point } => {
            let outcome = own::run_here(&file, point)?;
            println!("{}", serde_json::to_string(&outcome).into_diagnostic()?);
        }
        Command::Trace { file, point, flow, drop } => {
            let plan = cases::point(&file, point)?.scenario.build()?.plan;
            for entry in trace::trace(plan, flow, &drop) {
                println!("{entry}");
            }
        }
        Command::Golden => {
            for golden in golden::read()? {
                golden.record()?;
            }
            replay::record()?;
        }
        Command::Arguments { file, point } => {
            let plan = cases::point(&file, point)?.scenario.build()?.plan;
            let prepared = ns2::Prepared::new(&ackclock_peers::derive::parameters(&plan)?)?;
            println!("{}", prepared.arguments().collect::<Vec<_>>().join(" "));
        }
    }
    Ok(())
}

fn measure(only: &[String], repeats: Option<usize>, htsim: Option<&Path>) -> Result<Report> {
    let known = cases::read()?;
    for id in only {
        if known.iter().all(|case| case.id != *id) {
            let ids: Vec<_> = known.iter().map(|case| case.id.as_str()).collect();
            return Err(miette!(help = format!("there are {}", ids.join(", ")), "there is no case \"{id}\""));
        }
    }
    let version = ns2::version()?;
    let htsim = htsim.map(Htsim::build).transpose()?;
    let trivial = own::run(&cases::directory().join("trivial.toml"), 0)?;
    let chosen = known.iter().filter(|case| only.is_empty() || only.contains(&case.id));
    let cases = chosen.map(|case: &Case| run::run(case, repeats, htsim.as_ref())).collect::<Result<_>>()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    Ok(Report {
        date: jiff::Zoned::now().date().to_string(),
        machine: Machine::here(&version, htsim.as_ref().map(|htsim| htsim.version.as_str())),
        command: format!("ackclock-peers {}", arguments.join(" ")),
        trivial_rss_kb: trivial.peak_rss_kb,
        cases,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    #[test]
    fn a_document_has_the_tables_of_all_cases() {
        let parsed = |arguments: &str| {
            let arguments = arguments.split_whitespace();
            Arguments::try_parse_from(arguments).map(|_| ()).map_err(|error| error.kind())
        };
        assert_eq!(parsed("ackclock-peers run --document page.md --results results"), Ok(()));
        assert_eq!(parsed("ackclock-peers run --only ten-flows --results results"), Ok(()));
        assert_eq!(
            parsed("ackclock-peers run --only ten-flows --document page.md"),
            Err(ErrorKind::ArgumentConflict)
        );
    }
}
