//! Captures: the packets on a link as a pcapng file, for existing tools.
//!
//! A capture shows what a tap at the transmitting end of a link would see: packets on the link when their
//! last bit leaves, and packets on the opposite link, if there is one, when they arrive. Dropped packets do
//! not appear. Only headers are stored. Connections begin with a handshake, which the simulation does not
//! have, so that tools know window scaling, selective acknowledgements and timestamps.

#[cfg(test)]
mod tests;

use crate::run::run_followed;
use crate::runner::{RunnerError, Watch};
use crate::store::digest;
use ackclock_files::Folder;
use ackclock_net::Fate;
use ackclock_scenario::capture_file::file_name;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Point, suggest};
use ackclock_sim::engine::{Observer, PacketRef, SenderView};
use ackclock_sim::observers::{Tap, tap};
use ackclock_units::{Duration, Time};
use ackclock_wire::MAX_PAYLOAD;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Why a link cannot be captured.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CaptureError {
    /// There is no such link.
    #[error("--capture: there is no link called \"{name}\"")]
    NoLink {
        /// The name that was given.
        name: String,
        /// The known names.
        #[help]
        help: String,
    },
    /// Two links would have the same file.
    #[error("--capture: \"{first}\" and \"{second}\" would both be written to {file}")]
    #[diagnostic(help("give one of the links another name in the scenario, or capture one at a time"))]
    SameFile {
        /// The first link.
        first: String,
        /// The second link.
        second: String,
        /// The file.
        file: String,
    },
    /// A segment does not fit into an IPv4 packet.
    #[error("--capture: segments of {payload} B do not fit into IPv4 packets with TCP options")]
    #[diagnostic(help("at most {} B of payload can be captured: segment.payload", MAX_PAYLOAD))]
    TooLarge {
        /// The payload of a segment, bytes.
        payload: u32,
    },
}

/// Captures of some links, for every point of a sweep. Each point has its own directory.
#[derive(Clone, Debug)]
pub struct Captures {
    links: Vec<String>,
    folder: Folder,
}

/// Checks that these links can be captured at every one of these points. Runs nothing and writes nothing.
///
/// # Errors
///
/// [`CaptureError`] if a link does not exist, two links would share a file, or a segment is too large.
pub fn check(links: &[String], points: &[Point]) -> Result<(), CaptureError> {
    for (number, first) in links.iter().enumerate() {
        for second in links[..number].iter().filter(|second| *second != first) {
            if file_name(first) == file_name(second) {
                let (first, second, file) = (first.clone(), second.clone(), file_name(first));
                return Err(CaptureError::SameFile { first, second, file });
            }
        }
    }
    for built in points.iter().filter_map(|point| point.scenario.build().ok()) {
        let known: Vec<&str> = built.links.iter().map(|link| link.name.as_str()).collect();
        if let Some(name) = links.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(CaptureError::NoLink { name: name.clone(), help: suggest(name, &known) });
        }
        let payload = built.groups.iter().map(|group| group.payload).max().unwrap_or(0);
        if payload > MAX_PAYLOAD {
            return Err(CaptureError::TooLarge { payload });
        }
    }
    Ok(())
}

impl Captures {
    /// Of these links, in this directory.
    pub fn new(links: &[String], folder: Folder) -> Captures {
        let mut unique: Vec<String> = Vec::new();
        for link in links {
            if !unique.contains(link) {
                unique.push(link.clone());
            }
        }
        Captures { links: unique, folder }
    }

    /// The directory in which the points' own are.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The name of a point's own directory.
    pub fn name(point: &Point) -> String {
        digest(point)
    }
}

/// What watches one point.
struct Taps {
    taps: Vec<Tap<BufWriter<File>>>,
    /// The directory where the files are until they are complete.
    partial: String,
    end: Time,
}

impl Watch for Captures {
    fn has(&self, point: &Point) -> bool {
        let folder = Captures::name(point);
        self.links.iter().all(|link| self.folder.is_file(Path::new(&folder).join(file_name(link))))
    }

    fn run(
        &self,
        point: &Point,
        probes: bool,
        go_on: &dyn Fn(f64) -> bool,
    ) -> Result<PointResult, RunnerError> {
        let mut taps = self.begin(point)?;
        let result = run_followed(point, probes, Some(&mut taps), go_on)?;
        self.finish(point, taps)?;
        Ok(result)
    }
}

impl Captures {
    fn begin(&self, point: &Point) -> io::Result<Taps> {
        // Two points may be the same one, and run at the same time.
        let (partial, folder) = self.folder.fresh(&format!("{}.partial-", Captures::name(point)))?;
        let built = point.scenario.build().map_err(io::Error::other)?;
        let taps = self.links.iter().map(|link| {
            let file = BufWriter::new(folder.create(file_name(link))?);
            tap(&built, link, file)
        });
        Ok(Taps { taps: taps.collect::<io::Result<_>>()?, end: built.plan.duration, partial })
    }

    fn finish(&self, point: &Point, taps: Taps) -> io::Result<()> {
        for tap in taps.taps {
            tap.finish(taps.end)?.flush()?;
        }
        let name = Captures::name(point);
        if !self.has(point) {
            self.folder.remove(&name)?; // an earlier run captured other links
        }
        match self.folder.rename(&taps.partial, &self.folder, &name) {
            Err(_) if self.has(point) => self.folder.remove(&taps.partial),
            renamed => renamed,
        }
    }
}

impl Observer for Taps {
    fn is_there(&self) -> bool {
        self.taps.iter().any(Observer::is_there)
    }

    fn minds(&self, link: usize, packet: PacketRef<'_>) -> bool {
        self.taps.iter().any(|tap| tap.minds(link, packet))
    }

    fn minds_sender(&self, flow: usize) -> bool {
        self.taps.iter().any(|tap| tap.minds_sender(flow))
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        for tap in &mut self.taps {
            tap.at_link(link, delay, packet, fate);
        }
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        for tap in &mut self.taps {
            tap.at_transmitter(now, link, delay, packet, fate);
        }
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        for tap in &mut self.taps {
            tap.at_sender(now, flow, sender);
        }
    }
}
