//! Records a real flow: the samples and losses of the one TCP connection in a capture taken at its sender.
//!
//! A sample is the time from a segment to the acknowledgement that it caused. That segment is the newest of
//! the newly acknowledged ones whose timestamp is echoed (RFC 7323 section 4.3: after a repair the echo
//! belongs to the repair, not to the newest segment). A loss is the first retransmission of data that was
//! sent after the end of the last loss. The state of queues is not known.

use ackclock_cc::predictor::Reading;
use ackclock_sim::observers::Recording;
use ackclock_units::{Duration, Time};
use ackclock_wire::{Framing, Segment};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Cursor, Read};
use std::net::SocketAddr;

/// Why a capture cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CaptureProblem {
    /// The file is not a capture, or is incomplete.
    #[error("packet {packet}: {reason}")]
    #[diagnostic(help("write it again, for example with tcpdump -w capture.pcap"))]
    Damaged {
        /// The number of packets before the problem.
        packet: usize,
        /// The problem.
        reason: String,
    },
    /// The link type is not supported.
    #[error("its packets are those of a link of type {link}")]
    #[diagnostic(help("Ethernet, raw IP and Linux's cooked captures can be read"))]
    Link {
        /// The link type.
        link: String,
    },
    /// No connection in the capture carries data.
    #[error("there is no TCP connection in it that carries data")]
    #[diagnostic(help("capture TCP packets with their headers: tcpdump -s 128 -w capture.pcap tcp"))]
    Nothing,
    /// Several connections carry data.
    #[error("there are {count} TCP connections in it that carry data")]
    Several {
        /// The number of connections.
        count: usize,
        /// How to choose one.
        #[help]
        help: String,
    },
    /// The connection does not use timestamps.
    #[error("the connection between {one} and {other} does not use TCP timestamps")]
    #[diagnostic(help(
        "switch them on at both hosts (net.ipv4.tcp_timestamps = 1): samples are told by their echo"
    ))]
    NoTimestamps {
        /// The sender.
        one: SocketAddr,
        /// The receiver.
        other: SocketAddr,
    },
}

/// A segment, and the time of its capture.
#[derive(Clone, Copy)]
struct Packet {
    at: Time,
    tcp: Segment,
}

/// Reads a capture, pcap or pcapng.
///
/// # Errors
///
/// [`CaptureProblem`] if the file is damaged, its link type is not supported, or it does not contain exactly
/// one connection with data and timestamps.
pub fn read_capture(bytes: &[u8]) -> Result<Recording, CaptureProblem> {
    let packets = packets(bytes)?;
    let (sender, receiver) = connection(&packets)?;
    let mut follower = Follower::new(segment_size(&packets, sender));
    for packet in &packets {
        if (packet.tcp.from, packet.tcp.to) == (sender, receiver) {
            follower.on_data(packet);
        } else if (packet.tcp.from, packet.tcp.to) == (receiver, sender) {
            follower.on_ack(packet);
        }
    }
    if follower.recording.readings.is_empty() {
        return Err(CaptureProblem::NoTimestamps { one: sender, other: receiver });
    }
    Ok(follower.recording)
}

/// Every TCP packet, in order.
fn packets(bytes: &[u8]) -> Result<Vec<Packet>, CaptureProblem> {
    const PCAPNG: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
    let mut packets = Vec::new();
    if bytes.starts_with(&PCAPNG) {
        read_pcapng(Cursor::new(bytes), &mut packets)?;
    } else {
        read_pcap(Cursor::new(bytes), &mut packets)?;
    }
    let first = packets.iter().map(|packet| packet.at).min().unwrap_or_default();
    for packet in &mut packets {
        packet.at = Time::ZERO + packet.at.since(first);
    }
    packets.sort_by_key(|packet| packet.at);
    Ok(packets)
}

fn damaged(packet: usize, error: impl ToString) -> CaptureProblem {
    CaptureProblem::Damaged { packet, reason: error.to_string() }
}

fn read_pcap(reader: impl Read, packets: &mut Vec<Packet>) -> Result<(), CaptureProblem> {
    let mut reader = PcapReader::new(reader).map_err(|error| damaged(0, error))?;
    let link = reader.header().datalink;
    let mut number = 0;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| damaged(number, error))?;
        let at = u64::try_from(packet.timestamp.as_nanos()).unwrap_or(u64::MAX);
        packets.extend(tcp(Time::from_nanos(at), link, &packet.data)?);
        number += 1;
    }
    Ok(())
}

fn read_pcapng(reader: impl Read, packets: &mut Vec<Packet>) -> Result<(), CaptureProblem> {
    let mut reader = PcapNgReader::new(reader).map_err(|error| damaged(0, error))?;
    let mut interfaces: Vec<(DataLink, u8)> = Vec::new();
    let mut number = 0;
    while let Some(block) = reader.next_block() {
        match block.map_err(|error| damaged(number, error))? {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                let resolution = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                    _ => None,
                });
                const MICROSECONDS: u8 = 6; // where nothing is said
                interfaces.push((interface.linktype, resolution.unwrap_or(MICROSECONDS)));
            }
            Block::EnhancedPacket(packet) => {
                let known = interfaces.get(packet.interface_id as usize);
                let &(link, resolution) = known.ok_or_else(|| damaged(number, "its interface is unknown"))?;
                // The library takes every unit for a nanosecond.
                let at = nanoseconds(packet.timestamp.as_nanos(), resolution);
                packets.extend(tcp(at, link, &packet.data)?);
                number += 1;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A time stamp in units of ten, or with the highest bit two, to the minus `resolution`.
fn nanoseconds(units: u128, resolution: u8) -> Time {
    let power = u32::from(resolution & 0x7f);
    let per_second =
        if resolution & 0x80 == 0 { 10u128.checked_pow(power) } else { 2u128.checked_pow(power) };
    let nanos = per_second.and_then(|per| units.checked_mul(1_000_000_000).map(|nanos| nanos / per));
    Time::from_nanos(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(0))
}

/// The TCP segment in a frame, if there is one.
fn tcp(at: Time, link: DataLink, frame: &[u8]) -> Result<Option<Packet>, CaptureProblem> {
    let framing = match link {
        DataLink::ETHERNET => Framing::Ethernet,
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Framing::Ip,
        DataLink::LINUX_SLL => Framing::Cooked,
        DataLink::LINUX_SLL2 => Framing::Cooked2,
        other => return Err(CaptureProblem::Link { link: format!("{other:?}") }),
    };
    Ok(Segment::read(framing, frame).map(|tcp| Packet { at, tcp }))
}

/// Sender and receiver of the only connection that carries data.
fn connection(packets: &[Packet]) -> Result<(SocketAddr, SocketAddr), CaptureProblem> {
    let mut carried: BTreeMap<(SocketAddr, SocketAddr), u64> = BTreeMap::new();
    for packet in packets {
        *carried.entry((packet.tcp.from, packet.tcp.to)).or_default() += u64::from(packet.tcp.payload);
    }
    let more = |&(from, to): &(SocketAddr, SocketAddr)| {
        let back = carried.get(&(to, from)).copied().unwrap_or(0);
        let there = carried[&(from, to)];
        there > back || there == back && there > 0 && from < to
    };
    let connections: Vec<_> = carried.keys().copied().filter(|pair| more(pair)).collect();
    match connections[..] {
        [] => Err(CaptureProblem::Nothing),
        [only] => Ok(only),
        _ => {
            let busiest = connections.iter().max_by_key(|pair| carried[*pair]).copied();
            let port = busiest.map_or(0, |(from, to)| from.port().max(to.port()));
            let help = format!(
                "keep one of them; the one that carries most: tcpdump -r FILE -w one.pcap tcp port {port}"
            );
            Err(CaptureProblem::Several { count: connections.len(), help })
        }
    }
}

/// Bytes of a full segment: the most frequent payload that the sender's packets have.
fn segment_size(packets: &[Packet], sender: SocketAddr) -> u32 {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for packet in packets.iter().filter(|packet| packet.tcp.from == sender && packet.tcp.payload > 0) {
        *counts.entry(packet.tcp.payload).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(payload, count)| (count, payload)).map_or(1, |(payload, _)| payload)
}

/// Something that was sent and not yet acknowledged: up to which byte, when last, with which timestamp.
struct Sent {
    end: u64,
    at: Time,
    timestamp: u32,
}

/// Follows the connection from the sender's side.
struct Follower {
    segment: u64,
    /// Bytes from the first one seen; a sequence number is unwrapped against the newest.
    origin: Option<u32>,
    una: u64,
    nxt: u64,
    outstanding: VecDeque<Sent>,
    /// End of the last loss's window.
    recover: u64,
    recording: Recording,
}

impl Follower {
    fn new(segment: u32) -> Follower {
        Follower {
            segment: u64::from(segment.max(1)),
            origin: None,
            una: 0,
            nxt: 0,
            outstanding: VecDeque::new(),
            recover: 0,
            recording: Recording::default(),
        }
    }

    /// The byte that a sequence number means: the one nearest to the newest.
    fn unwrapped(&self, seq: u32) -> Option<u64> {
        let relative = seq.wrapping_sub(self.origin?);
        let ahead = relative.wrapping_sub(self.nxt as u32) as i32;
        self.nxt.checked_add_signed(i64::from(ahead))
    }

    fn on_data(&mut self, packet: &Packet) {
        self.origin.get_or_insert(packet.tcp.seq.wrapping_add(u32::from(packet.tcp.syn)));
        let Some((timestamp, _)) = packet.tcp.timestamps else { return };
        if packet.tcp.payload == 0 || packet.tcp.syn {
            return;
        }
        let Some(start) = self.unwrapped(packet.tcp.seq) else { return };
        let end = start + u64::from(packet.tcp.payload);
        if start >= self.nxt {
            self.outstanding.push_back(Sent { end, at: packet.at, timestamp });
            self.nxt = end;
            return;
        }
        for sent in self.outstanding.iter_mut().filter(|sent| start < sent.end && sent.end <= end) {
            (sent.at, sent.timestamp) = (packet.at, timestamp);
        }
        if start >= self.recover {
            self.recover = self.nxt;
            self.recording.flow_losses.push(packet.at);
        }
    }

    fn on_ack(&mut self, packet: &Packet) {
        let (Some(ack), Some((_, echo))) = (packet.tcp.ack, packet.tcp.timestamps) else { return };
        let Some(ack) = self.unwrapped(ack).filter(|ack| *ack > self.una && *ack <= self.nxt) else {
            return;
        };
        let window = (self.nxt - self.una) as f64 / self.segment as f64;
        self.una = ack;
        let mut caused = None;
        while self.outstanding.front().is_some_and(|sent| sent.end <= ack) {
            caused = self.outstanding.pop_front().filter(|sent| sent.timestamp == echo).or(caused);
        }
        let Some(sent) = caused else { return };
        self.recording.readings.push(Reading {
            now: packet.at,
            rtt: packet.at.since(sent.at).max(Duration::from_nanos(1)),
            una: ack / self.segment,
            nxt: self.nxt.div_ceil(self.segment),
            window,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::Captures;
    use crate::predict::recorded::recorded;
    use crate::runner::Runner;
    use ackclock_scenario::Sweep;
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
        let seen = read_capture(&captured(SCENARIO)).expect("it tells something");
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
        let error = |bytes: &[u8]| read_capture(bytes).expect_err("it tells nothing");
        assert!(matches!(error(b""), CaptureProblem::Damaged { packet: 0, .. }));
        assert!(matches!(error(b"not a capture at all, just a text"), CaptureProblem::Damaged { .. }));
        let two = format!("{SCENARIO}\n[[flows]]\nlabel = \"two\"\ncontrol = \"reno\"\n");
        assert!(matches!(error(&captured(&two)), CaptureProblem::Several { count: 2, .. }));
        let without =
            SCENARIO.replace("control = \"reno\"", "control = \"reno\"\ntcp = { timestamps = false }");
        assert!(matches!(error(&captured(&without)), CaptureProblem::NoTimestamps { .. }));
        let mut broken = captured(SCENARIO);
        broken.truncate(5000);
        assert!(matches!(error(&broken), CaptureProblem::Damaged { packet, .. } if packet > 10));
    }

    #[test]
    fn units_of_time_stamps() {
        assert_eq!(nanoseconds(1_500_000, 6).as_nanos(), 1_500_000_000);
        assert_eq!(nanoseconds(1_500_000, 9).as_nanos(), 1_500_000);
        assert_eq!(nanoseconds(3 << 20, 0x80 | 20).as_nanos(), 3_000_000_000);
        assert_eq!(nanoseconds(u128::MAX, 127).as_nanos(), 0);
    }
}
