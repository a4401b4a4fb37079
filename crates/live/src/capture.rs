//! Captures: the packets on a link as a pcapng file, with their real headers.
//!
//! As in simulated captures, a tap at the transmitting end of the link sees packets on the link when their
//! last bit leaves, and packets on the opposite link, if there is one, when they arrive. All times are those
//! of the links, not of the emulator.

use crate::error::LiveError;
use ackclock_files::Folder;
use ackclock_scenario::LinkInfo;
use ackclock_scenario::capture_file::file_name;
use ackclock_units::{Duration, Time};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// The bytes stored per packet: all headers.
const KEPT: usize = 128;
/// The resolution of timestamps: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// The direction of a packet at the interface (the flags word of an enhanced packet block).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// A packet is reported when it is offered to a link, before it leaves the link. After this time no packet
/// can come any more that belongs earlier in the file.
const PATIENCE: Duration = Duration::from_millis(500);

/// A packet that passes a captured link.
pub(crate) struct Captured {
    pub(crate) link: usize,
    pub(crate) leaves: Time,
    pub(crate) arrives: Time,
    pub(crate) packet: Vec<u8>,
}

/// A packet that passed and is not written yet: the time, the order, whether it is on the way back, the
/// packet, and its length on the wire.
type Unwritten = (Time, u64, bool, Vec<u8>, u32);

/// The capture of one link.
struct Tap {
    link: usize,
    back: Option<usize>,
    path: PathBuf,
    file: PcapNgWriter<BufWriter<File>>,
    ahead: BinaryHeap<Reverse<Unwritten>>,
    order: u64,
}

/// All captures of a run.
pub(crate) struct Captures {
    taps: Vec<Tap>,
}

impl Captures {
    /// Captures of links with these names into new files in `folder`.
    pub(crate) fn begin(
        names: &[String],
        links: &[LinkInfo],
        folder: &Folder,
    ) -> Result<Captures, LiveError> {
        let tap = |name: &String| -> Result<Tap, LiveError> {
            let link = links.iter().position(|link| link.name == *name).expect("names are checked before");
            let path = folder.path().join(file_name(name));
            let open = || {
                let mut file =
                    PcapNgWriter::new(BufWriter::new(folder.create(file_name(name))?)).map_err(plain)?;
                file.write_pcapng_block(interface(&links[link])).map_err(plain)?;
                Ok(file)
            };
            let file = open().map_err(refused(&path))?;
            Ok(Tap { link, back: links[link].opposite, path, file, ahead: BinaryHeap::new(), order: 0 })
        };
        Ok(Captures { taps: names.iter().map(tap).collect::<Result<_, _>>()? })
    }

    /// The links that are captured.
    pub(crate) fn links(&self) -> Vec<usize> {
        self.taps.iter().flat_map(|tap| [Some(tap.link), tap.back]).flatten().collect()
    }

    /// Writes packets until none can come any more.
    pub(crate) fn write(
        mut self,
        from: &Receiver<Captured>,
        now: impl Fn() -> Time,
    ) -> Result<(), LiveError> {
        loop {
            let received = from.recv_timeout(std::time::Duration::from_millis(100));
            match received {
                Ok(captured) => self.taps.iter_mut().for_each(|tap| tap.note(&captured)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let settled = now().as_nanos().saturating_sub(PATIENCE.as_nanos());
            self.release(Time::from_nanos(settled))?;
        }
        // A packet that has not left by the end of the run never will.
        self.release(now())?;
        let close = |tap: Tap| {
            let mut file = tap.file.into_inner();
            io::Write::flush(&mut file).map_err(refused(&tap.path))
        };
        self.taps.into_iter().try_for_each(close)
    }

    fn release(&mut self, until: Time) -> Result<(), LiveError> {
        self.taps.iter_mut().try_for_each(|tap| tap.release(until).map_err(refused(&tap.path)))
    }
}

impl Tap {
    fn note(&mut self, captured: &Captured) {
        let inbound = if captured.link == self.link {
            false
        } else if Some(captured.link) == self.back {
            true
        } else {
            return;
        };
        let at = if inbound { captured.arrives } else { captured.leaves };
        let packet = captured.packet[..captured.packet.len().min(KEPT)].to_vec();
        self.order += 1;
        self.ahead.push(Reverse((at, self.order, inbound, packet, captured.packet.len() as u32)));
    }

    fn release(&mut self, until: Time) -> io::Result<()> {
        while self.ahead.peek().is_some_and(|Reverse((at, ..))| *at <= until) {
            let Some(Reverse((at, _, inbound, packet, length))) = self.ahead.pop() else { break };
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: std::time::Duration::from_nanos(at.as_nanos()),
                original_len: length,
                data: Cow::Owned(packet),
                options: vec![EnhancedPacketOption::Flags(if inbound { INBOUND } else { OUTBOUND })],
            };
            self.file.write_pcapng_block(block).map_err(plain)?;
        }
        Ok(())
    }
}

fn interface(link: &LinkInfo) -> InterfaceDescriptionBlock<'static> {
    InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: KEPT as u32,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(link.name.clone())),
            InterfaceDescriptionOption::IfSpeed(link.rate.bps()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> LiveError {
    let file = path.display().to_string();
    move |reason| LiveError::Capture { file, reason }
}

fn plain(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
