//! The connections in a capture, and the choice among them.

use super::{CaptureProblem, Packet};
use std::collections::HashMap;
use std::net::SocketAddr;

/// The largest number of connections that a message lists.
const MAX_LISTED: usize = 20;

/// A connection: the addresses of its ends in the order of its first packet, and the bytes that each has
/// sent.
struct Stream {
    ends: [SocketAddr; 2],
    bytes: [u64; 2],
}

impl Stream {
    /// Sender and receiver: the end that has sent more data comes first.
    fn direction(&self) -> (SocketAddr, SocketAddr) {
        let [one, other] = self.ends;
        if self.bytes[0] >= self.bytes[1] { (one, other) } else { (other, one) }
    }

    fn carries_data(&self) -> bool {
        self.bytes != [0, 0]
    }
}

/// All connections, in the order of their first packets.
fn streams(packets: &[Packet]) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut known = HashMap::new();
    for Packet { tcp, .. } in packets {
        let (from, to) = (tcp.from, tcp.to);
        let number = *known.entry((from.min(to), from.max(to))).or_insert_with(|| {
            streams.push(Stream { ends: [from, to], bytes: [0, 0] });
            streams.len() - 1
        });
        let stream = &mut streams[number];
        stream.bytes[usize::from(stream.ends[0] != from)] += u64::from(tcp.payload);
    }
    streams
}

/// Sender and receiver of the connection with this number, or of the only one that carries data.
pub(super) fn choose(
    packets: &[Packet],
    wanted: Option<usize>,
) -> Result<(SocketAddr, SocketAddr), CaptureProblem> {
    let streams = streams(packets);
    let with_data: Vec<(usize, &Stream)> =
        streams.iter().enumerate().filter(|(_, stream)| stream.carries_data()).collect();
    let chosen = match (wanted, &with_data[..]) {
        (_, []) => return Err(CaptureProblem::Nothing),
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(wanted), all) => all.iter().find(|(number, _)| *number == wanted),
    };
    chosen.map(|(_, stream)| stream.direction()).ok_or_else(|| CaptureProblem::Several {
        count: with_data.len(),
        chosen: wanted.map_or_else(String::new, |number| format!(", and {number} is none of them")),
        help: listed(&with_data),
    })
}

/// How to choose one of these.
fn listed(streams: &[(usize, &Stream)]) -> String {
    let mut text = "choose one with --stream:".to_owned();
    for (number, stream) in streams.iter().take(MAX_LISTED) {
        let (from, to) = stream.direction();
        text +=
            &format!("\n--stream {number}: {from} to {to}, {} bytes", stream.bytes[0].max(stream.bytes[1]));
    }
    match streams.len().saturating_sub(MAX_LISTED) {
        0 => text,
        more => format!("{text}\nand {more} more"),
    }
}
