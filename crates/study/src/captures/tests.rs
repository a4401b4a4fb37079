//! Captures are read back with another library's reader.

use super::{CaptureError, check};
use crate::run::run_observed;
use ackclock_scenario::Sweep;
use ackclock_sim::observers::{Connection, MOST_HEADERS, datagram, tap};
use ackclock_tcp::{Ack, Config, Data, Flags, RecoveryKind, SackBlock};
use ackclock_units::Time;
use etherparse::{Ipv4Header, Ipv4HeaderSlice, TcpHeader, TcpOptionElement, UdpHeader};
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
struct Seen {
    inbound: bool,
    at: u64,
    length: u32,
    bytes: Vec<u8>,
    ip: Ipv4Header,
    tcp: Option<TcpHeader>,
}

fn read(file: &[u8]) -> (Vec<String>, Vec<Seen>) {
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
                packets.push(Seen {
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

fn capture(link: &str) -> (ackclock_scenario::results::PointResult, Vec<String>, Vec<Seen>) {
    let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
    let point = &sweep.points[0];
    let built = point.scenario.build().expect("a plan");
    let watcher = tap(&built, link, Vec::new()).expect("a tap");
    let (result, watcher) = run_observed(point, false, &AtomicBool::new(false), watcher).expect("a result");
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
    let watcher = tap(&built, "c-b", Vec::new()).expect("a tap");
    let (_, watcher) =
        run_observed(&sweep.points[0], false, &AtomicBool::new(false), watcher).expect("a result");
    let (names, packets) = read(&watcher.finish(built.plan.duration).expect("a file"));
    assert!(names[0].contains("c-b") && !names[0].contains("receives"), "{names:?}");
    assert!(packets.iter().all(|packet| !packet.inbound));
    assert_eq!(packets.iter().filter_map(|packet| packet.tcp.as_ref()).filter(|tcp| tcp.syn).count(), 2 * 5);
}

fn config() -> Config {
    Config { payload: 1000, header: 40, peer_window: 64, ..Config::default() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_bytes_of_a_segment() {
    let config = config();
    let connection = Connection { flow: 0, epoch: 0, config: &config };
    let flags = Flags::ECT.with(Flags::CWR);
    let data = Data { seq: 3, sent_at: Time::from_nanos(5_000_000), flags, ..Data::default() };
    let frame = connection.data(&data).numbered(7);
    let ip = "4502041c0007400040062252 0a000001 0a800001".replace(' ', "");
    // Ports 40000 and 50000, sequence number 3001, ACK and CWR, two NOPs, timestamps 6 and 6.
    let tcp = "9c40c350 00000bb9 00000001 8090fa00 f87b0000 0101080a 00000006 00000006".replace(' ', "");
    assert_eq!(hex(&frame.headers[..20]), ip);
    assert_eq!(hex(&frame.headers[20..]), tcp);
    assert_eq!(frame.length, 1052);
}

#[test]
fn sequence_numbers_wrap_and_blocks_go_with_them() {
    let config = config();
    let connection = Connection { flow: 300, epoch: 2, config: &config };
    let blocks = [(2, 3), (10, 1), (20, 5)].map(|(offset, length)| SackBlock { offset, length });
    let ack = Ack { ack: 4_294_967, window: 64, blocks, flags: Flags::ECE, ..Ack::default() };
    let frame = connection.acknowledgement(Time::from_nanos(0), &ack);
    assert_eq!(frame.headers.len() as u32, MOST_HEADERS, "three blocks and timestamps fill the options");
    let ip = Ipv4HeaderSlice::from_slice(&frame.headers).expect("an IPv4 header");
    assert_eq!(ip.source(), [10, 128, 1, 45]);
    let (tcp, _) = TcpHeader::from_slice(&frame.headers[20..]).expect("a TCP header");
    assert_eq!((tcp.source_port, tcp.destination_port, tcp.ece), (50_000, 40_002, true));
    assert_eq!(tcp.acknowledgment_number, 4_294_967_001);
    let sack = tcp.options_iterator().filter_map(Result::ok).find_map(|option| match option {
        TcpOptionElement::SelectiveAcknowledgement(first, rest) => Some((first, rest)),
        _ => None,
    });
    let wrapped = 4_294_969_001_u64 as u32;
    assert_eq!(sack.map(|(first, _)| first), Some((wrapped, wrapped + 3000)));
    assert_eq!(sack.and_then(|(_, rest)| rest[1]), Some((wrapped + 18_000, wrapped + 23_000)));
}

#[test]
fn windows_are_scaled_as_announced() {
    for (segments, scale) in [(64, 0), (65, 0), (66, 1), (1_000, 4), (1 << 30, 14)] {
        let config = Config { peer_window: segments, recovery: RecoveryKind::Reno, ..config() };
        let connection = Connection { flow: 0, epoch: 0, config: &config };
        let [syn, _, ack] = connection.handshake(Time::ZERO);
        let (syn, _) = TcpHeader::from_slice(&syn.headers[20..]).expect("a TCP header");
        let options: Vec<_> = syn.options_iterator().filter_map(Result::ok).collect();
        assert!(options.contains(&TcpOptionElement::WindowScale(scale)), "{segments}: {options:?}");
        assert!(!options.contains(&TcpOptionElement::SelectiveAcknowledgementPermitted));
        let (ack, _) = TcpHeader::from_slice(&ack.headers[20..]).expect("a TCP header");
        let window = (u64::from(segments) * 1000).min(65_535 << scale);
        assert_eq!(u64::from(ack.window_size), window >> scale, "{segments}");
    }
}

#[test]
fn datagrams_have_the_length_that_they_had() {
    let frame = datagram(0, &Data { bytes: 1000, ..Data::default() });
    let (ip, rest) = Ipv4Header::from_slice(&frame.headers).expect("an IPv4 header");
    let (udp, _) = UdpHeader::from_slice(rest).expect("a UDP header");
    assert_eq!((frame.length, ip.total_len, udp.length), (1000, 1000, 980));
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
