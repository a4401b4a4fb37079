//! The headers that a simulated packet would have on the wire: IPv4 with TCP or UDP.
//!
//! The simulator counts in segments. Here segment `n` of `payload` bytes gets the sequence number `1 + n *
//! payload`, modulo 2^32. Payloads are all zeros, and checksums fit to that. Only headers are stored. The
//! length of the headers follows from their options. It may differ from the header size of the scenario.

use ackclock_tcp::{Ack, Config, Data, Flags};
use ackclock_units::Time;
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
    WindowScale,
};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};

/// The longest headers: IPv4 without options, TCP with 40 bytes of options.
pub const MAX_HEADERS: u32 = 80;
/// The largest payload that fits into a packet with such headers.
pub const MAX_PAYLOAD: u32 = 65_535 - MAX_HEADERS;
/// RFC 7323 section 2.3.
const MAX_SCALE: u8 = 14;
const TTL: u8 = 64;
/// The ports of a flow's first connection, and of its receiver. Each further connection has the next port.
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 50_000;

static ZEROS: [u8; 65_535] = [0; 65_535];

/// The headers of a packet, and its whole length.
pub struct Frame {
    /// All headers, bytes.
    pub headers: Vec<u8>,
    /// The length of the whole packet, bytes.
    pub length: u32,
}

/// An address in 10.0.0.0/8. Senders of flows, receivers of flows, sources and sinks of datagrams have a
/// quarter each.
fn address(quarter: u32, number: u32) -> [u8; 4] {
    (0x0A00_0000 | quarter << 22 | (number + 1) & 0x003F_FFFF).to_be_bytes()
}

/// A connection of a flow.
#[derive(Clone, Copy)]
pub struct Connection<'a> {
    /// The number of the flow.
    pub flow: u32,
    /// The number of the connection among those of the flow.
    pub epoch: u8,
    /// The endpoints' settings.
    pub config: &'a Config,
}

/// The fields that differ between segments.
#[derive(Default)]
struct Fields {
    from_receiver: bool,
    seq: u32,
    ack: Option<u32>,
    window: u16,
    syn: bool,
    ece: bool,
    cwr: bool,
    ecn: IpEcn,
    payload: u16,
}

/// RFC 7323 asks for a clock of 1 ms to 1 s. It begins at 1, because an echo of 0 would look like no echo.
fn clock(at: Time) -> u32 {
    ((at.as_nanos() / 1_000_000) as u32).wrapping_add(1)
}

impl Connection<'_> {
    /// The sequence number of the first byte of a segment.
    fn byte(&self, segment: u64) -> u32 {
        // The cast truncates: sequence numbers are modulo 2^32.
        (segment.wrapping_mul(u64::from(self.config.payload)) as u32).wrapping_add(1)
    }

    fn receive_window(&self, segments: u32) -> u64 {
        u64::from(segments) * u64::from(self.config.payload)
    }

    /// The smallest shift that brings the receiver's window into 16 bits.
    fn scale(&self) -> u8 {
        let window = self.receive_window(self.config.peer_window);
        (0..MAX_SCALE).find(|&scale| window >> scale <= 65_535).unwrap_or(MAX_SCALE)
    }

    fn scaled(&self, segments: u32) -> u16 {
        (self.receive_window(segments) >> self.scale()).min(65_535) as u16
    }

    fn timestamps(&self, own: Time, echo: Option<Time>) -> Vec<TcpOptionElement> {
        if !self.config.timestamps {
            return Vec::new();
        }
        vec![Noop, Noop, Timestamp(clock(own), echo.map_or(0, clock))]
    }

    /// The options of SYN and SYN-ACK.
    fn opening(&self, at: Time, echo: Option<Time>) -> Vec<TcpOptionElement> {
        // RFC 6691: the announced MSS leaves room for the options of every segment.
        let options = if self.config.timestamps { 12 } else { 0 };
        let mut opening = vec![MaximumSegmentSize(self.config.payload.saturating_add(options))];
        if self.config.recovery.scheme().selective {
            opening.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
        }
        opening.extend(self.timestamps(at, echo));
        opening.extend([Noop, WindowScale(self.scale())]);
        opening
    }

    /// SYN, SYN-ACK and ACK, as they would have come before the first data. Their timestamps must not be
    /// later than that of the first data. Otherwise that would look old (RFC 7323 section 5).
    pub fn handshake(&self, at: Time) -> [Frame; 3] {
        // The window of a SYN is not scaled.
        let window = self.receive_window(self.config.peer_window).min(65_535) as u16;
        let ecn = self.config.ecn; // RFC 3168 section 6.1.1
        let opening = Fields { window, syn: true, ..Fields::default() };
        let syn = Fields { ece: ecn, cwr: ecn, ..opening };
        let syn_ack =
            Fields { from_receiver: true, ack: Some(1), ece: ecn, syn: true, window, ..Fields::default() };
        let ack = Fields {
            seq: 1,
            ack: Some(1),
            window: self.scaled(self.config.peer_window),
            ..Fields::default()
        };
        [
            self.frame(&syn, &self.opening(at, None)),
            self.frame(&syn_ack, &self.opening(at, Some(at))),
            self.frame(&ack, &self.timestamps(at, Some(at))),
        ]
    }

    /// A segment with data.
    pub fn data(&self, data: &Data) -> Frame {
        let fields = Fields {
            seq: self.byte(data.seq),
            ack: Some(1),
            window: self.scaled(self.config.peer_window),
            cwr: data.flags.has(Flags::CWR),
            ecn: match (data.flags.has(Flags::CE), data.flags.has(Flags::ECT)) {
                (true, _) => IpEcn::CongestionExperienced,
                (false, true) if data.flags.has(Flags::ECT1) => IpEcn::Ect1,
                (false, true) => IpEcn::Ect0,
                (false, false) => IpEcn::NotEct,
            },
            payload: self.config.payload,
            ..Fields::default()
        };
        self.frame(&fields, &self.timestamps(data.sent_at, Some(data.sent_at)))
    }

    /// An acknowledgement that passes the tap at `at`.
    pub fn acknowledgement(&self, at: Time, ack: &Ack) -> Frame {
        let mut options = self.timestamps(at, Some(ack.echo));
        let mut blocks = ack.runs().map(|(start, end)| (self.byte(start), self.byte(end)));
        if let Some(first) = blocks.next() {
            options.extend([
                Noop,
                Noop,
                SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]),
            ]);
        }
        let fields = Fields {
            from_receiver: true,
            seq: 1,
            ack: Some(self.byte(ack.ack)),
            window: self.scaled(ack.window),
            ece: ack.flags.has(Flags::ECE),
            ..Fields::default()
        };
        self.frame(&fields, &options)
    }

    fn frame(&self, fields: &Fields, options: &[TcpOptionElement]) -> Frame {
        let mut source = (address(0, self.flow), SENDER_PORT + u16::from(self.epoch));
        let mut destination = (address(2, self.flow), RECEIVER_PORT);
        if fields.from_receiver {
            std::mem::swap(&mut source, &mut destination);
        }
        let mut tcp = TcpHeader::new(source.1, destination.1, fields.seq, fields.window);
        tcp.acknowledgment_number = fields.ack.unwrap_or(0);
        (tcp.ack, tcp.syn, tcp.ece, tcp.cwr) = (fields.ack.is_some(), fields.syn, fields.ece, fields.cwr);
        // Three SACK blocks and timestamps fill the 40 bytes exactly. There are never more.
        let fit = tcp.set_options(options);
        debug_assert!(fit.is_ok(), "{fit:?}");
        let payload = fields.payload.min(MAX_PAYLOAD as u16);
        let zeros = &ZEROS[..usize::from(payload)];
        let mut ip = ip(tcp.header_len_u16() + payload, IpNumber::TCP, source.0, destination.0);
        ip.ecn = fields.ecn;
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, zeros).unwrap_or(0);
        Frame::new(ip, &tcp.to_bytes())
    }
}

/// A datagram of an unresponsive stream.
pub fn datagram(stream: u32, data: &Data) -> Frame {
    udp((address(1, stream), SENDER_PORT), (address(3, stream), RECEIVER_PORT), data.bytes)
}

/// A packet of `bytes` from the sender of a rate-based flow. Only its size is known: its transport has no
/// form on the wire.
pub fn rate_data(flow: u32, bytes: u16) -> Frame {
    udp((address(0, flow), SENDER_PORT), (address(2, flow), RECEIVER_PORT), bytes)
}

/// An acknowledgement of `bytes` from the receiver of a rate-based flow.
pub fn rate_report(flow: u32, bytes: u16) -> Frame {
    udp((address(2, flow), RECEIVER_PORT), (address(0, flow), SENDER_PORT), bytes)
}

fn udp(
    (source, source_port): ([u8; 4], u16),
    (destination, destination_port): ([u8; 4], u16),
    bytes: u16,
) -> Frame {
    let headers = (Ipv4Header::MIN_LEN + UdpHeader::LEN) as u16;
    let payload = bytes.saturating_sub(headers);
    let zeros = &ZEROS[..usize::from(payload)];
    let ip = ip(UdpHeader::LEN as u16 + payload, IpNumber::UDP, source, destination);
    let mut udp =
        UdpHeader { source_port, destination_port, length: UdpHeader::LEN as u16 + payload, checksum: 0 };
    udp.checksum = udp.calc_checksum_ipv4(&ip, zeros).unwrap_or(0);
    Frame::new(ip, &udp.to_bytes())
}

fn ip(carried: u16, protocol: IpNumber, source: [u8; 4], destination: [u8; 4]) -> Ipv4Header {
    Ipv4Header {
        total_len: Ipv4Header::MIN_LEN_U16 + carried,
        time_to_live: TTL,
        protocol,
        source,
        destination,
        dont_fragment: true,
        ..Ipv4Header::default()
    }
}

impl Frame {
    fn new(mut ip: Ipv4Header, transport: &[u8]) -> Frame {
        ip.header_checksum = ip.calc_header_checksum();
        let mut headers = ip.to_bytes().to_vec();
        headers.extend_from_slice(transport);
        Frame { headers, length: u32::from(ip.total_len) }
    }

    /// Sets the IP identification. Tools take two packets with the same number for one packet that was
    /// captured twice.
    pub fn numbered(mut self, number: u16) -> Frame {
        self.headers[4..6].copy_from_slice(&number.to_be_bytes());
        let sum = Ipv4Header::from_slice(&self.headers).map(|(ip, _)| ip.calc_header_checksum());
        self.headers[10..12].copy_from_slice(&sum.unwrap_or(0).to_be_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_tcp::{SackBlock, recovery};
    use etherparse::Ipv4HeaderSlice;

    fn config() -> Config {
        Config { payload: 1000, header: 40, peer_window: 64, ..Config::default() }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_bytes_of_a_segment() {
        let config = config();
        let connection = Connection { flow: 0, epoch: 0, config: &config };
        let flags = Flags::ECT.with(Flags::CWR);
        let data = Data { seq: 3, sent_at: Time::from_nanos(5_000_000), flags, ..Data::default() };
        let frame = connection.data(&data).numbered(7);
        let ip = "4502041c0007400040062252 0a000001 0a800001".replace(' ', "");
        // Ports 40000 and 50000, sequence number 3001, ACK and CWR, two NOPs, timestamps 6 and 6.
        let tcp = "9c40c350 00000bb9 00000001 8090fa00 f87b0000 0101080a 00000006 00000006".replace(' ', "");
        assert_eq!(hex(&frame.headers[..20]), ip);
        assert_eq!(hex(&frame.headers[20..]), tcp);
        assert_eq!(frame.length, 1052);
    }

    #[test]
    fn sequence_numbers_wrap_and_blocks_go_with_them() {
        let config = config();
        let connection = Connection { flow: 300, epoch: 2, config: &config };
        let blocks = [(2, 3), (10, 1), (20, 5)].map(|(offset, length)| SackBlock { offset, length });
        let ack = Ack { ack: 4_294_967, window: 64, blocks, flags: Flags::ECE, ..Ack::default() };
        let frame = connection.acknowledgement(Time::from_nanos(0), &ack);
        assert_eq!(frame.headers.len() as u32, MAX_HEADERS, "three blocks and timestamps fill the options");
        let ip = Ipv4HeaderSlice::from_slice(&frame.headers).expect("an IPv4 header");
        assert_eq!(ip.source(), [10, 128, 1, 45]);
        let (tcp, _) = TcpHeader::from_slice(&frame.headers[20..]).expect("a TCP header");
        assert_eq!((tcp.source_port, tcp.destination_port, tcp.ece), (50_000, 40_002, true));
        assert_eq!(tcp.acknowledgment_number, 4_294_967_001);
        let sack = tcp.options_iterator().filter_map(Result::ok).find_map(|option| match option {
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => Some((first, rest)),
            _ => None,
        });
        let wrapped = 4_294_969_001_u64 as u32;
        assert_eq!(sack.map(|(first, _)| first), Some((wrapped, wrapped + 3000)));
        assert_eq!(sack.and_then(|(_, rest)| rest[1]), Some((wrapped + 18_000, wrapped + 23_000)));
    }

    #[test]
    fn windows_are_scaled_as_announced() {
        for (segments, scale) in [(64, 0), (65, 0), (66, 1), (1_000, 4), (1 << 30, 14)] {
            let reno = recovery::Settings::defaults(recovery::scheme("reno").expect("it is there"));
            let config = Config { peer_window: segments, recovery: reno, ..config() };
            let connection = Connection { flow: 0, epoch: 0, config: &config };
            let [syn, _, ack] = connection.handshake(Time::ZERO);
            let (syn, _) = TcpHeader::from_slice(&syn.headers[20..]).expect("a TCP header");
            let options: Vec<_> = syn.options_iterator().filter_map(Result::ok).collect();
            assert!(options.contains(&TcpOptionElement::WindowScale(scale)), "{segments}: {options:?}");
            assert!(!options.contains(&TcpOptionElement::SelectiveAcknowledgementPermitted));
            let (ack, _) = TcpHeader::from_slice(&ack.headers[20..]).expect("a TCP header");
            let window = (u64::from(segments) * 1000).min(65_535 << scale);
            assert_eq!(u64::from(ack.window_size), window >> scale, "{segments}");
        }
    }

    #[test]
    fn datagrams_have_the_length_that_they_had() {
        let frame = datagram(0, &Data { bytes: 1000, ..Data::default() });
        let (ip, rest) = Ipv4Header::from_slice(&frame.headers).expect("an IPv4 header");
        let (udp, _) = UdpHeader::from_slice(rest).expect("a UDP header");
        assert_eq!((frame.length, ip.total_len, udp.length), (1000, 1000, 980));
    }
}
