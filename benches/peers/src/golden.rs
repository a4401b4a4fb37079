//! What ns-2 sends under chosen drop patterns. It is recorded once, so that the comparison does not need
//! ns-2.
//!
//! A record has one line for each run of consecutive segments: the send times of the first and the last of
//! them, and their numbers.

use crate::cases::{Way, point};
use crate::derive::parameters;
use crate::ns2::Prepared;
use crate::trace::{Entry, Event, trace};
use ackclock_scenario::plan::Plan;
use ackclock_units::{Duration, Time};
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A drop pattern.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// The name.
    pub id: String,
    /// The scenario file, in the directory of the record.
    pub scenario: PathBuf,
    /// The segments whose first transmission is lost, in rising order.
    pub drop: Vec<u64>,
}

/// A run of consecutive segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// The send time of the first segment, s.
    pub begins_s: f64,
    /// The send time of the last segment, s.
    pub ends_s: f64,
    /// The number of the first segment.
    pub from: u64,
    /// The number of the last segment.
    pub to: u64,
}

#[derive(Deserialize)]
struct Index {
    golden: Vec<Golden>,
}

/// The directory of the records.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Reads all drop patterns.
///
/// # Errors
///
/// If the index cannot be read, or is not valid.
pub fn read() -> Result<Vec<Golden>> {
    let file = directory().join("golden.toml");
    let text = std::fs::read_to_string(&file)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be read", file.display()))?;
    let index: Index = toml::from_str(&text).into_diagnostic().wrap_err("golden.toml is not right")?;
    Ok(index.golden)
}

impl Golden {
    fn record_file(&self) -> PathBuf {
        directory().join(format!("{}.ns2", self.id))
    }

    /// The plan of its scenario.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be read, or is not valid.
    pub fn plan(&self) -> Result<Plan> {
        Ok(point(&directory().join(&self.scenario), 0)?.scenario.build()?.plan)
    }

    /// Runs ackclock, and returns what it sends.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be read, or is not valid.
    pub fn own(&self) -> Result<Vec<Run>> {
        let plan = self.plan()?;
        let mut positions: Vec<u64> = Vec::new();
        for &seq in &self.drop {
            // The position of a segment at the bottleneck is known once the losses before it have happened.
            let sends = sent(&trace(plan.clone(), 0, &positions));
            let position = sends.iter().position(|&(_, sent)| sent == seq);
            let position = position.ok_or_else(|| miette!("{}: segment {seq} is never sent", self.id))?;
            positions.push(position as u64);
        }
        Ok(runs(&sent(&trace(plan, 0, &positions))))
    }

    /// Reads what ns-2 sent when it was recorded.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or is not valid.
    pub fn recorded(&self) -> Result<Vec<Run>> {
        let file = self.record_file();
        let text = std::fs::read_to_string(&file)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be read", file.display()))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| read_run(line).ok_or_else(|| miette!("{}: not a run: {line}", self.id))).collect()
    }

    /// Runs ns-2 and records what it sends.
    ///
    /// # Errors
    ///
    /// If ns-2 cannot be run, or the record cannot be written.
    pub fn record(&self) -> Result<()> {
        let log = tempfile::NamedTempFile::new().into_diagnostic()?;
        let drop: Vec<String> = self.drop.iter().map(u64::to_string).collect();
        let prepared = Prepared::new(&parameters(&self.plan()?)?)?.with("drop", drop.join(","));
        let mut text = format!("# ns-2 {}, ", crate::ns2::version()?);
        let _ = writeln!(text, "dumbbell.tcl {}", prepared.arguments().collect::<Vec<_>>().join(" "));
        text.push_str("# first sent at (s), last sent at (s), first segment, last segment\n");
        prepared.with("trace", log.path().display()).run(Way::Tuned, 60.0)?;
        let events = std::fs::read_to_string(log.path()).into_diagnostic()?;
        for run in runs(&events.lines().filter_map(read_send).collect::<Vec<_>>()) {
            let _ = writeln!(text, "{:.9} {:.9} {} {}", run.begins_s, run.ends_s, run.from, run.to);
        }
        let file = self.record_file();
        std::fs::write(&file, text)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", file.display()))?;
        eprintln!("wrote {}", file.display());
        Ok(())
    }
}

fn sent(entries: &[Entry]) -> Vec<(Time, u64)> {
    let sends = entries.iter().filter_map(|entry| match entry.event {
        Event::Send(seq) => Some((entry.at, seq)),
        _ => None,
    });
    sends.collect()
}

/// Reads a line "time send flow segment cwnd" of the script's log.
fn read_send(line: &str) -> Option<(Time, u64)> {
    let mut words = line.split(' ');
    let at: f64 = words.next()?.parse().ok()?;
    (words.next()? == "send").then_some(())?;
    let seq = words.nth(1)?.parse().ok()?;
    Some((Time::ZERO + Duration::from_secs_f64(at), seq))
}

fn read_run(line: &str) -> Option<Run> {
    let words: Vec<&str> = line.split(' ').collect();
    let [begins, ends, from, to] = words[..] else { return None };
    Some(Run {
        begins_s: begins.parse().ok()?,
        ends_s: ends.parse().ok()?,
        from: from.parse().ok()?,
        to: to.parse().ok()?,
    })
}

fn runs(sends: &[(Time, u64)]) -> Vec<Run> {
    let runs = sends.chunk_by(|(_, a), (_, b)| a + 1 == *b).filter_map(|run| {
        let (&(begins, from), &(ends, to)) = (run.first()?, run.last()?);
        Some(Run { begins_s: begins.as_secs_f64(), ends_s: ends.as_secs_f64(), from, to })
    });
    runs.collect()
}
