//! Records a real flow: the samples and losses of one TCP connection in a capture taken at its sender.
//!
//! A sample is the time from a segment to the acknowledgement that it caused. That segment is the newest of
//! the newly acknowledged ones whose timestamp is echoed (RFC 7323 section 4.3: after a repair the echo
//! belongs to the repair, not to the newest segment). A loss is the first retransmission of data that was
//! sent after the end of the last loss. The state of queues is not known.

mod streams;
#[cfg(test)]
mod tests;

use crate::packets::{self, ReadProblem};
use ackclock_cc::predictor::Reading;
use ackclock_sim::observers::Recording;
use ackclock_units::{Duration, Time};
use ackclock_wire::Segment;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Why a capture cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CaptureProblem {
    /// The file cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(#[from] ReadProblem),
    /// No connection in the capture carries data.
    #[error("there is no TCP connection in it that carries data")]
    #[diagnostic(help("capture TCP packets with their headers: tcpdump -s 128 -w capture.pcap tcp"))]
    Nothing,
    /// Several connections carry data, and none or an unknown one was chosen.
    #[error("there are {count} TCP connections in it that carry data{chosen}")]
    Several {
        /// The number of connections.
        count: usize,
        /// The choice, if there is one, for the message.
        chosen: String,
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

/// What a capture tells of a connection.
#[derive(Debug)]
pub struct Captured {
    /// The samples and losses.
    pub recording: Recording,
    /// The number of packets that were read, if the capture ends in the middle of the next one.
    pub cut_after: Option<u64>,
}

/// Reads a capture, pcap or pcapng. Packets need no payload: a snap length that keeps the headers is enough.
/// Connections are numbered from 0, in the order of their first packets; `stream` chooses one of them.
/// Without a choice, exactly one may carry data.
///
/// # Errors
///
/// [`CaptureProblem`] if the file is damaged before its first packet, or its link type is not supported, or
/// the connection is not clear, or carries no data, or has no timestamps.
pub fn read_capture(bytes: &[u8], stream: Option<usize>) -> Result<Captured, CaptureProblem> {
    let mut packets: Vec<Packet> = Vec::new();
    let read = packets::each(bytes, &mut |packet| {
        packets.extend(packet.tcp.map(|tcp| Packet { at: packet.at, tcp }));
    })?;
    let first = packets.iter().map(|packet| packet.at).min().unwrap_or_default();
    packets.iter_mut().for_each(|packet| packet.at = Time::ZERO + packet.at.since(first));
    packets.sort_by_key(|packet| packet.at);
    let (sender, receiver) = streams::choose(&packets, stream)?;
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
    Ok(Captured { recording: follower.recording, cut_after: read.cut.then_some(read.packets) })
}

/// A segment, and the time of its capture.
#[derive(Clone, Copy)]
struct Packet {
    at: Time,
    tcp: Segment,
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
