//! `ackclock trace`: field by field what tcptrace 6.6.7 printed for the same captures, one of the running
//! kernel and one of the simulator.

mod common;

use common::{SCENARIO, ackclock, listing, shell, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PATH: &str = include_str!("captures/path.toml");

fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/kernel.pcapng")
}

/// The capture of the simulated path, in this directory.
fn simulated(directory: &Path) -> (PathBuf, Value) {
    fs::write(directory.join("path.toml"), PATH).expect("a file");
    let output = ackclock(directory, &["run", "path.toml", "--json", "--out", "out", "--capture", "first"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let results = serde_json::from_str(&stdout(&output)).expect("one JSON document");
    (directory.join("out/capture/first.pcapng"), results)
}

fn traced(capture: &Path) -> Value {
    let directory = tempfile::tempdir().expect("a directory");
    let output = ackclock(directory.path(), &["trace", &capture.display().to_string(), "--json"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    serde_json::from_str(&stdout(&output)).expect("one JSON document")
}

/// tcptrace's name of a field, where it is in our document, and how many of its units are one of ours.
const FIELDS: &[(&str, &str, f64)] = &[
    ("total packets", "/packets", 1.0),
    ("ack pkts sent", "/acks", 1.0),
    ("pure acks sent", "/pure_acks", 1.0),
    ("sack pkts sent", "/sack_packets", 1.0),
    ("max sack blks/ack", "/sack_blocks_max", 1.0),
    ("unique bytes sent", "/unique_bytes", 1.0),
    ("actual data pkts", "/data_packets", 1.0),
    ("actual data bytes", "/data_bytes", 1.0),
    ("rexmt data pkts", "/retransmitted_packets", 1.0),
    ("rexmt data bytes", "/retransmitted_bytes", 1.0),
    ("outoforder pkts", "/out_of_order", 1.0),
    ("pushed data pkts", "/pushed", 1.0),
    ("adv wind scale", "/window_scale", 1.0),
    ("mss requested", "/mss", 1.0),
    ("max segm size", "/segment_max", 1.0),
    ("min segm size", "/segment_min", 1.0),
    ("max win adv", "/window_max", 1.0),
    ("min win adv", "/window_min", 1.0),
    ("zero win adv", "/window_zero", 1.0),
    ("avg win adv", "/window_mean", 1.0),
    ("max owin", "/outstanding_max", 1.0),
    ("avg owin", "/outstanding_mean", 1.0),
    ("initial window", "/initial_window_bytes", 1.0),
    ("ttl stream length", "/stream_bytes", 1.0),
    ("missed data", "/missed_bytes", 1.0),
    ("truncated data", "/truncated_bytes", 1.0),
    ("truncated packets", "/truncated_packets", 1.0),
    ("data xmit time", "/data_s", 1.0),
    ("idletime max", "/idle_max_s", 1e3),
    ("throughput", "/throughput_bps", 0.125),
    ("RTT samples", "/rtt/samples", 1.0),
    ("RTT min", "/rtt/min_s", 1e3),
    ("RTT max", "/rtt/max_s", 1e3),
    ("RTT avg", "/rtt/mean_s", 1e3),
    ("RTT stdev", "/rtt/sd_s", 1e3),
    ("post-loss acks", "/post_loss_acks", 1.0),
    ("ambiguous acks", "/ambiguous_acks", 1.0),
    ("segs cum acked", "/cumulatively_acked", 1.0),
    ("duplicate acks", "/duplicate_acks", 1.0),
    ("triple dupacks", "/triple_duplicates", 1.0),
    ("max # retrans", "/retransmissions_max", 1.0),
    ("min retr time", "/retransmission/min_s", 1e3),
    ("max retr time", "/retransmission/max_s", 1e3),
    ("avg retr time", "/retransmission/mean_s", 1e3),
];

/// The two values of a field in tcptrace's text about a connection. `None` where it has NA.
fn printed(text: &str, field: &str) -> [Option<f64>; 2] {
    let name = format!("     {field}:");
    let line = text.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("no {field}"));
    let values = line.split(&name[5..]).skip(1).map(|rest| rest.split_whitespace().next());
    let mut values = values.map(|word| word.and_then(|word| word.parse().ok()));
    [values.next().flatten(), values.next().flatten()]
}

/// Compares every field, and returns how many were the same.
fn compare(document: &Value, tcptrace: &str) -> usize {
    let texts: Vec<&str> = tcptrace.split("\nTCP connection ").skip(2).collect();
    let connections = document["connections"].as_array().expect("a list");
    assert_eq!(connections.len(), texts.len());
    let mut same = 0;
    for (connection, text) in connections.iter().zip(texts) {
        for &(field, place, units) in FIELDS {
            for (direction, theirs) in printed(text, field).into_iter().enumerate() {
                let of = &connection["directions"][direction];
                // Where the two differ by definition; each is in the header of study/src/trace/direction.rs.
                let resets = of["resets"].as_u64() > Some(0);
                let differs = match field {
                    "avg win adv" => resets,
                    "max owin" | "avg owin" => of["data_packets"] == 0,
                    "idletime max" => connection["number"] == 1, // it ended before the capture did
                    _ => false,
                };
                let ours = of.pointer(place).and_then(Value::as_f64).map(|value| value * units);
                // It prints whole numbers cut off, and times with one digit.
                let slack = match field {
                    "duplicate acks" | "avg win adv" | "avg owin" | "max owin" => 1.0,
                    "throughput" => 1.0, // it rounds times to microseconds
                    _ if units == 1e3 => 0.051,
                    _ => 6e-4,
                };
                let near = (ours.unwrap_or(0.0) - theirs.unwrap_or(0.0)).abs() <= slack;
                assert!(
                    near || differs,
                    "connection {}, direction {direction}, {field}: {ours:?}, and tcptrace has {theirs:?}",
                    connection["number"]
                );
                same += usize::from(near);
            }
        }
    }
    same
}

/// What tcptrace tells of a capture now, where it is installed.
fn told_by_tcptrace(capture: &Path) -> Option<String> {
    let told = Command::new("tcptrace").arg("-lrW").arg(capture).output().ok()?;
    assert!(told.status.success(), "{}", stderr(&told));
    Some(stdout(&told))
}

/// Of both directions of two connections as many numbers are the same, by what it once printed, which is kept
/// here, and by what it prints now.
fn compare_all(capture: &Path, document: &Value, kept: &str, wanted: usize) {
    for text in [Some(kept.to_owned()), told_by_tcptrace(capture)].into_iter().flatten() {
        let same = compare(document, &text);
        assert_eq!(same, wanted, "of {} numbers", 4 * FIELDS.len());
    }
}

#[test]
fn a_capture_of_the_kernel_has_the_numbers_of_tcptrace() {
    compare_all(&kernel(), &traced(&kernel()), include_str!("captures/kernel.tcptrace"), 175);
}

#[test]
fn a_simulated_capture_has_the_numbers_of_tcptrace_and_of_the_simulator() {
    let directory = tempfile::tempdir().expect("a directory");
    let (capture, results) = simulated(directory.path());
    let document = traced(&capture);
    compare_all(&capture, &document, include_str!("captures/simulated.tcptrace"), 174);
    for (number, flow) in results["points"][0]["flows"].as_array().expect("a list").iter().enumerate() {
        let there = &document["connections"][number]["directions"][0];
        assert_eq!(there["retransmitted_packets"], flow["retransmits"], "{flow}");
    }
}

#[test]
fn pictures_are_drawn_for_the_connection_that_is_chosen() {
    let directory = tempfile::tempdir().expect("a directory");
    let kernel = kernel().display().to_string();
    let arguments = ["trace", &kernel, "--stream", "1", "--out", "pictures", "--xplot", "xplot"];
    let output = ackclock(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("connection 1: a = 10.0.0.2:"), "{}", stdout(&output));
    let names = |folder: &str| {
        let files = fs::read_dir(directory.path().join(folder)).expect("a directory");
        let mut names: Vec<_> = files.map(|file| file.expect("a file").file_name().into_string()).collect();
        names.sort();
        names.into_iter().map(|name| name.expect("text")).collect::<Vec<_>>()
    };
    let drawn = ["1-a-to-b-outstanding", "1-a-to-b-rtt", "1-a-to-b-sequence", "1-a-to-b-throughput"];
    assert_eq!(names("xplot"), drawn.map(|name| format!("{name}.xpl")));
    let mut pictures = drawn.map(|name| format!("{name}.svg")).to_vec();
    pictures.extend(["report.html".to_owned(), "trace.json".to_owned()]);
    assert_eq!(names("pictures"), pictures);
    // The page has them all, and needs no other file.
    let page = fs::read_to_string(directory.path().join("pictures/report.html")).expect("a page");
    assert_eq!(page.matches("<svg").count(), drawn.len());
    assert!(
        page.contains("<h1>kernel.pcapng</h1>")
            && page.contains("Connection 1")
            && !page.contains("Connection 0")
    );
    assert!(page.contains("<td class=\"word\">retransmitted packets</td><td>13</td><td>0</td>"), "{page}");
    assert!(!page.contains("src=") && !page.contains("href="));
    let sequence = fs::read_to_string(directory.path().join("xplot/1-a-to-b-sequence.xpl")).expect("a text");
    assert!(sequence.starts_with("double double\ntitle\nBytes, 10.0.0.2:") && sequence.ends_with("go\n"));
    // One diamond for each packet that was sent again.
    let document = traced(Path::new(&kernel));
    let again = document["connections"][1]["directions"][0]["retransmitted_packets"].as_u64();
    assert_eq!(Some(sequence.lines().filter(|line| line.starts_with("diamond")).count() as u64), again);
}

/// A capture of the kernel's own TCP and one of a simulated flow: the numbers of each are as alone, and their
/// curves are in the same pictures.
#[test]
fn two_captures_are_set_side_by_side() {
    let directory = tempfile::tempdir().expect("a directory");
    let (simulated, _) = simulated(directory.path());
    let [real, simulated] = [kernel(), simulated].map(|path| path.display().to_string());
    let arguments = ["trace", &real, &simulated, "--json", "--out", "both", "--xplot", "xplot"];
    let output = ackclock(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let both: Value = serde_json::from_str(&stdout(&output)).expect("one JSON document");
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    assert_eq!(serde_json::from_str::<Value>(&read("both/trace.json")).expect("JSON"), both);
    for (number, (path, name)) in
        [(&real, "kernel.pcapng"), (&simulated, "first.pcapng")].into_iter().enumerate()
    {
        let mut of = both["captures"][number].clone();
        assert_eq!(of["file"].take(), name);
        of.as_object_mut().expect("an object").remove("file");
        assert_eq!(of, traced(Path::new(path)), "{name}");
    }
    let page = read("both/report.html");
    assert!(page.contains("<h1>kernel.pcapng and first.pcapng</h1>"));
    for words in ["a to b, kernel.pcapng", "a to b, first.pcapng", "In first.pcapng a is "] {
        assert!(page.contains(words), "{words}");
    }
    // On one axis, as long as the longer of the two lasts.
    let picture = read("both/0-a-to-b-outstanding.svg");
    assert!(picture.contains("outstanding, kernel.pcapng") && picture.contains("outstanding, first.pcapng"));
    let lines = read("xplot/0-a-to-b-outstanding.xpl");
    assert!(["\nwhite\n", "\norange\n"].iter().all(|colour| lines.contains(colour)), "two curves");
    let text = stdout(&ackclock(directory.path(), &["trace", &real, &simulated]));
    assert!(text.starts_with("kernel.pcapng:\n") && text.contains("\nfirst.pcapng:\n"), "{text}");
    // Captures of the same name are told apart by their paths.
    let same = stdout(&ackclock(directory.path(), &["trace", &simulated, &simulated]));
    assert!(same.starts_with(&format!("{simulated}:\n")), "{same}");
    let third = ackclock(directory.path(), &["trace", &real, &real, &real]);
    assert_eq!(third.status.code(), Some(2), "two are enough");
}

/// The listings of the page, with a capture of the kernel's for the real one.
#[test]
fn the_page_to_the_letter() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("mine.toml"), SCENARIO).expect("a file");
    fs::copy(kernel(), directory.path().join("real.pcap")).expect("a copy");
    for words in ["--out pictures", "--out both"] {
        let output = shell(directory.path(), &listing("trace.md", words)).output().expect("a shell");
        assert!(output.status.success(), "{words}: {}", stderr(&output));
    }
    for file in
        ["pictures/trace.json", "pictures/0-a-to-b-rtt.svg", "both/report.html", "both/0-a-to-b-rtt.svg"]
    {
        assert!(directory.path().join(file).exists(), "{file}");
    }
}

#[test]
fn what_cannot_be_traced_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("text"), "no capture\n").expect("a file");
    let bytes = fs::read(kernel()).expect("a capture");
    fs::write(directory.path().join("cut.pcapng"), &bytes[..bytes.len() / 2 + 7]).expect("a file");
    // A packet that claims to be longer than the file, and a header without packets.
    let header =
        [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[0xff, 0xff, 0, 0, 1, 0, 0, 0]].concat();
    let claims = [&header[..], &[0; 8], &[0xff; 8], &[1; 100]].concat();
    fs::write(directory.path().join("short.pcap"), claims).expect("a file");
    fs::write(directory.path().join("empty.pcap"), header).expect("a file");
    let kernel = kernel().display().to_string();
    for (arguments, status, wanted) in [
        (&["trace", "missing"][..], 2, "missing cannot be read"),
        (&["trace", "."], 2, ". is a directory"),
        (&["trace", "text"], 2, "text tells nothing"),
        (&["trace", "short.pcap"], 2, "it ends in its first packet"),
        (&["trace", &kernel, "--stream", "2"], 2, "numbers 0 to 1"),
        (&["trace", "empty.pcap"], 2, "no TCP connection"),
        (&["trace", "cut.pcapng"], 0, "ends in the middle of a packet"),
    ] {
        let output = ackclock(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
}
