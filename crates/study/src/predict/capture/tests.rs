//! Captures of simulated flows, as they are and damaged.

use super::*;
use crate::captures::Captures;
use crate::packets::{ReadProblem, nanoseconds};
use crate::predict::recorded::recorded;
use crate::runner::Runner;
use ackclock_scenario::Sweep;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, TsResolution};
use std::io::Cursor;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"
    duration = "20 s"
    [topology.dumbbell]
    bottleneck = { rate = "5 Mbit/s", delay = "20 ms", queue = { droptail = "0.5 bdp" } }
    [[flows]]
    control = "reno"
"#;

/// What the simulator captures of its own flow.
fn captured(text: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let sweep = Sweep::read("one flow", text, &[]).expect("a scenario");
    let runner = Runner {
        probes: false,
        threads: Some(1),
        stop: &AtomicBool::new(false),
        store: None,
        progress: &|_, _| {},
    };
    let captures = Captures::new(
        &["bottleneck".to_owned()],
        ackclock_files::Folder::own(directory.path()).expect("a folder"),
    );
    runner.run(&sweep.points, &captures).expect("it runs");
    let file = std::fs::read_dir(directory.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .find_map(|path| {
            if path.is_dir() {
                std::fs::read_dir(path).ok()?.next()?.ok().map(|it| it.path())
            } else {
                Some(path)
            }
        })
        .expect("a capture");
    std::fs::read(file).expect("it can be read")
}

#[test]
fn a_capture_of_a_simulated_flow_tells_what_the_flow_knew() {
    let seen = read_capture(&captured(SCENARIO), None).expect("it tells something").recording;
    let known = recorded(&format!("{SCENARIO}\n[predict]\n"));
    assert!(known.flow_losses.len() > 3);
    assert_eq!(seen.flow_losses.len(), known.flow_losses.len());
    let mean = |recording: &Recording| {
        let sum: f64 = recording.readings.iter().map(|reading| reading.rtt.as_secs_f64()).sum();
        sum / recording.readings.len() as f64
    };
    // The tap is behind the transmitter's queue: only what comes after it is in its samples.
    assert!((0.040..0.042).contains(&mean(&seen)), "{}", mean(&seen));
    assert!(seen.readings.len() as f64 > 0.95 * known.readings.len() as f64);
}

#[test]
fn mistakes_are_told() {
    let error = |bytes: &[u8]| read_capture(bytes, None).expect_err("it tells nothing");
    assert!(matches!(error(b""), CaptureProblem::Read(ReadProblem::Damaged { packet: 0, .. })));
    assert!(matches!(
        error(b"not a capture at all, just a text"),
        CaptureProblem::Read(ReadProblem::Damaged { .. })
    ));
    let without = SCENARIO.replace("control = \"reno\"", "control = \"reno\"\ntcp = { timestamps = false }");
    assert!(matches!(error(&captured(&without)), CaptureProblem::NoTimestamps { .. }));
}

/// The capture again as pcap with so long a snap length, as `tcpdump -s` writes it.
fn snapped(capture: &[u8], bytes: usize) -> Vec<u8> {
    let header = PcapHeader {
        snaplen: bytes as u32,
        datalink: DataLink::RAW,
        ts_resolution: TsResolution::NanoSecond,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(Vec::new(), header).expect("a header");
    let mut reader = PcapNgReader::new(Cursor::new(capture)).expect("a capture");
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            let data = &packet.data[..packet.data.len().min(bytes)];
            let packet = PcapPacket::new(packet.timestamp, packet.original_len, data);
            writer.write_packet(&packet).expect("a packet");
        }
    }
    writer.into_writer()
}

#[test]
fn a_snap_length_that_keeps_the_headers_is_enough() {
    let whole = captured(SCENARIO);
    let readings = |bytes: &[u8]| {
        let captured = read_capture(bytes, None).expect("it tells something");
        (captured.recording.readings.len(), captured.recording.flow_losses)
    };
    assert_eq!(readings(&snapped(&whole, 96)), readings(&whole));
    // Without the TCP header there is no connection.
    let problem = read_capture(&snapped(&whole, 30), None).expect_err("it tells nothing");
    assert!(matches!(problem, CaptureProblem::Nothing), "{problem}");
}

#[test]
fn a_capture_that_was_cut_counts_up_to_the_cut() {
    let whole = captured(SCENARIO);
    for capture in [&whole, &snapped(&whole, 96)] {
        let all = read_capture(capture, None).expect("it tells something");
        assert_eq!(all.cut_after, None);
        let cut = read_capture(&capture[..capture.len() / 2 + 1], None).expect("half of it tells something");
        assert!(cut.cut_after.is_some_and(|packets| packets > 1000), "{:?}", cut.cut_after);
        let (half, whole) = (cut.recording.readings.len(), all.recording.readings.len());
        assert!((0.4..0.6).contains(&(half as f64 / whole as f64)), "{half} of {whole}");
    }
}

/// Every flow of ours ends at the port 50000.
#[test]
fn one_of_several_connections_is_chosen_by_its_number() {
    let two =
        captured(&format!("{SCENARIO}\n[[flows]]\nlabel = \"two\"\ncontrol = \"reno\"\nstart = \"9 s\"\n"));
    let problem = |stream| read_capture(&two, stream).expect_err("it is not clear");
    let CaptureProblem::Several { count: 2, help, .. } = problem(None) else { panic!("two are meant") };
    assert!(help.contains("--stream 0: 10.0.0.1:40000 to 10.128.0.1:50000, "), "{help}");
    assert!(help.contains("--stream 1: 10.0.0.2:40000 to 10.128.0.2:50000, "), "{help}");
    assert!(problem(Some(2)).to_string().contains("2 is none of them"));
    let readings = |stream| {
        let captured = read_capture(&two, Some(stream)).expect("it tells something");
        captured.recording.readings.len()
    };
    assert!(readings(0) > readings(1) && readings(1) > 100, "{} and {}", readings(0), readings(1));
}

#[test]
fn units_of_time_stamps() {
    assert_eq!(nanoseconds(1_500_000, 6).as_nanos(), 1_500_000_000);
    assert_eq!(nanoseconds(1_500_000, 9).as_nanos(), 1_500_000);
    assert_eq!(nanoseconds(3 << 20, 0x80 | 20).as_nanos(), 3_000_000_000);
    assert_eq!(nanoseconds(u128::MAX, 127).as_nanos(), 0);
}
