//! `ackclock generate --to iperf3://HOST`: a test with a server of iperf3.

use super::script::report;
use crate::args::Generate;
use crate::failure::Failure;
use crate::interrupt;
use crate::view::table::plain_table;
use ackclock_agent::iperf3::PORT;
use ackclock_agent::iperf3::client::{self, Tested};
use ackclock_agent::iperf3::message::{Parameters, StreamResult};
use ackclock_files::Folder;
use ackclock_units::{Bytes, Rate};
use miette::{Context, IntoDiagnostic, Report, miette};
use serde_json::{Value, json};
use std::path::Path;

/// Blocks over TCP and datagrams, bytes: those of iperf3 on paths with an MTU of 1500.
const BLOCKS: [u64; 2] = [128 << 10, 1448];
/// What UDP sends unless it is told to, bit/s: as iperf3.
const UDP_RATE: u64 = 1 << 20;

pub(super) fn run(command: &Generate) -> Result<(), Failure> {
    let url = command.iperf3.to.as_deref().unwrap_or_default();
    let (host, port) = place(url)?;
    let stop = interrupt::listen()?;
    let tested = match client::run(&host, port, parameters(command), stop) {
        Err(refusal) if refusal.error == "interrupted" => {
            return Err(Failure::Interrupted("interrupted; all traffic has ended".to_owned()));
        }
        other => other.map_err(|refusal| report(&refusal))?,
    };
    let document = document(url, &tested);
    if let Some(out) = &command.out {
        save(out, &document)?;
    }
    if command.json {
        say!("{document}");
    } else {
        say!("{}", table(&tested));
    }
    Ok(())
}

/// The host and the port of a server.
fn place(url: &str) -> Result<(String, u16), Report> {
    let wrong =
        || miette!(help = "write iperf3://HOST or iperf3://HOST:PORT", "--to {url}: this names no server");
    let rest = url.strip_prefix("iperf3://").ok_or_else(wrong)?.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) => {
            (host, port.parse().map_err(|_| wrong())?)
        }
        _ => (rest, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() { Err(wrong()) } else { Ok((host.to_owned(), port)) }
}

fn parameters(command: &Generate) -> Parameters {
    let asked = &command.iperf3;
    let seconds = match (asked.time, asked.bytes) {
        (Some(time), _) => time.as_secs_f64(),
        (None, Some(_)) => 0.0,
        (None, None) => 10.0,
    };
    let unsaid = if asked.udp { UDP_RATE } else { 0 };
    Parameters {
        tcp: !asked.udp,
        udp: asked.udp,
        // iperf3 reads whole seconds; a part of one counts as a whole one there, and ends here.
        time: seconds,
        omit: asked.omit.map_or(0.0, ackclock_units::Duration::as_secs_f64),
        num: asked.bytes.map_or(0, |bytes| bytes.0),
        parallel: asked.parallel,
        reverse: asked.reverse,
        bidirectional: asked.bidir,
        window: asked.window.map_or(0, |bytes| bytes.0),
        len: asked.length.map_or(BLOCKS[usize::from(asked.udp)], |Bytes(bytes)| bytes),
        bandwidth: asked.bitrate.map_or(unsaid, Rate::bps),
        congestion: asked.control.clone(),
        udp_counters_64bit: u64::from(asked.udp),
        client_version: concat!("ackclock ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Parameters::default()
    }
}

/// What the sender and what the receiver of a stream has measured.
fn ends<'a>(
    sends: bool,
    ours: &'a StreamResult,
    theirs: &'a StreamResult,
) -> (&'a StreamResult, &'a StreamResult) {
    if sends { (ours, theirs) } else { (theirs, ours) }
}

fn bps(result: &StreamResult) -> f64 {
    let seconds = result.end_time - result.start_time;
    if seconds > 0.0 { result.bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn table(tested: &Tested) -> String {
    let header = [
        "stream",
        "sender",
        "sent B",
        "sent Mbit/s",
        "received B",
        "received Mbit/s",
        "retransmissions",
        "lost",
    ];
    let none = StreamResult::default();
    let rows = tested.streams().map(|(sends, ours, theirs)| {
        let (sent, got) = ends(sends, ours, theirs.unwrap_or(&none));
        let count =
            |value: i64, known: bool| if known && value >= 0 { value.to_string() } else { "-".to_owned() };
        vec![
            ours.id.to_string(),
            if sends { "here" } else { "server" }.to_owned(),
            sent.bytes.to_string(),
            format!("{:.2}", bps(sent) * 1e-6),
            got.bytes.to_string(),
            format!("{:.2}", bps(got) * 1e-6),
            count(sent.retransmits, tested.asked.tcp),
            count(got.errors, tested.asked.udp),
        ]
    });
    plain_table(&header, rows).to_string()
}

fn document(url: &str, tested: &Tested) -> Value {
    let end = |result: &StreamResult| json!({ "bytes": result.bytes, "throughput_bps": bps(result) });
    let streams = tested.streams().map(|(sends, ours, theirs)| {
        let none = StreamResult::default();
        let (sent, got) = ends(sends, ours, theirs.unwrap_or(&none));
        let (tcp, udp) = (tested.asked.tcp, tested.asked.udp);
        let again = (tcp && sent.retransmits >= 0).then_some(sent.retransmits);
        json!({
            "stream": ours.id,
            "sender": if sends { "here" } else { "server" },
            "sent": end(sent),
            "received": end(got),
            "retransmissions": again,
            "retransmits": again,
            "lost": udp.then_some(got.errors),
            "jitter_s": udp.then_some(got.jitter),
        })
    });
    json!({
        "server": url,
        "protocol": if tested.asked.udp { "udp" } else { "tcp" },
        "control": tested.ours.congestion_used.as_ref().or(tested.theirs.congestion_used.as_ref()),
        "streams": streams.collect::<Vec<_>>(),
    })
}

fn save(path: &Path, document: &Value) -> Result<(), Failure> {
    let named = || format!("--out {}", path.display());
    let folder = Folder::own(path).into_diagnostic().wrap_err_with(named)?;
    let bytes = serde_json::to_vec_pretty(document).into_diagnostic()?;
    folder.replace("generate.json", |to| to.write_all(&bytes)).into_diagnostic().wrap_err_with(named)?;
    Ok(())
}
