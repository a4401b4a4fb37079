//! What ns-2's TFRC does when chosen packets are lost, recorded so that a test of `ackclock-rate` replays it
//! without ns-2.
//!
//! The record has a line for each packet that leaves its sender, "sent NUMBER TIME", for each that arrives,
//! "arrived NUMBER TIME", and for each report: when it left the receiver, when it reached the sender, the
//! loss event rate in it (five decimals; "-" in the first one after a loss, which ns-2 does not print), the
//! rate that the sender has then (bytes per second), and the last five loss intervals, the open one first.

use crate::cases::{Way, point};
use crate::derive::parameters;
use crate::golden::directory;
use crate::ns2::{Prepared, version};
use miette::{Context, IntoDiagnostic, Result, miette};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The packets that are lost, numbered from 0: one in slow start; single ones; pairs within a round trip and
/// in a row; then a long interval, in which older ones are discounted.
const LOST: [u64; 18] =
    [60, 100, 150, 151, 190, 193, 230, 280, 330, 380, 430, 480, 530, 580, 1000, 1040, 1080, 1300];

/// The file that the test reads.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/rate/tests/transports/tfrc.ns2")
}

/// The loss event rate that the receiver prints, and its loss intervals.
#[derive(Default)]
struct Printed<'a> {
    rate: &'a str,
    intervals: Vec<&'a str>,
}

/// Runs ns-2 and records what it does.
///
/// # Errors
///
/// If ns-2 cannot be run, or the record cannot be written.
pub fn record() -> Result<()> {
    let plan = point(&directory().join("tfrc.toml"), 0)?.scenario.build()?.plan;
    let (trace, reports) = (tempfile::NamedTempFile::new(), tempfile::NamedTempFile::new());
    let (trace, reports) = (trace.into_diagnostic()?, reports.into_diagnostic()?);
    let lost: Vec<String> = LOST.iter().map(u64::to_string).collect();
    let prepared = Prepared::new(&parameters(&plan)?)?.with("drop", lost.join(","));
    let mut text = format!("# ns-2 {}, ", version()?);
    let _ = writeln!(text, "dumbbell.tcl {}", prepared.arguments().collect::<Vec<_>>().join(" "));
    let prepared = prepared.with("trace", trace.path().display()).with("reports", reports.path().display());
    let (_, log) = prepared.run_logged(Way::Tuned, 60.0)?.ok_or_else(|| miette!("ns-2 is too slow"))?;
    let trace = std::fs::read_to_string(trace.path()).into_diagnostic()?;
    let reports = std::fs::read_to_string(reports.path()).into_diagnostic()?;
    text.push_str("# report: left, came, loss event rate, rate in B/s, loss intervals\n");
    let mut heard = reports.lines();
    for line in trace.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, event, _, number, _] = words[..] else { continue };
        match event {
            "send" => drop(writeln!(text, "sent {number} {at}")),
            "recv" => drop(writeln!(text, "arrived {number} {at}")),
            "sendack" => {
                // Reports are neither lost nor overtaken.
                let Some((came, rate)) = heard.next().and_then(|line| line.split_once(' ')) else { break };
                let Printed { rate: told, intervals } = printed(&log, at);
                let _ = writeln!(text, "report {at} {came} {told} {rate} {}", intervals.join(" "));
            }
            _ => {}
        }
    }
    std::fs::write(file(), text).into_diagnostic().wrap_err("the record cannot be written")?;
    eprintln!("wrote {}", file().display());
    Ok(())
}

/// What the receiver printed at this time, s.
fn printed<'a>(log: &'a str, at: &str) -> Printed<'a> {
    let at: f64 = at.parse().unwrap_or(f64::NAN);
    let near = |text: &str| text.parse::<f64>().is_ok_and(|time| (time - at).abs() < 1.1e-5);
    let mut printed = Printed::default();
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["time:", time, "sample", "0:", _, "loss_rate:", rate] if near(time) => printed.rate = rate,
            [time, "sample", "0:", a, "1:", b, "2:", c, "3:", d, "4:", e]
                if near(time.trim_end_matches(':')) =>
            {
                printed.intervals = vec![a, b, c, d, e];
            }
            _ => {}
        }
    }
    if printed.rate.is_empty() {
        printed.rate = if printed.intervals.is_empty() { "0" } else { "-" };
    }
    printed
}
