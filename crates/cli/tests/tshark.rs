//! `ackclock trace` beside tshark (Wireshark), packet by packet of the same captures: one of the running
//! kernel, one of the simulator, and one without losses.
//!
//! Without tshark the comparisons are reported as ignored, and say what to install.

mod common;

use common::{Checked, Named, ackclock, ensure, stderr, stdout};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let there = Command::new("tshark").arg("--version").output().is_ok_and(|it| it.status.success());
    let tests: [Named; 3] =
        [("a_capture_of_the_kernel", kernel), ("a_simulated_capture", simulated), ("no_losses", lossless)];
    let trials = tests.map(|(name, test)| {
        if there {
            return Trial::test(name, test);
        }
        let name = format!("{name} (skipped: tshark is not there: apt-get install tshark)");
        Trial::test(name, test).with_ignored_flag(true)
    });
    if !there {
        eprintln!("tshark is not there, so nothing is compared with it: apt-get install tshark");
    }
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

const PATH: &str = include_str!("captures/path.toml");

/// What tshark tells of a packet.
const FIELDS: [&str; 13] = [
    "tcp.stream",
    "ip.src",
    "tcp.len",
    "tcp.ack",
    "tcp.window_size",
    "tcp.flags.syn",
    "tcp.analysis.retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.bytes_in_flight",
    "tcp.analysis.duplicate_ack_num",
    "tcp.analysis.window_update",
];

type Packet = BTreeMap<&'static str, String>;

fn packets(capture: &Path) -> Result<Vec<Packet>, Failed> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-r"]).arg(capture);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = command.output()?;
    ensure(output.status.success(), stderr(&output))?;
    let packet = |line: &str| FIELDS.into_iter().zip(line.split('\t').map(str::to_owned)).collect();
    Ok(stdout(&output).lines().map(packet).collect())
}

/// The number in a field, if the packet has it.
fn number(packet: &Packet, field: &str) -> Option<f64> {
    packet.get(field)?.parse().ok()
}

fn has(packet: &Packet, field: &str) -> bool {
    packet.get(field).is_some_and(|text| !text.is_empty())
}

/// What tshark's packets say of the direction from `source` in a connection.
#[derive(Debug, PartialEq)]
struct Told {
    data_packets: u64,
    data_bytes: u64,
    /// Retransmissions, fast or spurious ones included, and packets out of order.
    again: u64,
    out_of_order: u64,
    /// Round-trip times, s: their number, and the least.
    rtts: u64,
    rtt_min_s: f64,
    in_flight_max: u64,
    in_flight_mean: f64,
    initial_packets: u64,
    initial_bytes: u64,
    /// Bytes in flight when the last packet of the initial window had left.
    initial_in_flight: u64,
    duplicates: u64,
    /// Repeated acknowledgements with another window, which tshark calls updates of the window.
    updates: u64,
    window_max: u64,
}

fn told(packets: &[Packet], stream: usize, source: &str) -> Told {
    let stream = stream.to_string();
    let all: Vec<&Packet> = packets.iter().filter(|it| it["tcp.stream"] == stream).collect();
    let (own, other): (Vec<&Packet>, Vec<&Packet>) = all.iter().partition(|it| it["ip.src"] == source);
    let data = |it: &&&Packet| number(it, "tcp.len").is_some_and(|bytes| bytes > 0.0);
    let count = |of: &[&Packet], field: &str| of.iter().filter(|it| has(it, field)).count() as u64;
    let sum = |of: &[&Packet], field: &str| of.iter().filter_map(|it| number(it, field)).sum::<f64>() as u64;
    let rtts: Vec<f64> = other.iter().filter_map(|it| number(it, "tcp.analysis.ack_rtt")).collect();
    let flights: Vec<f64> = own.iter().filter_map(|it| number(it, "tcp.analysis.bytes_in_flight")).collect();
    let acked = |it: &&Packet| it["ip.src"] != source && number(it, "tcp.ack").is_some_and(|ack| ack > 1.0);
    let first_ack = all.iter().position(acked).unwrap_or(all.len());
    let initial: Vec<&Packet> =
        all[..first_ack].iter().filter(|it| it["ip.src"] == source).filter(data).copied().collect();
    let scaled = own.iter().filter(|it| !matches!(it["tcp.flags.syn"].as_str(), "1" | "True"));
    Told {
        data_packets: own.iter().filter(data).count() as u64,
        data_bytes: sum(&own, "tcp.len"),
        again: count(&own, "tcp.analysis.retransmission")
            + count(&own, "tcp.analysis.spurious_retransmission"),
        out_of_order: count(&own, "tcp.analysis.out_of_order"),
        rtts: rtts.len() as u64,
        rtt_min_s: rtts.iter().copied().fold(f64::INFINITY, f64::min),
        in_flight_max: flights.iter().copied().fold(0.0, f64::max) as u64,
        in_flight_mean: flights.iter().sum::<f64>() / flights.len() as f64,
        initial_packets: initial.len() as u64,
        initial_bytes: sum(&initial, "tcp.len"),
        initial_in_flight: initial
            .last()
            .and_then(|it| number(it, "tcp.analysis.bytes_in_flight"))
            .unwrap_or(0.0) as u64,
        duplicates: count(&other, "tcp.analysis.duplicate_ack_num"),
        updates: count(&other, "tcp.analysis.window_update"),
        window_max: scaled.filter_map(|it| number(it, "tcp.window_size")).fold(0.0, f64::max) as u64,
    }
}

/// Compares the directions with data of all connections. `at_once`: the handshake takes no time. Returns the
/// number of packets that were sent again.
fn compare(capture: &Path, at_once: bool) -> Result<u64, Failed> {
    let packets = packets(capture)?;
    let output = ackclock(Path::new("."), &["trace", &capture.display().to_string(), "--json"]);
    let document: Value = serde_json::from_str(&stdout(&output))?;
    let connections = document["connections"].as_array().ok_or("a list is wanted")?;
    ensure(connections.len() == 2, format!("{} connections", connections.len()))?;
    let mut lost = 0;
    for (stream, connection) in connections.iter().enumerate() {
        let source = connection["ends"][0].as_str().and_then(|it| it.split(':').next()).ok_or("no end")?;
        let theirs = told(&packets, stream, source);
        let ours = &connection["directions"][0];
        let own = |name: &str| ours[name].as_u64().unwrap_or(u64::MAX);
        let same = |what: &str, theirs: u64, ours: u64| {
            ensure(theirs == ours, format!("connection {stream}, {what}: {ours}, and tshark has {theirs}"))
        };
        same("packets with data", theirs.data_packets, own("data_packets"))?;
        same("bytes", theirs.data_bytes, own("data_bytes"))?;
        same("largest window", theirs.window_max, own("window_max"))?;
        same("packets of the initial window", theirs.initial_packets, own("initial_window_packets"))?;
        same("bytes of the initial window", theirs.initial_bytes, own("initial_window_bytes"))?;
        same("in flight by then", theirs.initial_in_flight, own("initial_window_bytes"))?;
        // tshark tells the two apart by time, and ackclock by whether it has seen the data.
        same(
            "sent again or out of order",
            theirs.again + theirs.out_of_order,
            own("retransmitted_packets") + own("out_of_order"),
        )?;
        // tshark also times what was sent twice, and what came after that; but not in no time at all.
        let timed =
            ours["rtt"]["samples"].as_u64().unwrap_or(0) + own("ambiguous_acks") + own("post_loss_acks");
        same("round-trip times", theirs.rtts, timed - u64::from(at_once))?;
        let least = ours["rtt"]["min_s"].as_f64().unwrap_or(0.0);
        ensure((theirs.rtt_min_s - least).abs() < 2e-9, format!("{least} and {}", theirs.rtt_min_s))?;
        // A repeated acknowledgement with another window is none for tshark.
        let duplicates = own("duplicate_acks");
        let about = theirs.duplicates..=theirs.duplicates + theirs.updates;
        ensure(about.contains(&duplicates), format!("{duplicates} duplicates, and {theirs:?}"))?;
        // tshark takes off what is acknowledged selectively.
        let (most, mean) = (own("outstanding_max"), ours["outstanding_mean"].as_f64().unwrap_or(0.0));
        if own("retransmitted_packets") + own("out_of_order") == 0 {
            same("most outstanding", theirs.in_flight_max, most)?;
            // The handshake's last packet counts, too: nothing is outstanding there.
            let sum = mean * (theirs.data_packets + 1) as f64;
            let near = (theirs.in_flight_mean * theirs.data_packets as f64 / sum - 1.0).abs() < 1e-6;
            ensure(near, format!("{mean} outstanding, and {theirs:?}"))?;
        } else {
            ensure(theirs.in_flight_max <= most, format!("{most} outstanding, and {theirs:?}"))?;
        }
        lost += own("retransmitted_packets");
    }
    Ok(lost)
}

fn kernel() -> Checked {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/kernel.pcapng");
    let lost = compare(&capture, false)?;
    ensure(lost == 42, format!("{lost} packets were sent again"))
}

/// The capture on the first link of this path, in this directory.
fn simulate(directory: &Path, path: &str) -> Result<PathBuf, Failed> {
    fs::write(directory.join("path.toml"), path)?;
    let output = ackclock(directory, &["run", "path.toml", "--out", "out", "--capture", "first"]);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    Ok(directory.join("out/capture/first.pcapng"))
}

fn simulated() -> Checked {
    let directory = tempfile::tempdir()?;
    let lost = compare(&simulate(directory.path(), PATH)?, true)?;
    ensure(lost > 20, format!("{lost} packets were sent again"))
}

fn lossless() -> Checked {
    let directory = tempfile::tempdir()?;
    let path = PATH.replace(", queue = { droptail = \"12 packets\" }, loss = 0.01", "");
    ensure(path != PATH, "the path has no such losses")?;
    let lost = compare(&simulate(directory.path(), &path)?, true)?;
    ensure(lost == 0, format!("{lost} packets were sent again"))
}
