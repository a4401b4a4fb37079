//! The messages of iperf3's protocol. No I/O but on streams that the caller brings.

use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};

/// The length of the cookie that each connection of a test begins with, bytes: 36 letters and a zero.
pub const COOKIE: usize = 37;
/// The longest document, bytes.
pub const MAX_DOCUMENT: usize = 64 << 10;
/// The length of the first datagram of a stream and of its answer, bytes.
pub const GREETING: usize = 4;
/// The first datagram of a stream: "9876".
pub const UDP_HELLO: [u8; GREETING] = *b"9876";
/// The answer to it: "6789".
pub const UDP_ANSWER: [u8; GREETING] = *b"6789";
/// The first datagram of iperf3 before 3.10, 123456789 as an x86 writes it, and the answer to it, 987654321.
pub const OLD_UDP: ([u8; GREETING], [u8; GREETING]) =
    (123_456_789_u32.to_le_bytes(), 987_654_321_u32.to_le_bytes());

/// The states, as both ends tell them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i8)]
pub enum State {
    /// Streams are all there.
    TestStart = 1,
    /// Data flows.
    TestRunning = 2,
    /// The client has ended the test.
    TestEnd = 4,
    /// The server wants the parameters.
    ParamExchange = 9,
    /// The server waits for streams.
    CreateStreams = 10,
    /// The server has given up.
    ServerTerminate = 11,
    /// The client has given up.
    ClientTerminate = 12,
    /// Both tell their results, the client first.
    ExchangeResults = 13,
    /// The server has nothing more to say.
    DisplayResults = 14,
    /// The client has nothing more to say.
    Done = 16,
    /// The server serves somebody else.
    AccessDenied = -1,
    /// The server cannot; two numbers follow that say why.
    ServerError = -2,
}

impl State {
    const ALL: [State; 12] = [
        State::TestStart,
        State::TestRunning,
        State::TestEnd,
        State::ParamExchange,
        State::CreateStreams,
        State::ServerTerminate,
        State::ClientTerminate,
        State::ExchangeResults,
        State::DisplayResults,
        State::Done,
        State::AccessDenied,
        State::ServerError,
    ];

    /// The state of this byte.
    pub fn of(byte: u8) -> Option<State> {
        State::ALL.into_iter().find(|state| *state as i8 as u8 == byte)
    }
}

/// Errors of iperf3 that a server names to its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ServerError {
    /// The kernel has no such congestion controller.
    SetCongestion = 134,
    /// The test is not allowed.
    NotAllowed = 142,
}

/// What the client asks for. Fields of later versions are ignored.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Over TCP.
    #[serde(skip_serializing_if = "is_false")]
    pub tcp: bool,
    /// Over UDP.
    #[serde(skip_serializing_if = "is_false")]
    pub udp: bool,
    /// Over SCTP.
    #[serde(skip_serializing_if = "is_false")]
    pub sctp: bool,
    /// Seconds at the beginning that do not count.
    pub omit: f64,
    /// Seconds; 0: until `num` or `blockcount`.
    pub time: f64,
    /// Bytes; 0: not limited.
    pub num: u64,
    /// Blocks; 0: not limited.
    pub blockcount: u64,
    /// Streams in each direction.
    pub parallel: u32,
    /// The server sends.
    #[serde(skip_serializing_if = "is_false")]
    pub reverse: bool,
    /// Both send.
    #[serde(skip_serializing_if = "is_false")]
    pub bidirectional: bool,
    /// Both socket buffers, bytes; 0: the kernel's.
    #[serde(skip_serializing_if = "is_zero")]
    pub window: u64,
    /// Bytes of a block or a datagram.
    pub len: u64,
    /// Bit/s of each stream; 0: not limited.
    #[serde(skip_serializing_if = "is_zero")]
    pub bandwidth: u64,
    /// The congestion controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Not 0: the numbers of datagrams have 64 bits.
    #[serde(skip_serializing_if = "is_zero")]
    pub udp_counters_64bit: u64,
    /// The client's version.
    pub client_version: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The longest time that does not count, s: iperf3's own limit.
const MAX_OMIT: f64 = 600.0;
/// The longest block, bytes.
const MAX_BLOCK: u64 = 1 << 20;

impl Parameters {
    /// Why a test with these parameters cannot be, if it cannot.
    pub fn fault(&self) -> Option<&'static str> {
        if self.sctp || self.tcp == self.udp {
            Some("either TCP or UDP is wanted")
        } else if !(1..=super::MAX_STREAMS).contains(&self.parallel) {
            Some("1 to 128 streams are wanted")
        } else if self.len == 0 || self.len > MAX_BLOCK {
            Some("a block of this length")
        } else if self.udp && !(16..=65_507).contains(&self.len) {
            Some("a datagram of this length")
        } else if !(0.0..=MAX_OMIT).contains(&self.omit) {
            Some("at most 600 s that do not count are wanted")
        } else if !(0.0..=86_400.0).contains(&self.time) {
            Some("a time of 0 to 86,400 s is wanted")
        } else {
            None
        }
    }

    /// How long data flows, s, if that is limited: the time that does not count, and the time that does.
    pub fn span(&self) -> Option<f64> {
        (self.time > 0.0).then_some(self.omit + self.time)
    }

    /// The bytes after which those who send have sent all, over all streams of a direction.
    pub fn limit(&self) -> Option<u64> {
        match (self.num, self.blockcount) {
            (0, 0) => None,
            (0, blocks) => Some(blocks.saturating_mul(self.len)),
            (bytes, _) => Some(bytes),
        }
    }
}

/// What one end has measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    /// Share of a processor, %.
    pub cpu_util_total: f64,
    /// Of it, in programs.
    pub cpu_util_user: f64,
    /// Of it, in the kernel.
    pub cpu_util_system: f64,
    /// 1 if the sender counts retransmissions, 0 if not, -1 for who does not send.
    #[serde(deserialize_with = "signed")]
    pub sender_has_retransmits: i64,
    /// The controller that was in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// The streams.
    pub streams: Vec<StreamResult>,
}

/// What one end has measured of a stream.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamResult {
    /// Its number: 1, 3, 4, 5, ...
    pub id: u32,
    /// Bytes sent or received.
    pub bytes: u64,
    /// Segments; -1 if they are not counted.
    #[serde(deserialize_with = "signed")]
    pub retransmits: i64,
    /// Seconds.
    pub jitter: f64,
    /// Datagrams that were lost.
    #[serde(deserialize_with = "signed")]
    pub errors: i64,
    /// Of them, those of the seconds that do not count.
    #[serde(deserialize_with = "signed")]
    pub omitted_errors: i64,
    /// Datagrams sent, or the number of the last one that came.
    #[serde(deserialize_with = "signed")]
    pub packets: i64,
    /// Of them, those of the seconds that do not count.
    #[serde(deserialize_with = "signed")]
    pub omitted_packets: i64,
    /// Seconds.
    pub start_time: f64,
    /// Seconds.
    pub end_time: f64,
}

/// A number below zero, which iperf3 writes as one of 64 bits without a sign: -1 is 18446744073709551615.
fn signed<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let number = serde_json::Number::deserialize(from)?;
    let whole = number.as_i64().or_else(|| number.as_u64().map(|bits| bits as i64));
    // Or as a floating-point number, where its JSON library chose to.
    Ok(whole.or_else(|| number.as_f64().map(|float| float as i64)).unwrap_or(-1))
}

/// The number of the `index`th stream of a test.
pub fn stream_id(index: usize) -> u32 {
    if index == 0 { 1 } else { index as u32 + 2 }
}

/// Writes a document with its length before it.
///
/// # Errors
///
/// Those of the stream, or if the document is too long.
pub fn write_document(to: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(document)?;
    if text.len() > MAX_DOCUMENT {
        return Err(io::Error::new(ErrorKind::InvalidData, "the document is too long"));
    }
    let mut message = (text.len() as u32).to_be_bytes().to_vec();
    message.extend(text);
    to.write_all(&message)
}

/// Reads a document with its length before it.
///
/// # Errors
///
/// Those of the stream; `InvalidData` if it is too long, or is not what is wanted.
pub fn read_document<T: for<'a> Deserialize<'a>>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_DOCUMENT {
        return Err(io::Error::new(ErrorKind::InvalidData, "the document is too long"));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    serde_json::from_slice(&text).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// The header of a datagram: when it left, and its number from 1 on.
pub fn write_header(datagram: &mut [u8], us: u64, number: u64, wide: bool) {
    datagram[..4].copy_from_slice(&((us / 1_000_000) as u32).to_be_bytes());
    datagram[4..8].copy_from_slice(&((us % 1_000_000) as u32).to_be_bytes());
    if wide {
        datagram[8..16].copy_from_slice(&number.to_be_bytes());
    } else {
        datagram[8..12].copy_from_slice(&(number as u32).to_be_bytes());
    }
}

/// When a datagram left, in us, and its number. `None`: it is too short.
pub fn read_header(datagram: &[u8], wide: bool) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?)));
    let us = word(0)?.saturating_mul(1_000_000).saturating_add(word(4)?);
    let number = if wide { word(8)? << 32 | word(12)? } else { word(8)? };
    Some((us, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_their_lengths_before_them() {
        let asked = Parameters { tcp: true, parallel: 2, len: 1000, num: 5, ..Parameters::default() };
        let mut bytes = Vec::new();
        write_document(&mut bytes, &asked).expect("written");
        assert_eq!(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize, bytes.len() - 4);
        assert_eq!(read_document::<Parameters>(&mut &bytes[..]).expect("read"), asked);
        assert!(read_document::<Parameters>(&mut &bytes[..bytes.len() - 1]).is_err());
        let long = [0xff, 0xff, 0xff, 0xff];
        assert_eq!(
            read_document::<Parameters>(&mut &long[..]).expect_err("too long").kind(),
            ErrorKind::InvalidData
        );
    }

    #[test]
    fn numbers_below_zero_may_have_lost_their_sign() {
        let text = r#"{"id":1,"retransmits":18446744073709551615,"errors":-3,"packets":2.0,"bytes":7}"#;
        let result: StreamResult = serde_json::from_str(text).expect("a result");
        assert_eq!((result.retransmits, result.errors, result.packets, result.bytes), (-1, -3, 2, 7));
    }

    #[test]
    fn datagrams_have_narrow_or_wide_numbers() {
        for (wide, number) in [(false, 7), (true, 7 << 33)] {
            let mut datagram = [0; 16];
            write_header(&mut datagram, 3_000_004, number, wide);
            assert_eq!(read_header(&datagram, wide), Some((3_000_004, number)));
        }
        assert_eq!(read_header(&[0; 11], false), None);
    }

    #[test]
    fn states_are_bytes_and_streams_have_odd_numbers() {
        assert!(State::ALL.iter().all(|&state| State::of(state as i8 as u8) == Some(state)));
        assert_eq!((State::of(255), State::of(77)), (Some(State::AccessDenied), None));
        assert_eq!([0, 1, 2].map(stream_id), [1, 3, 4]);
    }
}
