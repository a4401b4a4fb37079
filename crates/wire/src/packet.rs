//! IP and TCP headers in place: the fields that the path reads and changes, and checksums (RFC 791, 8200,
//! 9293, 3168, 1071).

use ackclock_net::{Ecn, PureAck};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// The size of an IPv4 header without options, bytes.
const IPV4: usize = 20;
/// The size of an IPv6 header, bytes.
const IPV6: usize = 40;
/// The size of a TCP header without options, bytes.
pub(crate) const TCP: usize = 20;
/// No more data from the sender (RFC 9293 section 3.1).
pub const FIN: u8 = 0x01;
/// Synchronises sequence numbers.
pub const SYN: u8 = 0x02;
/// Resets the connection.
pub const RST: u8 = 0x04;
/// Pushes data to the application.
pub const PSH: u8 = 0x08;
/// The acknowledgement number counts.
pub const ACK: u8 = 0x10;
const URG: u8 = 0x20;
/// Echo of congestion (RFC 3168 section 6.1).
pub const ECE: u8 = 0x40;
/// The congestion window was reduced (RFC 3168 section 6.1).
pub const CWR: u8 = 0x80;
/// The position of the flags in the TCP header.
pub(crate) const FLAGS: usize = 13;
/// The bit before them, in the byte of the header's length: AE (RFC 9768 section 3.2.2).
pub(crate) const AE: u8 = 0x01;
/// The position of the checksum in the TCP header.
pub(crate) const CHECKSUM: usize = 16;
/// The CE codepoint in the IP header (RFC 3168 section 5).
const CE: u8 = 0b11;

/// The sizes of the IP header and of the whole packet, if this is an IP packet or its begin.
pub(crate) fn lengths(packet: &[u8]) -> Option<(usize, usize)> {
    let (header, length) = match packet.first()? >> 4 {
        4 if packet.len() >= IPV4 => (usize::from(packet[0] & 0xf) * 4, usize::from(word(packet, 2))),
        6 if packet.len() >= IPV6 => (IPV6, IPV6 + usize::from(word(packet, 4))),
        _ => return None,
    };
    (header >= IPV4 && header <= packet.len() && packet.len() <= length).then_some((header, length))
}

/// The size of the IP header, if this is a complete IP packet.
pub(crate) fn ip_header(packet: &[u8]) -> Option<usize> {
    let (header, length) = lengths(packet)?;
    (length == packet.len()).then_some(header)
}

/// The destination of a packet for which `ip_header` returned a size.
pub fn destination(packet: &[u8]) -> IpAddr {
    let mut v6 = [0; 16];
    if packet[0] >> 4 == 4 {
        IpAddr::from([packet[16], packet[17], packet[18], packet[19]])
    } else {
        v6.copy_from_slice(&packet[24..40]);
        IpAddr::from(v6)
    }
}

/// The ECN codepoint.
pub fn ecn(packet: &[u8]) -> Ecn {
    let ecn = if packet[0] >> 4 == 4 { packet[1] } else { packet[1] >> 4 };
    match ecn & CE {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// A number that identifies the flow: a hash of addresses, protocol, and ports if there are any (RFC 8290
/// section 4.1).
pub fn flow(packet: &[u8]) -> u64 {
    const TCP_AND_UDP: [u8; 2] = [6, 17];
    let (addresses, protocol, header) = if packet[0] >> 4 == 4 {
        (&packet[12..20], packet[9], usize::from(packet[0] & 0xf) * 4)
    } else {
        (&packet[8..40], packet[6], IPV6)
    };
    let ports = packet.get(header..header + 4).filter(|_| TCP_AND_UDP.contains(&protocol));
    let mut hasher = DefaultHasher::new();
    (addresses, protocol, ports).hash(&mut hasher);
    hasher.finish()
}

/// What a TCP segment acknowledges, if it does nothing else: it has no data, and opens, closes or resets
/// nothing. `packet` is one for which `ip_header` returned a size.
pub fn pure_ack(packet: &[u8]) -> Option<PureAck> {
    let ip = ip_header(packet)?;
    let protocol = if packet[0] >> 4 == 4 { packet[9] } else { packet[6] };
    let tcp = packet.get(ip..).filter(|tcp| protocol == 6 && tcp.len() >= TCP)?;
    let flags = tcp[FLAGS];
    let has_data = tcp.len() > usize::from(tcp[12] >> 4) * 4;
    if has_data || flags & (FIN | SYN | RST | ACK | URG) != ACK {
        return None;
    }
    // RFC 3168 section 6.1, and the third flag of RFC 9768.
    Some(PureAck { number: double_word(tcp, 8), ecn: flags & (CWR | ECE) | tcp[12] & AE })
}

/// Sets CE. The caller must renew the checksum of an IPv4 header.
pub(crate) fn set_ce(header: &mut [u8]) {
    header[1] |= if header[0] >> 4 == 4 { CE } else { CE << 4 };
}

/// Sets the length of the whole packet. The caller must renew the checksum of an IPv4 header.
pub(crate) fn set_length(header: &mut [u8], length: usize) {
    if header[0] >> 4 == 4 {
        set_word(header, 2, length as u16);
    } else {
        set_word(header, 4, (length - IPV6) as u16);
    }
}

/// Renews the checksum of an IPv4 header. IPv6 has none.
pub(crate) fn renew_ip_checksum(header: &mut [u8]) {
    if header[0] >> 4 == 4 {
        set_word(header, 10, 0);
        let sum = !fold(sum(0, header));
        set_word(header, 10, sum);
    }
}

/// The sum of a TCP segment's pseudo-header. An unfinished checksum holds this value.
pub(crate) fn pseudo_header(ip: &[u8], length: usize) -> u16 {
    const PROTOCOL: u64 = 6;
    let addresses = if ip[0] >> 4 == 4 { &ip[12..20] } else { &ip[8..40] };
    fold(sum(length as u64 + PROTOCOL, addresses))
}

/// Finishes the checksum of the data from `start` on. It holds the sum of the pseudo-header so far.
pub(crate) fn finish_checksum(packet: &mut [u8], start: usize, offset: usize) {
    let sum = !fold(sum(0, &packet[start..]));
    // RFC 768: a computed zero is sent as all ones. For TCP both are the same number.
    set_word(packet, start + offset, if sum == 0 { 0xffff } else { sum });
}

/// The ones' complement sum of 16-bit words (RFC 1071), before folding.
pub(crate) fn sum(begin: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let whole: u64 = words.by_ref().map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let last = words.remainder().first().map_or(0, |&byte| u64::from(byte) << 8);
    begin + whole + last
}

pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub(crate) fn double_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn set_double_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpNumber, Ipv4Header, Ipv6Header, TcpHeader};

    /// A segment of IPv4 or IPv6 with these flags and bytes of payload that acknowledges 77.
    fn segment(six: bool, flags: u8, payload: usize) -> Vec<u8> {
        let mut tcp = TcpHeader::new(40_000, 5001, 1, 500).to_bytes().to_vec();
        set_double_word(&mut tcp, 8, 77);
        tcp[FLAGS] = flags;
        tcp.resize(tcp.len() + payload, 0);
        let length = tcp.len() as u16;
        let ip = if six {
            let ip = Ipv6Header { payload_length: length, next_header: IpNumber::TCP, ..Default::default() };
            ip.to_bytes().to_vec()
        } else {
            let ip = Ipv4Header::new(length, 64, IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]);
            ip.expect("short enough").to_bytes().to_vec()
        };
        [ip, tcp].concat()
    }

    #[test]
    fn a_pure_ack_does_nothing_else() {
        for six in [false, true] {
            let of = |flags, payload| pure_ack(&segment(six, flags, payload));
            assert_eq!(of(ACK, 0), Some(PureAck { number: 77, ecn: 0 }));
            assert_eq!(of(ACK | PSH, 0), of(ACK, 0));
            assert_eq!(of(ACK | ECE, 0), Some(PureAck { number: 77, ecn: ECE }));
            assert_eq!(of(ACK, 1), None);
            for flag in [SYN, FIN, RST, URG] {
                assert_eq!(of(ACK | flag, 0), None);
            }
            assert_eq!(of(0, 0), None);
            let mut udp = segment(six, ACK, 0);
            udp[if six { 6 } else { 9 }] = 17;
            assert_eq!(pure_ack(&udp), None);
        }
    }
}
