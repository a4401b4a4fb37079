//! Runs the same points in the simulator, and compares the results.

use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_live::Fidelity;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_study::run::run_point;
use miette::{IntoDiagnostic, WrapErr};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Two results differ if their difference exceeds this share.
const CLOSE: f64 = 0.1;

/// The goodput of a group in the simulator and in the kernel.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Beside {
    /// The coordinates of the point, as written.
    #[serde(skip)]
    parameters: Vec<(String, String)>,
    label: String,
    simulated_bps: f64,
    emulated_bps: f64,
    /// (emulated - simulated) / simulated. `None` if nothing was delivered in the simulator.
    difference: Option<f64>,
    close: bool,
    /// The mean number of packets that wait at the narrowest link: simulated, emulated.
    queue_mean: Option<[f64; 2]>,
    /// The segments that the group sent again: simulated, emulated.
    retransmits: [u64; 2],
    #[serde(skip)]
    trusted: bool,
}

/// Simulates every point.
pub(crate) fn simulate(sweep: &Sweep, stop: &AtomicBool) -> Result<Vec<PointResult>, Failure> {
    let run = |point| {
        run_point(point, false, stop).map_err(|error| match error {
            ackclock_study::run::RunError::Scenario(error) => Failure::from(error),
            ackclock_study::run::RunError::Interrupted => {
                Failure::Interrupted("interrupted while simulating".to_owned())
            }
            error @ (ackclock_study::run::RunError::Capture(_) | ackclock_study::run::RunError::Unfit(_)) => {
                Failure::Report(miette::miette!("{error}"))
            }
        })
    };
    sweep.points.par_iter().map(run).collect()
}

/// Compares all groups of all points.
pub(crate) fn compare(
    sweep: &Sweep,
    simulated: &[PointResult],
    emulated: &[PointResult],
    own: &[Fidelity],
) -> Vec<Vec<Beside>> {
    let points = sweep.points.iter().zip(simulated).zip(emulated.iter().zip(own));
    let compared = points.map(|((point, one), (other, own))| {
        let queue = |point: &PointResult| {
            point.links.iter().find(|link| link.is_narrowest).map(|link| link.queue_mean)
        };
        let groups = one.groups.iter().zip(&other.groups);
        let group = groups.map(|(simulated, emulated)| {
            let (simulated_bps, emulated_bps) = (simulated.goodput_bps.total, emulated.goodput_bps.total);
            let difference = (simulated_bps > 0.0).then(|| emulated_bps / simulated_bps - 1.0);
            Beside {
                parameters: point
                    .parameters
                    .iter()
                    .map(|(axis, value)| (axis.clone(), value.plain()))
                    .collect(),
                label: emulated.label.clone(),
                simulated_bps,
                emulated_bps,
                difference,
                close: difference.is_some_and(|difference| difference.abs() <= CLOSE),
                queue_mean: queue(one).zip(queue(other)).map(|(one, other)| [one, other]),
                retransmits: [one, other].map(|point| sent_again(point, &emulated.label)),
                trusted: own.trusted,
            }
        });
        group.collect()
    });
    compared.collect()
}

/// The segments that the flows with this label sent again.
fn sent_again(point: &PointResult, label: &str) -> u64 {
    point.flows.iter().filter(|flow| flow.label == label).map(|flow| flow.retransmits).sum()
}

fn rows(compared: &[Vec<Beside>]) -> Vec<Vec<String>> {
    let mbps = |bps: f64| format!("{:.2}", bps / 1e6);
    let row = |beside: &Beside| {
        let mut row: Vec<String> = beside.parameters.iter().map(|(_, value)| value.clone()).collect();
        let difference = beside.difference.map_or("-".to_owned(), |it| format!("{:+.1} %", it * 100.0));
        let verdict = match (beside.close, beside.trusted) {
            (true, true) => "close",
            (false, true) => "differs",
            (true, false) => "close, in doubt",
            (false, false) => "differs, in doubt",
        };
        row.extend([beside.label.clone(), mbps(beside.simulated_bps), mbps(beside.emulated_bps)]);
        let queue =
            beside.queue_mean.map_or(["-".to_owned(), "-".to_owned()], |it| it.map(|n| format!("{n:.1}")));
        row.extend([difference, verdict.to_owned()]);
        row.extend(queue);
        row.extend(beside.retransmits.map(|segments| segments.to_string()));
        row
    };
    compared.iter().flatten().map(row).collect()
}

fn header(compared: &[Vec<Beside>]) -> Vec<String> {
    let axes = compared.iter().flatten().next().map(|beside| beside.parameters.iter());
    let axes = axes.into_iter().flatten().map(|(axis, _)| axis.clone());
    let rest = [
        "flows",
        "simulated, Mbit/s",
        "kernel, Mbit/s",
        "difference",
        "verdict",
        "queue, simulated",
        "kernel",
        "sent again, simulated",
        "kernel",
    ];
    axes.chain(rest.map(str::to_owned)).collect()
}

pub(crate) fn print(compared: &[Vec<Beside>]) {
    let header = header(compared);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    say!("{}", plain_table(&header, rows(compared).into_iter()));
}

/// Writes the table as a page of the documentation.
pub(crate) fn write(
    path: &Path,
    name: &str,
    compared: &[Vec<Beside>],
    own: &[Fidelity],
) -> Result<(), Failure> {
    let mut page = format!("<!-- Written by ackclock emulate --beside. -->\n\n# {name}\n\n");
    let all: Vec<&Beside> = compared.iter().flatten().collect();
    let close = all.iter().filter(|beside| beside.close).count();
    let doubted = own.iter().filter(|own| !own.trusted).count();
    let worst = own.iter().map(|own| own.lateness.p99_s).fold(0.0, f64::max);
    let wrote = writeln!(
        page,
        "{close} of {} are within {:.0} %. The emulator doubts its own result in {doubted} of {} runs; the largest lateness \
         that 99 of 100 deliveries of a run kept to was {:.3} ms.\n",
        all.len(),
        CLOSE * 100.0,
        own.len(),
        worst * 1e3
    )
    .and_then(|()| {
        let header = header(compared);
        writeln!(page, "| {} |", header.join(" | "))?;
        writeln!(page, "|{}", "---|".repeat(header.len()))?;
        rows(compared).iter().try_for_each(|row| writeln!(page, "| {} |", row.join(" | ")))
    });
    wrote.into_diagnostic()?;
    std::fs::write(path, page)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be written", path.display()))?;
    Ok(())
}

/// Adds the comparison to each point of the document.
pub(crate) fn add(document: &mut serde_json::Value, simulated: &[PointResult], compared: &[Vec<Beside>]) {
    for (number, (simulated, beside)) in simulated.iter().zip(compared).enumerate() {
        let point = &mut document["points"][number];
        point["simulated"] = serde_json::json!(simulated);
        point["beside"] = serde_json::json!(beside);
    }
}
