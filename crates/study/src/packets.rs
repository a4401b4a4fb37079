//! The packets in a capture file, one after the other.

use ackclock_units::Time;
use ackclock_wire::{Framing, Segment};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};
use std::io::{BufRead, ErrorKind};

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ReadProblem {
    /// The file is not a capture, or is damaged.
    #[error("packet {packet}: {reason}")]
    #[diagnostic(help("write it again, for example with tcpdump -w capture.pcap"))]
    Damaged {
        /// The number of packets before the problem.
        packet: u64,
        /// The problem.
        reason: String,
    },
    /// The link type is not supported.
    #[error("its packets are those of a link of type {link}")]
    #[diagnostic(help("Ethernet, raw IP and Linux's cooked captures can be read"))]
    Link {
        /// The link type.
        link: String,
    },
}

/// A packet, and the time of its capture since 1970.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) at: Time,
    /// The segment, if it is one of TCP.
    pub(crate) tcp: Option<Segment>,
}

/// How far a capture was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) packets: u64,
    /// It ends in the middle of the next packet.
    pub(crate) cut: bool,
}

/// Reads every packet, pcap or pcapng, in the order of the file.
pub(crate) fn each(mut capture: impl BufRead, on: &mut dyn FnMut(Packet)) -> Result<Read, ReadProblem> {
    const PCAPNG: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
    let begin = capture.fill_buf().map_err(|error| damaged(0, error))?;
    if begin.starts_with(&PCAPNG) { read_pcapng(capture, on) } else { read_pcap(capture, on) }
}

fn damaged(packet: u64, error: impl ToString) -> ReadProblem {
    ReadProblem::Damaged { packet, reason: error.to_string() }
}

/// A packet that cannot be read.
fn broken(packet: u64, error: PcapError) -> ReadProblem {
    if is_cut(&error) { damaged(packet, "it ends in its first packet") } else { damaged(packet, error) }
}

/// True if the file ends before what was begun: whoever wrote it was stopped, or the disk was full.
fn is_cut(error: &PcapError) -> bool {
    matches!(error, PcapError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof)
}

fn read_pcap(reader: impl BufRead, on: &mut dyn FnMut(Packet)) -> Result<Read, ReadProblem> {
    let mut reader = PcapReader::new(reader).map_err(|error| damaged(0, error))?;
    let header = reader.header();
    let to_nanoseconds = if header.ts_resolution == TsResolution::MicroSecond { 1000 } else { 1 };
    let mut number = 0;
    // The library's checked packets may not be longer than the snap length, which is what snapped packets
    // are.
    while let Some(packet) = reader.next_raw_packet() {
        let packet = match packet {
            Err(error) if is_cut(&error) && number > 0 => return Ok(Read { packets: number, cut: true }),
            other => other.map_err(|error| broken(number, error))?,
        };
        if packet.incl_len > packet.orig_len {
            return Err(damaged(number, "more of it was captured than there was"));
        }
        let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * to_nanoseconds;
        on(Packet { at: Time::from_nanos(at), tcp: tcp(header.datalink, &packet.data)? });
        number += 1;
    }
    Ok(Read { packets: number, cut: false })
}

fn read_pcapng(reader: impl BufRead, on: &mut dyn FnMut(Packet)) -> Result<Read, ReadProblem> {
    let mut reader = PcapNgReader::new(reader).map_err(|error| damaged(0, error))?;
    let mut interfaces: Vec<(DataLink, u8)> = Vec::new();
    let mut number = 0;
    while let Some(block) = reader.next_block() {
        let block = match block {
            Err(error) if is_cut(&error) && number > 0 => return Ok(Read { packets: number, cut: true }),
            other => other.map_err(|error| broken(number, error))?,
        };
        match block {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                let resolution = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                    _ => None,
                });
                const MICROSECONDS: u8 = 6; // where nothing is said
                interfaces.push((interface.linktype, resolution.unwrap_or(MICROSECONDS)));
            }
            Block::EnhancedPacket(packet) => {
                let known = interfaces.get(packet.interface_id as usize);
                let &(link, resolution) = known.ok_or_else(|| damaged(number, "its interface is unknown"))?;
                // The library takes every unit for a nanosecond.
                let at = nanoseconds(packet.timestamp.as_nanos(), resolution);
                on(Packet { at, tcp: tcp(link, &packet.data)? });
                number += 1;
            }
            _ => {}
        }
    }
    Ok(Read { packets: number, cut: false })
}

/// A time stamp in units of ten, or with the highest bit two, to the minus `resolution`.
pub(crate) fn nanoseconds(units: u128, resolution: u8) -> Time {
    let power = u32::from(resolution & 0x7f);
    let per_second =
        if resolution & 0x80 == 0 { 10u128.checked_pow(power) } else { 2u128.checked_pow(power) };
    let nanos = per_second.and_then(|per| units.checked_mul(1_000_000_000).map(|nanos| nanos / per));
    Time::from_nanos(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(0))
}

/// The TCP segment in a frame, if there is one.
fn tcp(link: DataLink, frame: &[u8]) -> Result<Option<Segment>, ReadProblem> {
    let framing = match link {
        DataLink::ETHERNET => Framing::Ethernet,
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Framing::Ip,
        DataLink::LINUX_SLL => Framing::Cooked,
        DataLink::LINUX_SLL2 => Framing::Cooked2,
        other => return Err(ReadProblem::Link { link: format!("{other:?}") }),
    };
    Ok(Segment::read(framing, frame))
}
