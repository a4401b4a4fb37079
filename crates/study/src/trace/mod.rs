//! Every connection of a capture, both directions, in numbers: what tcptrace did.
//!
//! Packets are taken as they come, so memory grows with the connections and not with the file.

mod direction;
mod moments;
mod sent;

pub use direction::{Direction, Event};
pub use moments::Times;

use crate::packets::{self, ReadProblem};
use ackclock_units::Time;
use ackclock_wire::Segment;
use direction::Follower;
use serde::Serialize;
use std::collections::HashMap;
use std::io::BufRead;
use std::net::SocketAddr;

/// What a capture tells.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// All packets of the capture.
    pub packets: u64,
    /// Those with TCP.
    pub tcp_packets: u64,
    /// The number of packets that were read, if the capture ends in the middle of the next one.
    pub cut_after: Option<u64>,
    /// The connections, in the order of their first packets.
    pub connections: Vec<Connection>,
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Its number, from 0 in the order of first packets.
    pub number: usize,
    /// Its ends. The first one sent the first packet.
    pub ends: [SocketAddr; 2],
    /// The first packet, s since 1970.
    pub begin_s: f64,
    /// From there to the last packet, s.
    pub elapsed_s: f64,
    /// Both directions: from the first end to the second, and back.
    pub directions: [Direction; 2],
}

/// A connection that is being followed.
struct Open {
    ends: [SocketAddr; 2],
    begin: Time,
    end: Time,
    directions: [Follower; 2],
}

/// Reads a capture, pcap or pcapng. `see` learns what each packet did: the number of the connection, the
/// direction (0: from its first end), the time since the first packet of the connection, and the event.
///
/// # Errors
///
/// [`ReadProblem`] if the file is not a capture, is damaged before its first packet, or its link type is not
/// supported.
pub fn trace(
    capture: impl BufRead,
    see: &mut dyn FnMut(usize, usize, Time, Event),
) -> Result<Trace, ReadProblem> {
    let mut open: Vec<Open> = Vec::new();
    let mut known: HashMap<(SocketAddr, SocketAddr), usize> = HashMap::new();
    let mut tcp_packets = 0;
    let read = packets::each(capture, &mut |packet| {
        let Some(tcp) = packet.tcp else { return };
        tcp_packets += 1;
        let key = (tcp.from.min(tcp.to), tcp.from.max(tcp.to));
        let number = *known
            .entry(key)
            .and_modify(|number| {
                if open[*number].is_begun_again(&tcp) {
                    *number = open.len();
                }
            })
            .or_insert(open.len());
        if number == open.len() {
            open.push(Open::new(packet.at, &tcp));
        }
        let connection = &mut open[number];
        let at = Time::ZERO + packet.at.since(connection.begin);
        connection.on_packet(packet.at, &tcp, &mut |direction, event| see(number, direction, at, event));
    })?;
    let connections = open.iter().enumerate().map(|(number, open)| open.finish(number)).collect();
    Ok(Trace { packets: read.packets, tcp_packets, cut_after: read.cut.then_some(read.packets), connections })
}

impl Open {
    fn new(at: Time, first: &Segment) -> Open {
        Open { ends: [first.from, first.to], begin: at, end: at, directions: Default::default() }
    }

    fn is_begun_again(&self, segment: &Segment) -> bool {
        self.directions[usize::from(segment.from != self.ends[0])].is_begun_again(segment)
    }

    fn on_packet(&mut self, now: Time, segment: &Segment, see: &mut dyn FnMut(usize, Event)) {
        self.end = self.end.max(now);
        let from = usize::from(segment.from != self.ends[0]);
        let to = 1 - from;
        let [one, other] = &mut self.directions;
        let (sender, peer) = if from == 0 { (one, other) } else { (other, one) };
        let scaled = sender.scales() && peer.scales();
        sender.on_sent(now, segment, scaled, &mut |event| see(from, event));
        let window = sender.window(segment, scaled);
        peer.on_ack(now, segment, window, &mut |event| see(to, event));
    }

    fn finish(&self, number: usize) -> Connection {
        let elapsed = self.end.since(self.begin);
        Connection {
            number,
            ends: self.ends,
            begin_s: self.begin.as_secs_f64(),
            elapsed_s: elapsed.as_secs_f64(),
            directions: self.directions.each_ref().map(|direction| direction.finish(elapsed)),
        }
    }
}
