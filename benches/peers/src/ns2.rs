//! The ns-2 side: the script, its arguments, its output.

use crate::cases::Way;
use crate::derive::Parameters;
use crate::outcome::Outcome;
use ackclock_rate::TimeMean;
use ackclock_units::Duration as Span;
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The path of the script.
pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ns2/dumbbell.tcl")
}

/// The output of the script.
#[derive(Deserialize)]
struct Answer {
    total_delivered_segments: u64,
    total_goodput_bps: f64,
    goodput_bps: Vec<f64>,
    window_retransmits: Vec<u64>,
    window_timeouts: Vec<u64>,
    window_cwnd_cuts: Vec<u64>,
    bottleneck: Bottleneck,
    wall_s: f64,
    cpu_s: f64,
    peak_rss_kb: u64,
}

#[derive(Deserialize)]
struct Bottleneck {
    window_drops: u64,
    window_marks: u64,
    window_mean_waiting: f64,
    window_random_loss_drops: u64,
}

/// A prepared run.
pub struct Prepared {
    arguments: Vec<String>,
    /// The positions of lost packets. The file exists as long as the run.
    losses: tempfile::NamedTempFile,
    extra: Vec<String>,
    /// The start of the first rate-based flow, s.
    rate_start: Option<f64>,
    /// For each flow, whether it is rate-based.
    rate_based: Vec<bool>,
}

impl Prepared {
    /// Prepares a run with these parameters.
    ///
    /// # Errors
    ///
    /// If the file with the losses cannot be written.
    pub fn new(parameters: &Parameters) -> Result<Prepared> {
        let mut losses = tempfile::NamedTempFile::new().into_diagnostic()?;
        let mut text = String::new();
        for position in &parameters.losses {
            let _ = writeln!(text, "{position}");
        }
        losses.write_all(text.as_bytes()).into_diagnostic()?;
        let mut arguments: Vec<String> =
            parameters.keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if !parameters.losses.is_empty() {
            arguments.push(format!("loss_list={}", losses.path().display()));
        }
        let kinds = parameters.keys.iter().find(|(key, _)| *key == "kinds");
        let rate_based =
            kinds.map_or(Vec::new(), |(_, list)| list.split(',').map(|kind| kind == "tfrc").collect());
        Ok(Prepared { arguments, losses, extra: Vec::new(), rate_start: parameters.rate_start, rate_based })
    }

    /// The same run with one more key of the script.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl std::fmt::Display) -> Prepared {
        self.extra.push(format!("{key}={value}"));
        self
    }

    /// The arguments of the script, without the list of losses.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let path = self.losses.path().display().to_string();
        self.arguments
            .iter()
            .chain(&self.extra)
            .map(String::as_str)
            .filter(move |word| !word.ends_with(&path))
    }

    /// Runs ns-2. `None` if it takes longer than `limit_s`, s.
    ///
    /// # Errors
    ///
    /// If ns-2 cannot be run, fails, or prints something else than a result.
    pub fn run(&self, way: Way, limit_s: f64) -> Result<Option<Outcome>> {
        Ok(self.run_logged(way, limit_s)?.map(|(outcome, _)| outcome))
    }

    /// The same, with what ns-2 itself wrote to standard output.
    ///
    /// # Errors
    ///
    /// As [`Prepared::run`].
    pub fn run_logged(&self, way: Way, limit_s: f64) -> Result<Option<(Outcome, String)>> {
        let mut command = Command::new("ns");
        command.arg(script()).args(&self.arguments).args(&self.extra);
        if way == Way::Stock {
            command.args(["stock=1", "monitor=0"]);
        }
        let (log, result) =
            (NamedTempFile::new().into_diagnostic()?, NamedTempFile::new().into_diagnostic()?);
        command.arg(format!("result={}", result.path().display()));
        let child = command.stdout(log.reopen().into_diagnostic()?).stderr(Stdio::piped()).spawn();
        let child =
            child.into_diagnostic().wrap_err("ns cannot be started; is the package ns2 installed?")?;
        if !finish(child, Duration::from_secs_f64(limit_s))? {
            return Ok(None);
        }
        let printed = std::fs::read_to_string(result.path()).into_diagnostic()?;
        let answer: Answer = serde_json::from_str(&printed)
            .into_diagnostic()
            .wrap_err_with(|| format!("the ns-2 script wrote {printed}"))?;
        let log = std::fs::read_to_string(log.path()).into_diagnostic()?;
        let paced = answer.goodput_bps.iter().zip(&self.rate_based).filter(|(_, rate_based)| **rate_based);
        let outcome = Outcome {
            goodput_bps: answer.total_goodput_bps,
            rate_goodput_bps: paced.map(|(goodput, _)| goodput).sum(),
            loss_event_rate: self.rate_start.and_then(|start| mean_loss_event_rate(start, &log)),
            first_goodput_bps: answer.goodput_bps.first().copied().unwrap_or(0.0),
            drops: answer.bottleneck.window_drops,
            marks: answer.bottleneck.window_marks,
            queue_mean: answer.bottleneck.window_mean_waiting,
            losses: answer.bottleneck.window_random_loss_drops,
            retransmits: answer.window_retransmits.iter().sum(),
            timeouts: answer.window_timeouts.iter().sum(),
            window_cuts: answer.window_cwnd_cuts.iter().sum(),
            delivered_segments: answer.total_delivered_segments,
            wall_s: answer.wall_s,
            cpu_s: answer.cpu_s,
            peak_rss_kb: answer.peak_rss_kb,
        };
        Ok(Some((outcome, log)))
    }
}

/// The mean over time of what Agent/TFRCSink prints at each report, from the `start` of the flow to the last
/// report, with 0 before the first loss. `None` if there is no report with a loss.
fn mean_loss_event_rate(start: f64, log: &str) -> Option<f64> {
    let mut mean = TimeMean::default();
    let (mut since, mut value) = (start, 0.0);
    for (at, told) in log.lines().filter_map(read_loss_event_rate) {
        mean.add(value, Span::from_secs_f64((at - since).max(0.0)));
        (since, value) = (at, told);
    }
    mean.value()
}

/// Reads a line "time: SECONDS sample 0: PACKETS loss_rate: P".
fn read_loss_event_rate(line: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["time:", at, "sample", "0:", _, "loss_rate:", rate] = words[..] else { return None };
    Some((at.parse().ok()?, rate.parse().ok()?))
}

/// Waits for the child. False if it was killed after `limit`.
fn finish(mut child: Child, limit: Duration) -> Result<bool> {
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().into_diagnostic()? {
            break status;
        }
        if begun.elapsed() > limit {
            child.kill().into_diagnostic()?;
            child.wait().into_diagnostic()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut complaints = String::new();
    child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut complaints)).transpose().into_diagnostic()?;
    if status.success() { Ok(true) } else { Err(miette!("ns-2 failed:\n{complaints}")) }
}

/// The version of the installed ns-2.
///
/// # Errors
///
/// If ns-2 cannot be run, or does not print its version.
pub fn version() -> Result<String> {
    let mut file = tempfile::NamedTempFile::new().into_diagnostic()?;
    writeln!(file, "puts [ns-version]\nexit").into_diagnostic()?;
    let output = Command::new("ns").arg(file.path()).output().into_diagnostic().wrap_err(
        "ns cannot be started; `make peers` installs Debian's package ns2 where that is possible",
    )?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
