//! The ackclock side. A run has its own process, so that memory and time belong to it alone.

use crate::cases::point;
use crate::derive::{BOTTLENECK, hops};
use crate::machine::{cpu_s, peak_rss_kb};
use crate::outcome::Outcome;
use ackclock_study::run::run_point;
use miette::{IntoDiagnostic, Result, miette};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Runs point `number` of a scenario file in this process, on this thread.
///
/// # Errors
///
/// If the scenario cannot be read, is not valid, or has no such point.
pub fn run_here(file: &Path, number: usize) -> Result<Outcome> {
    let point = point(file, number)?;
    let hops: Vec<usize> = hops(&point.scenario.build()?.plan).collect();
    let cpu_before = cpu_s();
    let result = run_point(&point, false, &AtomicBool::new(false)).into_diagnostic()?;
    let cpu = cpu_s() - cpu_before;
    let link = &result.links[BOTTLENECK];
    let dropped = |&hop: &usize| result.links[hop].drops - result.links[hop].random_losses;
    let sum =
        |count: fn(&ackclock_scenario::results::FlowResult) -> u64| result.flows.iter().map(count).sum();
    let paced = || result.flows.iter().filter_map(|flow| Some((flow, flow.rate.as_ref()?)));
    Ok(Outcome {
        goodput_bps: result.flows.iter().map(|flow| flow.goodput_bps).sum(),
        rate_goodput_bps: paced().map(|(flow, _)| flow.goodput_bps).sum(),
        loss_event_rate: paced().next().and_then(|(_, rate)| rate.loss_event_rate),
        first_goodput_bps: result.flows.first().map_or(0.0, |flow| flow.goodput_bps),
        drops: hops.iter().map(dropped).sum(),
        marks: link.marks,
        queue_mean: link.queue_mean,
        losses: link.random_losses,
        retransmits: sum(|flow| flow.retransmits),
        timeouts: sum(|flow| flow.timeouts),
        window_cuts: sum(|flow| flow.window_cuts),
        delivered_segments: result.delivered_segments,
        wall_s: result.wall_s,
        cpu_s: cpu,
        peak_rss_kb: peak_rss_kb(),
    })
}

/// Runs point `number` of a scenario file in its own process.
///
/// # Errors
///
/// As [`run_here`], and if the process cannot be started.
pub fn run(file: &Path, number: usize) -> Result<Outcome> {
    let program = std::env::current_exe().into_diagnostic()?;
    let mut command = Command::new(program);
    command.arg("own").arg(file).arg("--point").arg(number.to_string());
    let output = command.output().into_diagnostic()?;
    if !output.status.success() {
        return Err(miette!("ackclock failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).into_diagnostic()
}
