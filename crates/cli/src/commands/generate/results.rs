//! What generated traffic came to: a table, a JSON document, and files.

use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_agent::controller::{EndOutcome, Outcome};
use ackclock_agent::report::Report;
use ackclock_agent::script::{End, Plan, Stage, Transfer};
use ackclock_agent::spec::Pattern;
use ackclock_files::Folder;
use miette::{Context, IntoDiagnostic};
use serde_json::{Value, json};
use std::path::Path;

fn megabits(bps: f64) -> String {
    format!("{:.2}", bps * 1e-6)
}

fn kind(transfer: &Transfer) -> &'static str {
    match transfer.pattern() {
        Some(Pattern::Full { .. }) => "full",
        Some(Pattern::Bursts(_)) => "burst",
        None => "",
    }
}

/// One row for each transfer: the numbers of the thesis's tool.
pub(super) fn table(plan: &Plan, outcomes: &[Outcome]) -> String {
    let header = [
        "transfer",
        "from",
        "to",
        "type",
        "sent B",
        "received B",
        "transmitted Mbit/s",
        "received Mbit/s",
        "failed cycles",
        "retransmissions",
        "lost",
        "s",
    ];
    let or = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let rows = plan.transfers.iter().zip(outcomes).enumerate().map(|(number, (transfer, outcome))| {
        let (sent, got) = (&outcome.source.report, &outcome.sink.report);
        vec![
            (number + 1).to_string(),
            transfer.source.agent.host.clone(),
            transfer.sink.agent.host.clone(),
            format!("{} {}", transfer.source.spec.protocol.name(), kind(transfer)),
            sent.bytes.to_string(),
            got.bytes.to_string(),
            megabits(sent.throughput_bps),
            megabits(got.throughput_bps),
            or(sent.bursts.as_ref().map(|bursts| bursts.failed_cycles)),
            or(sent.retransmissions),
            or(got.datagrams.as_ref().map(|datagrams| datagrams.lost)),
            format!("{:.3}", sent.duration_s),
        ]
    });
    plain_table(&header, rows).to_string()
}

fn end(end: &End, outcome: &EndOutcome) -> Value {
    json!({
        "host": end.agent.host,
        "own": end.own.as_ref().map(ToString::to_string),
        "report": report(&outcome.report),
    })
}

/// A report. Beside the microseconds in which agents talk stand seconds, and beside their word for what was
/// sent again that of simulated flows.
fn report(report: &Report) -> Value {
    let mut said = json!(report);
    said["retransmits"] = said["retransmissions"].clone();
    for part in ["bursts", "datagrams"] {
        let Some(fields) = said[part].as_object_mut() else { continue };
        let seconds = |(name, value): (&String, &Value)| {
            Some((format!("{}_s", name.strip_suffix("_us")?), json!(value.as_f64()? * 1e-6)))
        };
        // A share within so many microseconds is no time.
        let times: Vec<_> =
            fields.iter().filter(|(name, _)| !name.starts_with("within_")).filter_map(seconds).collect();
        fields.extend(times);
    }
    said
}

/// The bursts of a transfer by the words of scenarios, if they are always the same.
fn burst(pattern: Option<&Pattern>) -> Value {
    let Some(Pattern::Bursts(pattern)) = pattern else { return Value::Null };
    let Some(fixed) = pattern.fixed() else { return Value::Null };
    json!({
        "size": fixed.size,
        "every_s": fixed.every.as_secs_f64(),
        "for_s": pattern.duration as f64 * 1e-6,
        "queued": fixed.queued,
    })
}

/// The whole as one document.
pub(super) fn document(plan: &Plan, outcomes: &[Outcome]) -> Value {
    let transfers = plan.transfers.iter().zip(outcomes).map(|(transfer, outcome)| {
        json!({
            "protocol": transfer.source.spec.protocol.name(),
            "burst": burst(transfer.pattern()),
            "source": end(&transfer.source, &outcome.source),
            "sink": end(&transfer.sink, &outcome.sink),
            "failed": outcome.failed,
        })
    });
    json!({ "transfers": transfers.collect::<Vec<_>>() })
}

/// `generate.json`, and the time stamps of each end that has some, into a directory.
pub(super) fn save(path: &Path, plan: &Plan, outcomes: &[Outcome]) -> Result<(), Failure> {
    let named = || format!("--out {}", path.display());
    let folder = Folder::own(path).into_diagnostic().wrap_err_with(named)?;
    let write = |name: &str, content: &[u8]| {
        folder.replace(name, |to| to.write_all(content)).into_diagnostic().wrap_err_with(named)
    };
    let document = serde_json::to_vec_pretty(&document(plan, outcomes)).into_diagnostic()?;
    write("generate.json", &document)?;
    for (number, outcome) in outcomes.iter().enumerate() {
        for (end, name) in [(&outcome.source, "source"), (&outcome.sink, "sink")] {
            if end.stamps.is_empty() {
                continue;
            }
            let mut table = csv::Writer::from_writer(Vec::new());
            table.write_record(["time_s", "bytes"]).into_diagnostic()?;
            for &(us, bytes) in &end.stamps {
                let record = [format!("{:.6}", us as f64 * 1e-6), bytes.to_string()];
                table.write_record(record).into_diagnostic()?;
            }
            let bytes = table.into_inner().map_err(|error| error.into_error()).into_diagnostic()?;
            write(&format!("{}-{name}.csv", number + 1), &bytes)?;
        }
    }
    Ok(())
}

/// Says what a script would do.
pub(super) fn describe(plan: &Plan, as_json: bool) {
    if as_json {
        let transfers = plan.transfers.iter().map(|transfer| {
            let one = |end: &End| {
                json!({
                    "agent": end.agent.to_string(),
                    "own": end.own.as_ref().map(ToString::to_string),
                    "spec": end.spec,
                })
            };
            json!({
                "source": one(&transfer.source),
                "sink": one(&transfer.sink),
                "burst": burst(transfer.pattern()),
                "duration_s": transfer.pattern().map(|pattern| pattern.duration() as f64 * 1e-6),
            })
        });
        say!("{}", json!({ "transfers": transfers.collect::<Vec<_>>() }));
        return;
    }
    for (number, transfer) in plan.transfers.iter().enumerate() {
        let bytes = transfer.pattern().and_then(Pattern::bytes);
        let bytes = bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
        let offered = transfer.pattern().and_then(Pattern::offered);
        let offered = offered.map_or(String::new(), |bps| format!(" at {} Mbit/s", megabits(bps as f64)));
        let seconds = transfer.pattern().map_or(0.0, |pattern| pattern.duration() as f64 * 1e-6);
        say!(
            "{}: {} to {}, {} {}, {seconds} s{bytes}{offered}",
            number + 1,
            transfer.source.agent,
            transfer.sink.agent,
            transfer.source.spec.protocol.name(),
            kind(transfer)
        );
    }
    order(&plan.stage, 0);
}

/// Says what goes on when.
fn order(stage: &Stage, depth: usize) {
    let indent = "  ".repeat(depth);
    match stage {
        Stage::InTurn(stages) => {
            say!("{indent}one after the other:");
            stages.iter().for_each(|stage| order(stage, depth + 1));
        }
        Stage::Together(transfers, stages) => {
            let numbers: Vec<String> = transfers.iter().map(|number| (number + 1).to_string()).collect();
            if !numbers.is_empty() {
                say!("{indent}together: {}", numbers.join(", "));
            }
            stages.iter().for_each(|stage| order(stage, depth + 1));
        }
    }
}
