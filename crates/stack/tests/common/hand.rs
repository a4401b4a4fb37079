//! Packets made by hand.

use super::{PORT, address};
use ackclock_net::Ecn;
use ackclock_stack::{ConnectionId, Host};
use ackclock_units::Time;
use ackclock_wire::Options;
use ackclock_wire::endpoint::{self, Arrival, Header, MAX_HEAD, flag};
use std::net::SocketAddr;

/// A frame with these headers and bytes. Checksums are left to the device.
pub fn frame(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut head = [0; MAX_HEAD];
    let place = endpoint::write(header, payload.len(), 0, &mut head);
    [&head[place], payload].concat()
}

/// The headers and the payload of a frame.
pub fn read(frame: &[u8]) -> (Header, Vec<u8>) {
    match endpoint::read(frame) {
        Ok(Arrival::Segment { header, payload, .. }) => (header, payload.to_vec()),
        other => panic!("no segment: {other:?}"),
    }
}

/// Everything that a host sends now.
pub fn sent(host: &mut Host, now: Time) -> Vec<(Header, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(train) = host.transmit(now) {
        all.push(read(&train.to_vec()));
    }
    all
}

/// The headers of a segment from a peer at host 1 to host 0.
pub fn header(to_port: u16, seq: u32, ack: u32, flags: u16) -> Header {
    Header {
        from: SocketAddr::new(address(1), PORT),
        to: SocketAddr::new(address(0), to_port),
        seq,
        ack,
        flags,
        window: 60_000,
        ecn: Ecn::NotEct,
        identification: 0,
        options: Options::default(),
    }
}

/// A peer by hand: what it has sent and seen.
pub struct Peer {
    pub host: Host,
    pub now: Time,
    pub id: ConnectionId,
    pub port: u16,
    /// The next number of the peer, and the next one that it expects.
    pub seq: u32,
    pub ack: u32,
    pub stamps: Option<(u32, u32)>,
}

impl Peer {
    /// Answers the SYN of connection `id` with these options.
    pub fn answer(mut host: Host, now: Time, id: ConnectionId, options: Options) -> Peer {
        let (syn, _) = sent(&mut host, now).pop().expect("a SYN");
        assert_eq!(syn.flags & (flag::SYN | flag::ACK), flag::SYN);
        let stamps = options.timestamps.and(syn.options.timestamps).map(|(theirs, _)| (1000, theirs));
        let ack = syn.seq.wrapping_add(1);
        let mut peer = Peer { host, now, id, port: syn.from.port(), seq: 5000, ack, stamps };
        let mut answer = peer.header(flag::SYN | flag::ACK);
        answer.options = options;
        answer.options.timestamps = stamps;
        peer.give(&answer, &[]);
        peer.seq = peer.seq.wrapping_add(1);
        let ack = peer.take();
        assert_eq!(ack.len(), 1, "{ack:?}");
        peer
    }

    /// The headers of the next segment of the peer.
    pub fn header(&self, flags: u16) -> Header {
        let mut header = header(self.port, self.seq, self.ack, flags);
        header.options.timestamps = self.stamps;
        header
    }

    /// The host receives a segment.
    pub fn give(&mut self, header: &Header, payload: &[u8]) {
        let frame = frame(header, payload);
        self.host.receive(self.now, &frame);
    }

    /// What the host sends now.
    pub fn take(&mut self) -> Vec<(Header, Vec<u8>)> {
        sent(&mut self.host, self.now)
    }
}
