//! The TCP packets in a capture file.

use super::CaptureProblem;
use ackclock_units::Time;
use ackclock_wire::{Framing, Segment};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};
use std::io::{Cursor, ErrorKind, Read};

/// A segment, and the time of its capture.
#[derive(Clone, Copy)]
pub(super) struct Packet {
    pub(super) at: Time,
    pub(super) tcp: Segment,
}

/// Every TCP packet, in order of time. If the file ends in the middle of a packet: the number of those
/// before.
pub(super) fn packets(bytes: &[u8]) -> Result<(Vec<Packet>, Option<usize>), CaptureProblem> {
    const PCAPNG: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
    let mut packets = Vec::new();
    let cut = if bytes.starts_with(&PCAPNG) {
        read_pcapng(Cursor::new(bytes), &mut packets)?
    } else {
        read_pcap(Cursor::new(bytes), &mut packets)?
    };
    let first = packets.iter().map(|packet| packet.at).min().unwrap_or_default();
    for packet in &mut packets {
        packet.at = Time::ZERO + packet.at.since(first);
    }
    packets.sort_by_key(|packet| packet.at);
    Ok((packets, cut))
}

fn damaged(packet: usize, error: impl ToString) -> CaptureProblem {
    CaptureProblem::Damaged { packet, reason: error.to_string() }
}

/// True if the file ends before what was begun: whoever wrote it was stopped, or the disk was full.
fn is_cut(error: &PcapError) -> bool {
    matches!(error, PcapError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof)
}

/// Returns the number of packets if the last one is incomplete.
fn read_pcap(reader: impl Read, packets: &mut Vec<Packet>) -> Result<Option<usize>, CaptureProblem> {
    let mut reader = PcapReader::new(reader).map_err(|error| damaged(0, error))?;
    let header = reader.header();
    let to_nanoseconds = if header.ts_resolution == TsResolution::MicroSecond { 1000 } else { 1 };
    let mut number = 0;
    // The library's checked packets may not be longer than the snap length, which is what snapped packets
    // are.
    while let Some(packet) = reader.next_raw_packet() {
        let packet = match packet {
            Err(error) if is_cut(&error) && number > 0 => return Ok(Some(number)),
            other => other.map_err(|error| damaged(number, error))?,
        };
        if packet.incl_len > packet.orig_len {
            return Err(damaged(number, "more of it was captured than there was"));
        }
        let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * to_nanoseconds;
        packets.extend(tcp(Time::from_nanos(at), header.datalink, &packet.data)?);
        number += 1;
    }
    Ok(None)
}

/// Returns the number of packets if the last one is incomplete.
fn read_pcapng(reader: impl Read, packets: &mut Vec<Packet>) -> Result<Option<usize>, CaptureProblem> {
    let mut reader = PcapNgReader::new(reader).map_err(|error| damaged(0, error))?;
    let mut interfaces: Vec<(DataLink, u8)> = Vec::new();
    let mut number = 0;
    while let Some(block) = reader.next_block() {
        let block = match block {
            Err(error) if is_cut(&error) && number > 0 => return Ok(Some(number)),
            other => other.map_err(|error| damaged(number, error))?,
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
                packets.extend(tcp(at, link, &packet.data)?);
                number += 1;
            }
            _ => {}
        }
    }
    Ok(None)
}

/// A time stamp in units of ten, or with the highest bit two, to the minus `resolution`.
pub(super) fn nanoseconds(units: u128, resolution: u8) -> Time {
    let power = u32::from(resolution & 0x7f);
    let per_second =
        if resolution & 0x80 == 0 { 10u128.checked_pow(power) } else { 2u128.checked_pow(power) };
    let nanos = per_second.and_then(|per| units.checked_mul(1_000_000_000).map(|nanos| nanos / per));
    Time::from_nanos(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(0))
}

/// The TCP segment in a frame, if there is one.
fn tcp(at: Time, link: DataLink, frame: &[u8]) -> Result<Option<Packet>, CaptureProblem> {
    let framing = match link {
        DataLink::ETHERNET => Framing::Ethernet,
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Framing::Ip,
        DataLink::LINUX_SLL => Framing::Cooked,
        DataLink::LINUX_SLL2 => Framing::Cooked2,
        other => return Err(CaptureProblem::Link { link: format!("{other:?}") }),
    };
    Ok(Segment::read(framing, frame).map(|tcp| Packet { at, tcp }))
}
