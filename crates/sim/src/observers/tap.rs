//! A tap at the transmitting end of a link. It writes one file, in order of time.

use crate::engine::{Observer, PacketRef, SenderView};
use ackclock_net::Fate;
use ackclock_scenario::Built;
use ackclock_tcp::{Ack, Config, Data};
use ackclock_units::{Duration, Rate, Time};
use ackclock_wire::{Connection, Frame, MAX_HEADERS, datagram, rate_data, rate_report};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::sync::Arc;

/// The resolution of timestamps: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// The direction of a packet at the interface (the flags word of an enhanced packet block).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// The comment on a handshake in the file.
const HANDSHAKE: &str = "the simulation has no handshake; this one shows what it would agree on";

/// One direction of the tapped interface.
#[derive(Clone, Debug)]
struct Direction {
    link: usize,
    name: String,
    rate: Rate,
}

/// A tap at the transmitting end of a link: packets on the link when they leave its transmitter, and, if
/// there is a link in the opposite direction, packets on that link when they arrive.
pub struct Tap<W: Write> {
    out: Direction,
    back: Option<Direction>,
    /// The settings of all flows.
    flows: Arc<[Config]>,
    /// The last connection of each flow whose handshake is written.
    opened: Vec<Option<u8>>,
    /// Packets that will pass. The top of the heap is the earliest.
    ahead: BinaryHeap<Passing>,
    counter: u64,
    number: u16,
    file: PcapNgWriter<W>,
    failure: Option<io::Error>,
}

/// A packet that passes the tap at a known time.
struct Passing {
    at: Time,
    /// Decides between packets of the same instant.
    order: u64,
    inbound: bool,
    packet: Packet,
}

#[derive(Clone, Copy)]
enum Packet {
    Data(u32, Data),
    Ack(u32, Ack),
    Cbr(u32, Data),
    /// A packet of a rate-based flow, from its sender or from its receiver: its size.
    Datagram(u32, u16),
    Report(u32, u16),
}

impl PartialEq for Passing {
    fn eq(&self, other: &Passing) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Passing {}

impl PartialOrd for Passing {
    fn partial_cmp(&self, other: &Passing) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Passing {
    /// The earliest entry is the greatest, because the heap is a max-heap.
    fn cmp(&self, other: &Passing) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

fn plain(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// One interface, like a network card: it sends on one link and receives on the other.
fn interface(out: &Direction, back: Option<&Direction>) -> InterfaceDescriptionBlock<'static> {
    let received = back.map(|back| format!("; what it receives: link \"{}\", as it arrives", back.name));
    let described =
        format!("what this end sends: link \"{}\", as it leaves{}", out.name, received.unwrap_or_default());
    InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: MAX_HEADERS,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(out.name.clone())),
            InterfaceDescriptionOption::IfDescription(Cow::Owned(described)),
            InterfaceDescriptionOption::IfSpeed(out.rate.bps()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}

/// A tap at the link called `name`.
///
/// # Errors
///
/// If there is no such link, or `file` cannot be written.
pub fn tap<W: Write>(built: &Built, name: &str, file: W) -> io::Result<Tap<W>> {
    let direction =
        |link: usize| Direction { link, name: built.links[link].name.clone(), rate: built.links[link].rate };
    let link = built.links.iter().position(|link| link.name == name);
    let link = link.ok_or_else(|| io::Error::other(format!("there is no link called \"{name}\"")))?;
    let back = built.links[link].opposite.map(direction);
    let flows: Arc<[_]> = built.plan.flows.iter().map(|flow| (*flow.config).clone()).collect();
    Tap::new(direction(link), back, flows, file)
}

impl<W: Write> Tap<W> {
    /// A tap that writes to `file`.
    fn new(out: Direction, back: Option<Direction>, flows: Arc<[Config]>, file: W) -> io::Result<Tap<W>> {
        let program = concat!("ackclock ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(program))],
            ..SectionHeaderBlock::default()
        };
        let mut file = PcapNgWriter::with_section_header(file, section).map_err(plain)?;
        file.write_pcapng_block(interface(&out, back.as_ref())).map_err(plain)?;
        Ok(Tap {
            out,
            back,
            opened: vec![None; flows.len()],
            flows,
            ahead: BinaryHeap::new(),
            counter: 0,
            number: 0,
            file,
            failure: None,
        })
    }

    /// Writes what passes before `now`. Everything that is offered to a link from now on passes later.
    fn release(&mut self, now: Time) {
        while let Some(next) = self.ahead.peek()
            && next.at < now
        {
            let Some(next) = self.ahead.pop() else { break };
            if self.failure.is_none()
                && let Err(error) = self.record(&next)
            {
                self.failure = Some(error);
            }
        }
    }

    fn record(&mut self, passing: &Passing) -> io::Result<()> {
        let Passing { at, inbound, packet, .. } = passing;
        let flows = Arc::clone(&self.flows);
        let (flow, epoch, clock) = match packet {
            Packet::Cbr(stream, data) => {
                return self.write(*at, *inbound, datagram(*stream, data), None);
            }
            Packet::Datagram(flow, bytes) => {
                return self.write(*at, *inbound, rate_data(*flow, *bytes), None);
            }
            Packet::Report(flow, bytes) => {
                return self.write(*at, *inbound, rate_report(*flow, *bytes), None);
            }
            Packet::Data(flow, data) => (*flow, data.flags.epoch(), data.sent_at),
            Packet::Ack(flow, ack) => (*flow, ack.flags.epoch(), ack.echo),
        };
        let connection = Connection { flow, epoch, config: &flows[flow as usize] };
        if self.opens(flow, epoch) {
            // The sender of the data sends the SYN. The answer comes in the other direction, if the tap sees
            // that.
            let sender_inbound = *inbound == matches!(packet, Packet::Data(..));
            for (number, frame) in connection.handshake(clock).into_iter().enumerate() {
                let inbound = self.back.is_some() && sender_inbound != (number == 1);
                self.write(*at, inbound, frame, Some(HANDSHAKE))?;
            }
        }
        let frame = match packet {
            Packet::Ack(_, ack) => connection.acknowledgement(*at, ack),
            Packet::Data(_, data) => connection.data(data),
            Packet::Cbr(..) | Packet::Datagram(..) | Packet::Report(..) => return Ok(()), // written above
        };
        self.write(*at, *inbound, frame, None)
    }

    /// True if this is the first packet of a new connection.
    fn opens(&mut self, flow: u32, epoch: u8) -> bool {
        let opened = &mut self.opened[flow as usize];
        let newer = opened.is_none_or(|known| (1..128).contains(&epoch.wrapping_sub(known)));
        if newer {
            *opened = Some(epoch);
        }
        newer
    }

    fn write(&mut self, at: Time, inbound: bool, frame: Frame, comment: Option<&str>) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        let Frame { headers, length } = frame.numbered(self.number);
        let mut options = vec![EnhancedPacketOption::Flags(if inbound { INBOUND } else { OUTBOUND })];
        options.extend(comment.map(|comment| EnhancedPacketOption::Comment(Cow::Borrowed(comment))));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: std::time::Duration::from_nanos(at.as_nanos()),
            original_len: length,
            data: Cow::Owned(headers),
            options,
        };
        self.file.write_pcapng_block(block).map(drop).map_err(plain)
    }

    /// Writes what passes up to the end of the run. Returns the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(mut self, end: Time) -> io::Result<W> {
        self.release(end + Duration::from_nanos(1));
        match self.failure {
            Some(error) => Err(error),
            None => Ok(self.file.into_inner()),
        }
    }
}

impl<W: Write> Observer for Tap<W> {
    fn is_there(&self) -> bool {
        true
    }

    fn minds(&self, link: usize, _: PacketRef<'_>) -> bool {
        link == self.out.link || self.back.as_ref().is_some_and(|back| back.link == link)
    }

    fn minds_sender(&self, _: usize) -> bool {
        false
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        let (packet, sent_at) = match packet {
            PacketRef::Data(flow, data) => (Packet::Data(flow, *data), data.sent_at),
            PacketRef::Ack(flow, ack) => (Packet::Ack(flow, *ack), Time::ZERO),
            PacketRef::CbrPacket(stream, data) => (Packet::Cbr(stream, *data), data.sent_at),
            PacketRef::Datagram(flow, data) => (Packet::Datagram(flow, data.bytes), data.sent_at),
            PacketRef::Report(flow, ack) => (Packet::Report(flow, ack.bytes), Time::ZERO),
        };
        // The run has reached at least the time at which this packet was sent.
        self.release(sent_at);
        let inbound = link != self.out.link;
        if inbound && self.back.as_ref().is_none_or(|back| back.link != link) {
            return;
        }
        let (arrival, times) = match fate {
            Fate::Arrives(arrival) => (arrival, 1),
            // It leaves once and arrives twice.
            Fate::ArrivesTwice(arrival) => (arrival, 1 + u8::from(inbound)),
            Fate::LinkRetry(_) | Fate::Queued | Fate::Dropped(_) => return,
        };
        let at = if inbound {
            arrival
        } else {
            Time::from_nanos(arrival.as_nanos().saturating_sub(delay.as_nanos()))
        };
        for _ in 0..times {
            self.counter += 1;
            self.ahead.push(Passing { at, order: self.counter, inbound, packet });
        }
    }

    fn at_transmitter(&mut self, _: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.at_link(link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, _: usize, _: &SenderView) {
        self.release(now);
    }
}
