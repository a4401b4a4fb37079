//! Captures are read back with another library's reader.

use super::{CaptureError, check};
use crate::run::run_observed;
use ackclock_scenario::Sweep;
use ackclock_sim::observers::tap;
use etherparse::{Ipv4Header, TcpHeader, TcpOptionElement};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"
    duration = "6 s"
    [topology.dumbbell]
    bottleneck = { rate = "4 Mbit/s", delay = "10 ms", queue = { droptail = "12 packets" } }
    access = { rate = "100 Mbit/s", delay = "5 ms" }
    [[flows]]
    label = "long"
    count = 2
    control = "reno"
    [[flows]]
    label = "short"
    control = "cubic"
    size = "40 kB"
    repeat = 3
    pause = "100 ms"
    [[traffic]]
    kind = "cbr"
    rate = "200 kbit/s"
"#;

/// A packet of a file, headers taken apart.
struct Evidence {
    inbound: bool,
    at: u64,
    length: u32,
    bytes: Vec<u8>,
    ip: Ipv4Header,
    tcp: Option<TcpHeader>,
}

fn read(file: &[u8]) -> (Vec<String>, Vec<Evidence>) {
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    let mut reader = PcapNgReader::new(file).expect("a pcapng file");
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::InterfaceDescription(interface) => {
                assert_eq!(u32::from(interface.linktype), 101, "raw IP");
                names.push(format!("{:?}", &interface.options[..2]));
            }
            Block::EnhancedPacket(packet) => {
                let (ip, rest) = Ipv4Header::from_slice(&packet.data).expect("an IPv4 header");
                let tcp = (ip.protocol.0 == 6).then(|| TcpHeader::from_slice(rest).expect("a TCP header").0);
                packets.push(Evidence {
                    inbound: packet.options[0] == EnhancedPacketOption::Flags(1),
                    at: packet.timestamp.as_nanos() as u64,
                    length: packet.original_len,
                    bytes: packet.data.to_vec(),
                    ip,
                    tcp,
                });
            }
            other => panic!("{other:?} is not expected"),
        }
    }
    (names, packets)
}

fn capture(link: &str) -> (ackclock_scenario::results::PointResult, Vec<String>, Vec<Evidence>) {
    let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
    let point = &sweep.points[0];
    let built = point.scenario.build().expect("a plan");
    let mut watcher = tap(&built, link, Vec::new()).expect("a tap");
    let result = run_observed(point, false, Some(&mut watcher), &AtomicBool::new(false)).expect("a result");
    let (names, packets) = read(&watcher.finish(built.plan.duration).expect("a file"));
    (result, names, packets)
}

/// RFC 1071, the plain way.
fn folds_to_zero(words: impl Iterator<Item = u8>) -> bool {
    let bytes: Vec<u8> = words.collect();
    let mut sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

#[test]
fn a_capture_is_well_formed_and_agrees_with_the_results() {
    let (result, names, packets) = capture("bottleneck");
    assert!(names.len() == 1 && names[0].contains("bottleneck") && names[0].contains("reverse"), "{names:?}");
    assert!(packets.is_sorted_by_key(|packet| packet.at), "in order of time");
    for packet in &packets {
        assert_eq!(u32::from(packet.ip.total_len), packet.length);
        assert!(folds_to_zero(packet.bytes[..20].iter().copied()), "the IP checksum");
        // The transport's checksum covers the pseudo header, the headers here, and a payload of zeros.
        let segment = packet.length as u16 - 20;
        let pseudo = [0, packet.ip.protocol.0].into_iter().chain(segment.to_be_bytes());
        let addresses = packet.ip.source.into_iter().chain(packet.ip.destination);
        assert!(
            folds_to_zero(addresses.chain(pseudo).chain(packet.bytes[20..].iter().copied())),
            "the checksum"
        );
    }
    let data: Vec<_> = packets.iter().filter(|packet| packet.length > 1000 && packet.tcp.is_some()).collect();
    let link = &result.links[0];
    let datagrams = packets.iter().filter(|packet| packet.tcp.is_none()).count();
    let passed = (data.len() + datagrams) as u64;
    // What is admitted has left the transmitter, except for what waits at the end.
    assert!((passed..passed + 14).contains(&(link.arrivals - link.drops)), "{passed} of {link:?}");
    assert!(data.iter().all(|packet| !packet.inbound));
    assert!(packets.iter().any(|packet| packet.inbound), "acknowledgements come the other way");
    assert!(datagrams > 100);
}

#[test]
fn every_connection_begins_with_a_handshake() {
    let (_, _, packets) = capture("bottleneck");
    let tcp: Vec<_> =
        packets.iter().filter_map(|packet| packet.tcp.clone().map(|tcp| (packet, tcp))).collect();
    let syns: Vec<usize> = (0..tcp.len()).filter(|&n| tcp[n].1.syn && !tcp[n].1.ack).collect();
    assert_eq!(syns.len(), 2 + 3, "two long connections, and three short ones after another");
    for n in syns {
        let (syn, answer, ack, first) = (&tcp[n], &tcp[n + 1], &tcp[n + 2], &tcp[n + 3]);
        assert!(answer.1.syn && answer.1.ack && !ack.1.syn && ack.1.ack);
        assert_eq!((syn.0.inbound, answer.0.inbound, ack.0.inbound), (false, true, false));
        assert_eq!((answer.1.acknowledgment_number, first.1.sequence_number), (1, 1));
        let stamp = |tcp: &TcpHeader| {
            tcp.options_iterator().find_map(|option| match option {
                Ok(TcpOptionElement::Timestamp(own, _)) => Some(own),
                _ => None,
            })
        };
        for (packet, tcp) in [syn, answer, ack] {
            assert_eq!((packet.at, stamp(tcp)), (first.0.at, stamp(&first.1)));
        }
        let options: Vec<_> = syn.1.options_iterator().map(|option| option.expect("an option")).collect();
        assert!(options.contains(&TcpOptionElement::SelectiveAcknowledgementPermitted));
        assert!(options.iter().any(|option| matches!(option, TcpOptionElement::WindowScale(14))));
        assert!(options.contains(&TcpOptionElement::MaximumSegmentSize(1012)));
    }
    let ports: std::collections::BTreeSet<_> = tcp
        .iter()
        .filter(|(packet, _)| packet.ip.source == [10, 0, 0, 3])
        .map(|(_, tcp)| tcp.source_port)
        .collect();
    assert_eq!(Vec::from_iter(ports), [40_000, 40_001, 40_002]);
}

#[test]
fn a_link_without_acknowledgements_shows_both_ends_of_the_handshake_all_the_same() {
    let one_way = SCENARIO.replace(
        "[topology.dumbbell]\n    bottleneck = { rate",
        "[topology.graph]\n    links = [{ from = \"b\", to = \"a\", rate = \"1 Mbit/s\", delay = \"1 ms\", both = false }, \
         { from = \"a\", to = \"c\", rate = \"1 Mbit/s\", delay = \"1 ms\", both = false }, \
         { from = \"c\", to = \"b\", both = false, rate",
    );
    let one_way = one_way.replace("packets\" } }\n", "packets\" } }]\n");
    let ends = "from = \"c\"\n    to = \"a\"\n    ";
    let one_way = one_way.replace("label", &format!("{ends}label")).replace("kind", &format!("{ends}kind"));
    let sweep = Sweep::read("test", &one_way, &[]).unwrap_or_else(|error| panic!("{error}\n{one_way}"));
    let built = sweep.points[0].scenario.build().expect("a plan");
    let mut watcher = tap(&built, "c-b", Vec::new()).expect("a tap");
    let stop = AtomicBool::new(false);
    run_observed(&sweep.points[0], false, Some(&mut watcher), &stop).expect("a result");
    let (names, packets) = read(&watcher.finish(built.plan.duration).expect("a file"));
    assert!(names[0].contains("c-b") && !names[0].contains("receives"), "{names:?}");
    assert!(packets.iter().all(|packet| !packet.inbound));
    assert_eq!(packets.iter().filter_map(|packet| packet.tcp.as_ref()).filter(|tcp| tcp.syn).count(), 2 * 5);
}

#[test]
fn what_cannot_be_captured_is_refused() {
    let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
    let links = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert!(check(&links(&["bottleneck", "reverse"]), &sweep.points).is_ok());
    let error = check(&links(&["botleneck"]), &sweep.points).expect_err("a typing mistake");
    assert!(matches!(&error, CaptureError::NoLink { help, .. } if help.contains("bottleneck")), "{error:?}");
    let jumbo = ["segment.payload=\"65480 B\"".to_owned(), "segment.header=\"40 B\"".to_owned()];
    let sweep = Sweep::read("test", SCENARIO, &jumbo).expect("a scenario");
    assert!(matches!(check(&links(&["bottleneck"]), &sweep.points), Err(CaptureError::TooLarge { .. })));
}
