//! A packet as the kernel passes it: a single packet, or a train of TCP segments with one header.
//!
//! The path carries each segment of a train separately, so each has its own place in queues and its own fate.
//! The bytes stay where they were read. Segments of a train that arrive together are delivered to the
//! receiving kernel together, as by a network card with receive offload.
//!
//! If it is known that a host sends nothing but zeros, they need not be carried: only the begin of each
//! packet is read, and the zeros are written anew. At 10 Gbit/s and 40 ms, 50 megabytes would be under way
//! otherwise, and every byte would pass the memory three times.

use crate::offload::{self, LENGTH, Offload};
use crate::packet;
use std::ops::Range;

/// The longest headers that are changed: IPv6, or IPv4 with options, some extension headers, TCP with
/// options.
const MAX_HEADERS: usize = 256;
/// The longest packet that a device passes, with the offload header.
pub const MAX_BYTES: usize = LENGTH + 65_535 + 40;
/// What has to be read of a packet whose payload is zeros, with the offload header, bytes.
pub const BEGIN_BYTES: usize = LENGTH + MAX_HEADERS;

/// The payload of a host that sends nothing but zeros.
static ZEROS: [u8; MAX_BYTES] = [0; MAX_BYTES];

/// A packet or train.
#[derive(Debug)]
pub struct GsoBatch {
    /// The offload header and the packet, as read.
    bytes: Vec<u8>,
    shape: Shape,
}

/// What a packet consists of.
#[derive(Debug)]
struct Shape {
    /// The size of the packet, bytes. What was not read of it is zeros.
    length: usize,
    offload: Offload,
    /// The size of the IP header, bytes.
    ip: usize,
    /// The bytes before the payload. For a single packet: the size of its IP header, or what was read if it
    /// goes on with zeros.
    headers: usize,
    /// The payload of every segment except the last, bytes.
    size: usize,
    segments: u16,
}

/// Changed headers, after an offload header.
pub struct Head {
    bytes: [u8; LENGTH + MAX_HEADERS],
    length: usize,
}

impl Default for Head {
    fn default() -> Head {
        Head { bytes: [0; LENGTH + MAX_HEADERS], length: 0 }
    }
}

impl Head {
    /// The headers, the offload header first. They are empty if those of the train itself are to be written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl GsoBatch {
    /// A packet that was read: an offload header and an IP packet.
    ///
    /// # Errors
    ///
    /// Gives the bytes back if they are not an IP packet.
    pub fn new(bytes: Vec<u8>) -> Result<GsoBatch, Vec<u8>> {
        GsoBatch::read(bytes, |read, length| read == length)
    }

    /// A packet whose payload is zeros: [`BEGIN_BYTES`] of it were read, or all if there are not so many.
    ///
    /// # Errors
    ///
    /// Gives the bytes back if they are not the begin of an IP packet.
    pub fn of_zeros(bytes: Vec<u8>) -> Result<GsoBatch, Vec<u8>> {
        GsoBatch::read(bytes, |read, length| read == MAX_HEADERS.min(length))
    }

    /// A packet, if as many bytes of it were read as `suffice` for its length.
    fn read(bytes: Vec<u8>, suffice: impl FnOnce(usize, usize) -> bool) -> Result<GsoBatch, Vec<u8>> {
        match shape(&bytes, suffice) {
            Some(shape) => Ok(GsoBatch { bytes, shape }),
            None => Err(bytes),
        }
    }

    /// The buffer, for another packet.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The packet as read: of zeros, its begin.
    pub fn packet(&self) -> &[u8] {
        &self.bytes[LENGTH..]
    }

    /// The number of packets on the wire.
    pub fn segments(&self) -> u16 {
        self.shape.segments
    }

    /// The size of one of them on the wire, bytes.
    pub fn wire_bytes(&self, segment: u16) -> u32 {
        if self.shape.segments == 1 {
            return self.shape.length as u32;
        }
        (self.shape.headers + self.payload(segment, 1).len()) as u32
    }

    /// The position of the payload of `count` segments from `first` on.
    fn payload(&self, first: u16, count: u16) -> Range<usize> {
        let end = self.shape.length;
        let from = self.shape.headers + usize::from(first) * self.shape.size;
        from.min(end)..(from + usize::from(count) * self.shape.size).min(end)
    }

    /// The bytes to write for `count` segments from `first` on, marked or not: `head`, then the returned
    /// bytes.
    pub fn write<'a>(&'a self, first: u16, count: u16, marked: bool, head: &mut Head) -> &'a [u8] {
        if count == self.shape.segments && !marked {
            return self.whole(head);
        }
        let offload =
            if self.shape.segments == 1 { self.shape.offload } else { self.offload_of(first, count) };
        head.length = LENGTH + self.shape.headers;
        head.bytes[..LENGTH].copy_from_slice(&offload.write());
        let changed = &mut head.bytes[LENGTH..LENGTH + self.shape.headers];
        changed.copy_from_slice(&self.packet()[..self.shape.headers]);
        if marked {
            packet::set_ce(changed);
        }
        let payload = if self.shape.segments == 1 {
            self.shape.headers..self.shape.length
        } else {
            let payload = self.payload(first, count);
            self.renumber(changed, first, count, payload.len());
            payload
        };
        packet::renew_ip_checksum(&mut changed[..self.shape.ip]);
        if self.is_whole() { &self.packet()[payload] } else { &ZEROS[..payload.len()] }
    }

    /// True if all of it was read.
    fn is_whole(&self) -> bool {
        self.shape.length == self.packet().len()
    }

    /// As `write`, for all segments without a mark.
    fn whole<'a>(&'a self, head: &mut Head) -> &'a [u8] {
        head.length = 0;
        if self.is_whole() {
            return &self.bytes;
        }
        head.length = self.bytes.len();
        head.bytes[..head.length].copy_from_slice(&self.bytes);
        &ZEROS[..self.shape.length - self.packet().len()]
    }

    fn offload_of(&self, first: u16, count: u16) -> Offload {
        if count == 1 {
            return Offload { kind: 0, size: 0, headers: 0, ..self.shape.offload };
        }
        let cwr = if first == 0 { self.shape.offload.kind & offload::WITH_CWR } else { 0 };
        let kind = self.shape.offload.kind & !offload::WITH_CWR | cwr;
        Offload { kind, headers: self.shape.headers as u16, ..self.shape.offload }
    }

    /// Changes the headers of the train to those of some of its segments (RFC 9293 section 3.1).
    fn renumber(&self, headers: &mut [u8], first: u16, count: u16, payload: usize) {
        packet::set_length(headers, self.shape.headers + payload);
        if headers[0] >> 4 == 4 {
            let number = packet::word(headers, 4).wrapping_add(first);
            packet::set_word(headers, 4, number);
        }
        let (ip, tcp) = headers.split_at_mut(usize::from(self.shape.offload.start));
        let sequence = packet::double_word(tcp, 4).wrapping_add(u32::from(first) * self.shape.size as u32);
        packet::set_double_word(tcp, 4, sequence);
        if first + count < self.shape.segments {
            tcp[packet::FLAGS] &= !(packet::FIN | packet::PSH);
        }
        if first > 0 {
            tcp[packet::FLAGS] &= !packet::CWR;
        }
        let sum = packet::pseudo_header(ip, tcp.len() + payload);
        packet::set_word(tcp, packet::CHECKSUM, sum);
    }

    /// One segment as it would be on a wire, with all checksums.
    pub fn on_the_wire(&self, segment: u16, marked: bool) -> Vec<u8> {
        let mut head = Head::default();
        let rest = self.write(segment, 1, marked, &mut head);
        let mut packet = [head.bytes(), rest].concat();
        packet.drain(..LENGTH);
        if self.shape.offload.needs_checksum() {
            packet::finish_checksum(
                &mut packet,
                self.shape.offload.start.into(),
                self.shape.offload.offset.into(),
            );
        }
        packet
    }
}

/// The shape of a packet, if as many bytes of it were read as `suffice` for its length.
fn shape(bytes: &[u8], suffice: impl FnOnce(usize, usize) -> bool) -> Option<Shape> {
    let offload = Offload::read(bytes.first_chunk()?);
    let packet = &bytes[LENGTH..];
    let (ip, length) = packet::lengths(packet)?;
    if !suffice(packet.len(), length) {
        return None;
    }
    let start = usize::from(offload.start);
    if offload.needs_checksum() && (start < ip || start + usize::from(offload.offset) + 2 > packet.len()) {
        return None;
    }
    if offload.kind == 0 {
        // What is known of a packet of zeros stays in front of them.
        let headers = if packet.len() < length { packet.len() } else { ip };
        return Some(Shape { length, offload, ip, headers, size: length, segments: 1 });
    }
    let is_tcp = matches!(offload.kind & !offload::WITH_CWR, offload::TCP4 | offload::TCP6);
    let tcp = packet.get(start..).filter(|tcp| tcp.len() >= packet::TCP)?;
    let headers = start + usize::from(tcp[12] >> 4) * 4;
    let fits = headers >= start + packet::TCP && headers <= packet.len() && headers <= MAX_HEADERS;
    // A program with a packet socket chooses where the checksum is, and not every kernel looks at it.
    let sums = offload.needs_checksum() && usize::from(offload.offset) == packet::CHECKSUM;
    if !is_tcp || !sums || !fits || offload.size == 0 {
        return None;
    }
    let size = usize::from(offload.size);
    let segments = u16::try_from((length - headers).div_ceil(size).max(1)).ok()?;
    Some(Shape { length, offload, ip, headers, size, segments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{
        IpNumber, Ipv4Header, Ipv6Header, SlicedPacket, TcpHeader, TcpOptionElement, TransportSlice,
    };
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Sent {
        six: bool,
        payload: Vec<u8>,
        size: u16,
        flags: u8,
        ect: bool,
        seq: u32,
    }

    /// The bytes that a device would pass.
    fn handed_over(sent: &Sent) -> Vec<u8> {
        let mut tcp = TcpHeader::new(40_000, 5001, sent.seq, 500);
        tcp.set_options(&[TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(7, 8)])
            .expect("they fit");
        let mut tcp = tcp.to_bytes().to_vec();
        tcp[packet::FLAGS] = sent.flags | 0x10;
        let length = tcp.len() + sent.payload.len();
        let mut ip = if sent.six {
            let mut ip = Ipv6Header {
                payload_length: length as u16,
                next_header: IpNumber::TCP,
                hop_limit: 64,
                ..Default::default()
            };
            ip.traffic_class = u8::from(sent.ect) * 2;
            ip.source = [1; 16];
            ip.destination = [2; 16];
            ip.to_bytes().to_vec()
        } else {
            let mut ip = Ipv4Header::new(length as u16, 64, IpNumber::TCP, [10, 0, 0, 1], [10, 128, 0, 1])
                .expect("short enough");
            ip.identification = 65_530;
            let mut bytes = ip.to_bytes().to_vec();
            bytes[1] |= u8::from(sent.ect) * 2;
            bytes
        };
        packet::renew_ip_checksum(&mut ip);
        let sum = packet::pseudo_header(&ip, length);
        packet::set_word(&mut tcp, packet::CHECKSUM, sum);
        let several = sent.payload.len() > usize::from(sent.size);
        let kind = if sent.six { offload::TCP6 } else { offload::TCP4 };
        let cwr = if sent.flags & packet::CWR != 0 { offload::WITH_CWR } else { 0 };
        let offload = Offload {
            flags: offload::NEEDS_CHECKSUM,
            kind: if several { kind | cwr } else { 0 },
            headers: (ip.len() + tcp.len()) as u16,
            size: if several { sent.size } else { 0 },
            start: ip.len() as u16,
            offset: packet::CHECKSUM as u16,
        };
        [&offload.write()[..], &ip, &tcp, &sent.payload].concat()
    }

    fn sent() -> impl Strategy<Value = Sent> {
        let flags = prop::sample::select(vec![
            0,
            packet::PSH,
            packet::FIN | packet::PSH,
            packet::CWR,
            packet::CWR | packet::PSH,
        ]);
        (
            any::<bool>(),
            prop::collection::vec(any::<u8>(), 0..20_000),
            100_u16..3000,
            flags,
            any::<bool>(),
            any::<u32>(),
        )
            .prop_map(|(six, payload, size, flags, ect, seq)| Sent {
                six,
                payload,
                size,
                flags,
                ect,
                seq,
            })
    }

    /// Checks the checksums and headers of a packet as any receiver would. Returns its TCP header and
    /// payload.
    fn received(packet: &[u8]) -> (TcpHeader, Vec<u8>) {
        let sliced = SlicedPacket::from_ip(packet).expect("it is an IP packet");
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("it is no TCP segment") };
        let header = tcp.to_header();
        let checksum = match sliced.net.as_ref().expect("it has an IP header") {
            etherparse::NetSlice::Ipv4(ip) => {
                let ip = ip.header().to_header();
                assert_eq!(ip.header_checksum, ip.calc_header_checksum());
                header.calc_checksum_ipv4(&ip, tcp.payload())
            }
            etherparse::NetSlice::Ipv6(ip) => {
                header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload())
            }
            _ => panic!("it is neither IPv4 nor IPv6"),
        };
        let checksum = checksum.expect("it is short enough");
        // 0 and 0xffff are the same number in ones' complement.
        assert_eq!(header.checksum % 0xffff, checksum % 0xffff);
        (header, tcp.payload().to_vec())
    }

    proptest! {
        #[test]
        fn segments_are_what_a_network_card_would_send(sent in sent(), marked in any::<bool>()) {
            let train = GsoBatch::new(handed_over(&sent)).expect("it is a packet");
            let marked = marked && sent.ect;
            let experienced = if sent.six { 0x30 } else { 3 };
            let mut payload = Vec::new();
            for number in 0..train.segments() {
                let packet = train.on_the_wire(number, marked);
                prop_assert_eq!(packet.len() as u32, train.wire_bytes(number));
                prop_assert!(!marked || packet[1] & experienced == experienced);
                let (tcp, part) = received(&packet);
                prop_assert_eq!(tcp.sequence_number, sent.seq.wrapping_add(payload.len() as u32));
                let (first, last) = (number == 0, number + 1 == train.segments());
                prop_assert_eq!(tcp.fin, last && sent.flags & packet::FIN != 0);
                prop_assert_eq!(tcp.psh, last && sent.flags & packet::PSH != 0);
                prop_assert_eq!(tcp.cwr, first && sent.flags & packet::CWR != 0);
                prop_assert!(last || part.len() == usize::from(sent.size));
                payload.extend(part);
            }
            prop_assert_eq!(payload, sent.payload);
        }

        #[test]
        fn a_part_of_a_train_is_a_train(sent in sent(), cut in 0_u16..40, length in 1_u16..40) {
            let train = GsoBatch::new(handed_over(&sent)).expect("it is a packet");
            let first = cut % train.segments();
            let count = length.min(train.segments() - first);
            let mut head = Head::default();
            let rest = train.write(first, count, false, &mut head);
            let part = GsoBatch::new([head.bytes(), rest].concat()).expect("it is a packet, too");
            prop_assert_eq!(part.segments(), count);
            for number in 0..count {
                prop_assert_eq!(part.on_the_wire(number, false), train.on_the_wire(first + number, false));
            }
        }

        /// Whoever receives it cannot tell that zeros were not carried.
        #[test]
        fn zeros_need_not_be_read(sent in sent(), cut in 0_u16..40, length in 1_u16..40, marked in any::<bool>()) {
            let mut sent = sent;
            sent.payload.fill(0);
            let mut bytes = handed_over(&sent);
            let whole = GsoBatch::new(bytes.clone()).expect("it is a packet");
            bytes.truncate(BEGIN_BYTES);
            let begin = GsoBatch::of_zeros(bytes).expect("it is the begin of one");
            prop_assert_eq!(begin.segments(), whole.segments());
            let first = cut % whole.segments();
            let count = length.min(whole.segments() - first);
            prop_assert_eq!(begin.wire_bytes(first), whole.wire_bytes(first));
            prop_assert_eq!(begin.on_the_wire(first, marked), whole.on_the_wire(first, marked));
            let written = |train: &GsoBatch, first, count| {
                let mut head = Head::default();
                let rest = train.write(first, count, marked, &mut head).to_vec();
                [head.bytes(), &rest].concat()
            };
            prop_assert_eq!(written(&begin, first, count), written(&whole, first, count));
            let all = whole.segments();
            prop_assert_eq!(written(&begin, 0, all), written(&whole, 0, all));
            prop_assert_eq!(packet::pure_ack(begin.packet()), packet::pure_ack(whole.packet()));
        }

        /// Whatever a header claims, nothing is read or written beyond what there is.
        #[test]
        fn headers_that_lie_do_no_harm(
            sent in sent(),
            lies in prop::collection::vec((0_usize..120, any::<u8>()), 1..6),
            marked in any::<bool>(),
        ) {
            let mut bytes = handed_over(&sent);
            for (at, lie) in lies {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = lie;
                }
            }
            let begin = bytes[..bytes.len().min(BEGIN_BYTES)].to_vec();
            for train in [GsoBatch::new(bytes), GsoBatch::of_zeros(begin)].into_iter().flatten() {
                let last = train.segments() - 1;
                for (first, count) in [(0, 1), (last, 1), (0, train.segments()), (last / 2, last / 2 + 1)] {
                    train.write(first, count.min(train.segments() - first), marked, &mut Head::default());
                    train.on_the_wire(first, marked);
                }
            }
        }

        #[test]
        fn what_is_no_packet_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for train in [GsoBatch::new(bytes.clone()), GsoBatch::of_zeros(bytes)].into_iter().flatten() {
                for number in 0..train.segments() {
                    train.on_the_wire(number, true);
                }
            }
        }
    }
}
