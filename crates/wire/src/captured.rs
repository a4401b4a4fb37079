//! TCP segments in captures.

use crate::options::{MAX_SACKS, Options};
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use std::net::{IpAddr, SocketAddr};

/// The header before the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// An Ethernet header.
    Ethernet,
    /// No header.
    Ip,
    /// The header of Linux's cooked captures (LINKTYPE_LINUX_SLL).
    Cooked,
    /// The header of their second version (LINKTYPE_LINUX_SLL2).
    Cooked2,
}

/// A TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgement number, if ACK is set.
    pub ack: Option<u32>,
    /// The payload, bytes. The capture may contain a part of it.
    pub payload: u32,
    /// The part of the payload that the capture contains, bytes.
    pub captured: u32,
    /// True if SYN is set.
    pub syn: bool,
    /// True if FIN is set.
    pub fin: bool,
    /// True if RST is set.
    pub reset: bool,
    /// True if PSH is set.
    pub push: bool,
    /// The receive window, not scaled.
    pub window: u16,
    /// The timestamp, and the echoed one (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// The shift of windows that is offered (RFC 7323).
    pub window_scale: Option<u8>,
    /// The largest segment that is asked for, bytes (RFC 9293).
    pub mss: Option<u16>,
    /// Selective acknowledgements are permitted (RFC 2018).
    pub sack_permitted: bool,
    blocks: [(u32, u32); MAX_SACKS],
    block_count: u8,
}

impl Segment {
    /// The blocks of selective acknowledgements: the first sequence number and the one after the last.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// The segment in a captured frame; `None` if the frame contains no TCP.
    pub fn read(framing: Framing, frame: &[u8]) -> Option<Segment> {
        segment(&match framing {
            Framing::Ethernet => LaxSlicedPacket::from_ethernet(frame).ok()?,
            Framing::Ip => LaxSlicedPacket::from_ip(frame).ok()?,
            Framing::Cooked => cooked(frame, 16, 14)?,
            Framing::Cooked2 => cooked(frame, 20, 0)?,
        })
    }
}

/// Parses a frame with a cooked header of this `length`, and the packet's type at `kind`.
fn cooked(frame: &[u8], length: usize, kind: usize) -> Option<LaxSlicedPacket<'_>> {
    let kind = u16::from_be_bytes([*frame.get(kind)?, *frame.get(kind + 1)?]);
    Some(LaxSlicedPacket::from_ether_type(EtherType(kind), frame.get(length..)?))
}

fn segment(sliced: &LaxSlicedPacket<'_>) -> Option<Segment> {
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
    // The lengths come from the headers: a capture may contain a part of a packet, and Ethernet may pad it.
    let (from, to, length): (IpAddr, IpAddr, usize) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = usize::from(header.total_len()).checked_sub(header.slice().len())?;
            (header.source_addr().into(), header.destination_addr().into(), length)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let length = usize::from(header.payload_length()).checked_sub(ip.extensions().slice().len())?;
            (header.source_addr().into(), header.destination_addr().into(), length)
        }
        _ => return None,
    };
    let payload = length.checked_sub(tcp.header_len())?;
    let options = Options::read(tcp.options());
    Some(Segment {
        from: SocketAddr::new(from, tcp.source_port()),
        to: SocketAddr::new(to, tcp.destination_port()),
        seq: tcp.sequence_number(),
        ack: tcp.ack().then(|| tcp.acknowledgment_number()),
        payload: payload as u32,
        captured: tcp.payload().len().min(payload) as u32,
        syn: tcp.syn(),
        fin: tcp.fin(),
        reset: tcp.rst(),
        push: tcp.psh(),
        window: tcp.window_size(),
        timestamps: options.timestamps,
        window_scale: options.window_scale,
        mss: options.mss,
        sack_permitted: options.sack_permitted,
        blocks: options.blocks,
        block_count: options.block_count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connection;
    use ackclock_tcp::{Config, Data};
    use ackclock_units::Time;

    #[test]
    fn what_is_written_for_a_simulated_segment_is_read_again() {
        let config = Config { payload: 1000, header: 40, ..Config::default() };
        let connection = Connection { flow: 0, epoch: 0, config: &config };
        let data = Data { seq: 3, sent_at: Time::from_nanos(5_000_000), ..Data::default() };
        let frame = connection.data(&data);
        let read = Segment::read(Framing::Ip, &frame.headers).expect("a segment");
        assert_eq!((read.seq, read.ack, read.payload, read.syn), (3001, Some(1), 1000, false));
        assert_eq!(read.timestamps, Some((6, 6)));
        assert_eq!(
            (read.from.to_string(), read.to.to_string()),
            ("10.0.0.1:40000".into(), "10.128.0.1:50000".into())
        );
        let cooked = [&[0; 14][..], &[8, 0], &frame.headers].concat();
        assert_eq!(Segment::read(Framing::Cooked, &cooked), Some(read));
        assert_eq!(Segment::read(Framing::Ip, &frame.headers[..30]), None);
    }
}
