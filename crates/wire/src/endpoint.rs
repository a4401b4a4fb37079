//! Packets as an endpoint reads and writes them: an offload header, an IP header, and a TCP segment or a
//! train of them; or an ICMP message that a packet was too big (RFC 1191, RFC 8201).
//!
//! Unlike [`Segment`](crate::Segment), which reads what a capture has kept, this refuses whatever is not
//! complete and correct.

use crate::offload::{self, LENGTH, Offload};
use crate::options::{MAX_OPTIONS, Options};
use crate::packet::{self, double_word, set_double_word, set_word, word};
use ackclock_net::Ecn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

/// TCP flags (RFC 9293 section 3.1, RFC 3168 section 6.1, RFC 9768 section 3.2.2).
pub mod flag {
    use crate::packet;

    /// No more data from the sender.
    pub const FIN: u16 = packet::FIN as u16;
    /// Synchronises sequence numbers.
    pub const SYN: u16 = packet::SYN as u16;
    /// Resets the connection.
    pub const RST: u16 = packet::RST as u16;
    /// Pushes data to the application.
    pub const PSH: u16 = packet::PSH as u16;
    /// The acknowledgement number counts.
    pub const ACK: u16 = packet::ACK as u16;
    /// Echo of congestion.
    pub const ECE: u16 = packet::ECE as u16;
    /// The congestion window was reduced.
    pub const CWR: u16 = packet::CWR as u16;
    /// Accurate ECN.
    pub const AE: u16 = (packet::AE as u16) << 8;
}

/// The longest head of a packet that is written: the offload header, IPv6, TCP with options.
pub const MAX_HEAD: usize = LENGTH + IPV6 + packet::TCP + MAX_OPTIONS;
const IPV4: usize = 20;
const IPV6: usize = 40;
const TTL: u8 = 64;
const TCP_PROTOCOL: u8 = 6;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// The headers of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver. Both are of the same family.
    pub to: SocketAddr,
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgement number. It means something if [`flag::ACK`] is set.
    pub ack: u32,
    /// The flags: see [`flag`].
    pub flags: u16,
    /// The receive window, not scaled.
    pub window: u16,
    /// The ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// The identification of the IPv4 header.
    pub identification: u16,
    /// The options.
    pub options: Options,
}

impl Header {
    /// True if all these flags are set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// A packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<'a> {
    /// A segment, or a train of segments with one header.
    Segment {
        /// The headers.
        header: Header,
        /// The payload of all segments.
        payload: &'a [u8],
        /// The number of segments.
        segments: u32,
    },
    /// A router could not forward a packet of ours.
    TooBig {
        /// The packet's sender.
        from: SocketAddr,
        /// The packet's receiver.
        to: SocketAddr,
        /// The packet's sequence number.
        seq: u32,
        /// The largest packet that the router forwards, bytes. Zero if it does not say.
        mtu: u32,
    },
}

/// Why a packet is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// No complete IP packet with a complete header.
    Length,
    /// A fragment. Who asks for no fragments gets none (RFC 791), and reassembly is a known target.
    Fragment,
    /// Neither TCP nor a message that a packet was too big.
    Protocol,
    /// A checksum is wrong.
    Checksum,
}

/// Reads an offload header and the packet behind it.
///
/// # Errors
///
/// [`Malformed`] tells what is wrong with it.
pub fn read(frame: &[u8]) -> Result<Arrival<'_>, Malformed> {
    let offload = Offload::read(frame.first_chunk().ok_or(Malformed::Length)?);
    let packet = &frame[LENGTH..];
    let ip = packet::ip_header(packet).ok_or(Malformed::Length)?;
    let (protocol, from, to) = addresses(packet, ip)?;
    match (protocol, from) {
        (TCP_PROTOCOL, _) => segment(packet, ip, offload, from, to),
        (ICMP, IpAddr::V4(_)) => too_big(packet, ip, &[3, 4], Malformed::Protocol),
        (ICMPV6, IpAddr::V6(_)) => too_big(packet, ip, &[2, 0], Malformed::Protocol),
        _ => Err(Malformed::Protocol),
    }
}

/// The protocol and the addresses of an IP packet whose header has this length.
fn addresses(packet: &[u8], ip: usize) -> Result<(u8, IpAddr, IpAddr), Malformed> {
    if packet[0] >> 4 == 4 {
        const MORE_AND_OFFSET: u16 = 0x3fff;
        if word(packet, 6) & MORE_AND_OFFSET != 0 {
            return Err(Malformed::Fragment);
        }
        if packet::fold(packet::sum(0, &packet[..ip])) != 0xffff {
            return Err(Malformed::Checksum);
        }
        let address = |at: usize| IpAddr::V4(Ipv4Addr::from(double_word(packet, at)));
        Ok((packet[9], address(12), address(16)))
    } else {
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&packet[at..at + 16]);
            IpAddr::V6(Ipv6Addr::from(octets))
        };
        Ok((packet[6], address(8), address(24)))
    }
}

fn segment(
    packet: &[u8],
    ip: usize,
    offload: Offload,
    from: IpAddr,
    to: IpAddr,
) -> Result<Arrival<'_>, Malformed> {
    let tcp = &packet[ip..];
    let header = tcp.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    if header < packet::TCP || header > tcp.len() {
        return Err(Malformed::Length);
    }
    if !offload.is_checked() {
        let pseudo = u64::from(packet::pseudo_header(&packet[..ip], tcp.len()));
        if packet::fold(packet::sum(pseudo, tcp)) != 0xffff {
            return Err(Malformed::Checksum);
        }
    }
    let payload = &tcp[header..];
    let size = if offload.kind == 0 { 0 } else { usize::from(offload.size) };
    let segments = if size == 0 { 1 } else { payload.len().div_ceil(size).max(1) as u32 };
    let header = Header {
        from: SocketAddr::new(from, word(tcp, 0)),
        to: SocketAddr::new(to, word(tcp, 2)),
        seq: double_word(tcp, 4),
        ack: double_word(tcp, 8),
        flags: u16::from(tcp[packet::FLAGS]) | u16::from(tcp[12] & packet::AE) << 8,
        window: word(tcp, 14),
        ecn: packet::ecn(packet),
        identification: if packet[0] >> 4 == 4 { word(packet, 4) } else { 0 },
        options: Options::read(&tcp[packet::TCP..header]),
    };
    Ok(Arrival::Segment { header, payload, segments })
}

/// A message of ICMP of this type and code. It quotes the packet: at least the IP header and eight bytes.
fn too_big<'a>(
    packet: &'a [u8],
    ip: usize,
    kind: &[u8; 2],
    other: Malformed,
) -> Result<Arrival<'a>, Malformed> {
    const HEADER: usize = 8;
    const QUOTED: usize = 8;
    let message = &packet[ip..];
    if message.len() < HEADER || message[..2] != *kind {
        return Err(other);
    }
    let six = packet[0] >> 4 == 6;
    let pseudo = if six {
        u64::from(packet::fold(packet::sum(message.len() as u64 + u64::from(ICMPV6), &packet[8..40])))
    } else {
        0
    };
    if packet::fold(packet::sum(pseudo, message)) != 0xffff {
        return Err(Malformed::Checksum);
    }
    let mtu = if six { double_word(message, 4) } else { u32::from(word(message, 6)) };
    let quoted = &message[HEADER..];
    let (header, protocol, addresses) = match quoted.first().map(|first| first >> 4) {
        Some(4) if !six && quoted.len() >= IPV4 => (usize::from(quoted[0] & 0xf) * 4, quoted[9], 12..20),
        Some(6) if six && quoted.len() >= IPV6 => (IPV6, quoted[6], 8..40),
        _ => return Err(Malformed::Length),
    };
    if protocol != TCP_PROTOCOL {
        return Err(other);
    }
    let tcp = quoted.get(header..header + QUOTED).ok_or(Malformed::Length)?;
    let (from, to) = both(&quoted[addresses]);
    let (from, to) = (SocketAddr::new(from, word(tcp, 0)), SocketAddr::new(to, word(tcp, 2)));
    Ok(Arrival::TooBig { from, to, seq: double_word(tcp, 4), mtu })
}

/// Source and destination.
fn both(addresses: &[u8]) -> (IpAddr, IpAddr) {
    let (from, to) = addresses.split_at(addresses.len() / 2);
    let address = |bytes: &[u8]| match <[u8; 4]>::try_from(bytes) {
        Ok(four) => IpAddr::from(four),
        Err(_) => {
            let mut sixteen = [0; 16];
            sixteen.copy_from_slice(bytes);
            IpAddr::from(sixteen)
        }
    };
    (address(from), address(to))
}

/// Writes the offload header and the headers of a segment with `payload` bytes, or of a train whose segments
/// have `size` bytes each except the last. Returns their place in `head`. The checksum of the segment covers
/// the pseudo-header only, and the offload header says so.
///
/// # Panics
///
/// If the addresses are not of one family, or the packet is longer than 65,535 bytes.
pub fn write(header: &Header, payload: usize, size: usize, head: &mut [u8; MAX_HEAD]) -> Range<usize> {
    let mut options = [0; MAX_OPTIONS];
    let optional = header.options.write(&mut options);
    let (ip, length) = (&mut head[LENGTH..], packet::TCP + optional + payload);
    let network = write_ip(header, length, ip);
    let pseudo = packet::pseudo_header(&ip[..network], length);
    packet::renew_ip_checksum(&mut ip[..network]);
    let tcp = &mut ip[network..];
    set_word(tcp, 0, header.from.port());
    set_word(tcp, 2, header.to.port());
    set_double_word(tcp, 4, header.seq);
    set_double_word(tcp, 8, header.ack);
    tcp[12] = (((packet::TCP + optional) / 4) as u8) << 4 | (header.flags >> 8) as u8 & packet::AE;
    tcp[packet::FLAGS] = header.flags as u8;
    set_word(tcp, 14, header.window);
    set_word(tcp, packet::CHECKSUM, pseudo);
    set_word(tcp, packet::CHECKSUM + 2, 0);
    tcp[packet::TCP..packet::TCP + optional].copy_from_slice(&options[..optional]);
    let headers = network + packet::TCP + optional;
    let train = payload > size && size > 0;
    let kind = if network == IPV4 { offload::TCP4 } else { offload::TCP6 };
    let cwr = if header.has(flag::CWR) { offload::WITH_CWR } else { 0 };
    let written = Offload {
        flags: offload::NEEDS_CHECKSUM,
        kind: if train { kind | cwr } else { 0 },
        headers: if train { headers as u16 } else { 0 },
        size: if train { size as u16 } else { 0 },
        start: network as u16,
        offset: packet::CHECKSUM as u16,
    };
    head[..LENGTH].copy_from_slice(&written.write());
    0..LENGTH + headers
}

/// Writes an IP header without its checksum. Returns its length.
fn write_ip(header: &Header, length: usize, ip: &mut [u8]) -> usize {
    let ecn = match header.ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    };
    match (header.from.ip(), header.to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            const DONT_FRAGMENT: u16 = 0x4000;
            assert!(IPV4 + length <= 65_535, "a packet of {length} bytes");
            (ip[0], ip[1]) = (0x45, ecn);
            set_word(ip, 2, (IPV4 + length) as u16);
            set_word(ip, 4, header.identification);
            set_word(ip, 6, DONT_FRAGMENT);
            (ip[8], ip[9]) = (TTL, TCP_PROTOCOL);
            ip[12..16].copy_from_slice(&from.octets());
            ip[16..20].copy_from_slice(&to.octets());
            IPV4
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            assert!(length <= 65_535, "a packet of {length} bytes");
            set_double_word(ip, 0, 6 << 28 | u32::from(ecn) << 20);
            set_word(ip, 4, length as u16);
            (ip[6], ip[7]) = (TCP_PROTOCOL, TTL);
            ip[8..24].copy_from_slice(&from.octets());
            ip[24..40].copy_from_slice(&to.octets());
            IPV6
        }
        _ => panic!("{} and {} are not of one family", header.from, header.to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GsoBatch;
    use proptest::prelude::*;

    fn header(six: bool) -> Header {
        let (from, to) =
            if six { ("[fd00::1]:40000", "[fd00::2]:80") } else { ("10.0.0.1:40000", "10.0.0.2:80") };
        Header {
            from: from.parse().expect("an address"),
            to: to.parse().expect("an address"),
            seq: u32::MAX - 100,
            ack: 7,
            flags: flag::ACK,
            window: 500,
            ecn: Ecn::Ect0,
            identification: if six { 0 } else { 3 },
            options: Options { timestamps: Some((1, 2)), ..Options::default() },
        }
    }

    fn written(header: &Header, payload: &[u8], size: usize) -> Vec<u8> {
        let mut head = [0xaa; MAX_HEAD];
        let place = write(header, payload.len(), size, &mut head);
        [&head[place], payload].concat()
    }

    /// A message of ICMP about `packet`.
    fn message(packet: &[u8], mtu: u16) -> Vec<u8> {
        let mut icmp = vec![3, 4, 0, 0, 0, 0];
        icmp.extend(mtu.to_be_bytes());
        icmp.extend(&packet[..28]);
        let sum = !packet::fold(packet::sum(0, &icmp));
        set_word(&mut icmp, 2, sum);
        let mut ip = vec![0; 20];
        (ip[0], ip[8], ip[9]) = (0x45, 64, ICMP);
        set_word(&mut ip, 2, (20 + icmp.len()) as u16);
        packet::renew_ip_checksum(&mut ip);
        [&[0; LENGTH][..], &ip, &icmp].concat()
    }

    proptest! {
        /// The segments of a train, one by one with whole checksums, are what was written.
        #[test]
        fn trains_and_their_segments_are_read(
            six: bool,
            payload in proptest::collection::vec(any::<u8>(), 0..5000),
            size in 500_usize..1500,
            sack: (u32, u32),
        ) {
            let mut header = header(six);
            header.options.add_sack(sack.0, sack.1);
            let frame = written(&header, &payload, size);
            let count = payload.len().div_ceil(size).max(1) as u32;
            let expected = Arrival::Segment { header, payload: &payload, segments: count };
            prop_assert_eq!(read(&frame), Ok(expected));
            let train = GsoBatch::new(frame).expect("a packet");
            prop_assert_eq!(u32::from(train.segments()), count);
            let mut seen = Vec::new();
            for segment in 0..train.segments() {
                let one = [&[0; LENGTH][..], &train.on_the_wire(segment, false)].concat();
                let Ok(Arrival::Segment { header: its, payload, segments: 1 }) = read(&one) else {
                    panic!("segment {segment} is not read");
                };
                prop_assert_eq!(its.seq, header.seq.wrapping_add(seen.len() as u32));
                prop_assert_eq!((its.options, its.ack, its.ecn), (header.options, header.ack, header.ecn));
                seen.extend_from_slice(payload);
            }
            prop_assert_eq!(seen, payload);
        }

        /// One wrong bit is found by a checksum, or is in the part of the IPv6 header that has none.
        #[test]
        fn a_flipped_bit_is_found(at in 0_usize..1100, bit in 0_u32..8) {
            let train = GsoBatch::new(written(&header(false), &[7; 1048], 2000)).expect("a packet");
            let mut frame = [&[0; LENGTH][..], &train.on_the_wire(0, false)].concat();
            prop_assert_eq!(frame.len(), LENGTH + 1100);
            frame[LENGTH + at] ^= 1 << bit;
            prop_assert!(read(&frame).is_err());
        }

        #[test]
        fn any_bytes_are_read(frame in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&frame);
        }
    }

    #[test]
    fn a_message_about_a_packet_names_it() {
        let frame = written(&header(false), &[0; 1000], 2000);
        let Header { from, to, seq, .. } = header(false);
        let icmp = message(&frame[LENGTH..], 1280);
        assert_eq!(read(&icmp), Ok(Arrival::TooBig { from, to, seq, mtu: 1280 }));
        for short in 0..icmp.len() {
            assert!(read(&icmp[..short]).is_err());
        }
    }

    #[test]
    fn fragments_and_other_protocols_are_refused() {
        let mut frame = written(&header(false), &[], 0);
        frame[LENGTH + 6] = 0x20;
        packet::renew_ip_checksum(&mut frame[LENGTH..LENGTH + 20]);
        assert_eq!(read(&frame), Err(Malformed::Fragment));
        let mut frame = written(&header(true), &[], 0);
        frame[LENGTH + 6] = 17;
        assert_eq!(read(&frame), Err(Malformed::Protocol));
    }
}
