//! Packets that arrive: for whom they are, and what is answered to those for nobody.

use super::{ConnectionId, Host};
use crate::connection::reset;
use ackclock_units::{Duration, Time};
use ackclock_wire::endpoint::{self, Arrival, Header, flag};
use std::net::{IpAddr, SocketAddr};

impl Host {
    /// A packet or a train arrives, with an offload header before it
    /// ([`offload`](ackclock_wire::offload)). What is malformed or for nobody is counted.
    pub fn receive(&mut self, now: Time, frame: &[u8]) {
        self.counts.packets_in += 1;
        match endpoint::read(frame) {
            Ok(Arrival::Segment { header, payload, segments }) => {
                self.counts.segments_in += u64::from(segments);
                self.on_segment(now, &header, payload, segments);
            }
            Ok(Arrival::TooBig { from, to, seq, mtu }) => {
                if let Some(id) = self.find(from, to) {
                    self.with(now, id, |connection, context| connection.too_big(context.now, seq, mtu));
                }
            }
            Err(_) => self.counts.malformed += 1,
        }
    }

    fn find(&self, local: SocketAddr, remote: SocketAddr) -> Option<ConnectionId> {
        let &index = self.table.get(&(local, remote))?;
        Some(ConnectionId { index, generation: self.slots[index as usize].generation })
    }

    fn on_segment(&mut self, now: Time, header: &Header, payload: &[u8], segments: u32) {
        if !is_plausible(header) {
            self.counts.malformed += 1;
            return;
        }
        let opens = header.flags & (flag::SYN | flag::ACK | flag::RST) == flag::SYN;
        if let Some(id) = self.find(header.to, header.from) {
            let follows = |it: &crate::connection::Connection| {
                opens && it.is_waiting_for_time() && it.may_be_followed_by(header)
            };
            if !self.connection(id).is_some_and(follows) {
                return self.with(now, id, |connection, context| {
                    connection.receive(context, header, payload, segments);
                });
            }
            self.with(now, id, |connection, _| connection.expire());
        }
        if !(opens && self.on_syn(now, header)) {
            self.refuse(now, header, payload.len());
        }
    }

    /// RFC 9293 section 3.10.7.1: a segment for nobody is answered with a reset, up to a limit.
    fn refuse(&mut self, now: Time, header: &Header, payload: usize) {
        self.counts.refused += 1;
        if now.since(self.second) >= Duration::from_secs(1) {
            (self.second, self.challenges) = (now, self.limits.challenges);
        }
        if header.has(flag::RST) || self.challenges == 0 {
            return;
        }
        self.challenges -= 1;
        let length = payload as u32 + u32::from(header.has(flag::SYN)) + u32::from(header.has(flag::FIN));
        let answer = match header.has(flag::ACK) {
            true => reset(header.to, header.from, header.ack, None),
            false => reset(header.to, header.from, 0, Some(header.seq.wrapping_add(length))),
        };
        self.out.push_back(answer);
    }
}

/// False for what no host sends: to or from many hosts or none, from port 0, or to itself.
fn is_plausible(header: &Header) -> bool {
    let single = |address: IpAddr| {
        let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
        !address.is_multicast() && !address.is_unspecified() && !broadcast
    };
    let ports = header.from.port() != 0 && header.to.port() != 0;
    ports && single(header.from.ip()) && single(header.to.ip()) && header.from != header.to
}
