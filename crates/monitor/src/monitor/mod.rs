//! A monitor that runs: a thread for each probe, and one writer.
//!
//! A probe that fails is told, and tried again. What was measured waits for the archive if that has no room.

mod clock;
mod probing;
mod writer;

use crate::archive::{Archive, ArchiveError, Known, Row};
use crate::plan::{Host, Period, Plan};
use crate::probes::sink::Listening;
use crate::sample::{Moment, Route};
use crate::web::Publishing;
use ackclock_units::Duration;
use probing::Shared;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use writer::Writer;

/// What a monitor tells its user.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// A probe fails, after it has worked or at its first time.
    Fails {
        /// The host.
        host: String,
        /// The probe.
        probe: &'static str,
        /// Why.
        reason: String,
    },
    /// A probe works again.
    Works {
        /// The host.
        host: String,
        /// The probe.
        probe: &'static str,
    },
    /// The archive takes nothing for now; samples wait.
    Waiting(String),
    /// The archive takes samples again.
    Written,
    /// The archive took nothing for so long that this many samples were dropped.
    Dropped(usize),
    /// The system's clock was set by so many us.
    Step(i64),
}

/// Why a monitor does not run.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The sink cannot listen.
    #[error("nothing can listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
}

/// A monitor that is ready to run.
#[derive(Debug)]
pub struct Monitor {
    hosts: Vec<(i64, Host)>,
    archive: Archive,
    sink: Option<Listening>,
    sockets: Option<Period>,
    publishing: Option<Publishing>,
}

/// A thread that measures the path to one host.
type Probe = fn(&Shared, i64, &Host);

/// What the threads tell the one that writes.
enum Event {
    Rows(Vec<Row>),
    /// The routers on the way to this host, at this instant.
    Route(i64, Moment, Route),
    News(News),
}

impl Monitor {
    /// Opens the archive, and lets the sink listen.
    ///
    /// # Errors
    ///
    /// [`MonitorError`] if either is not possible.
    pub fn new(plan: &Plan) -> Result<Monitor, MonitorError> {
        let archive = Archive::create(&plan.archive)?;
        let known = |host: &Host| Known {
            id: 0,
            name: host.name.clone(),
            address: host.address.to_string(),
            uncontrolled: plan.may_be_uncontrolled(host.address),
            ping: host.ping.every,
            transfer: host.transfer.as_ref().map_or(Duration::ZERO, |it| it.period.every),
        };
        let hosts: Result<Vec<_>, ArchiveError> =
            plan.hosts.iter().map(|host| Ok((archive.describe(&known(host))?, host.clone()))).collect();
        let unusable = |address| move |error| MonitorError::Listen { address, error };
        let sink = match &plan.sink {
            Some(sink) => Some(Listening::begin(sink).map_err(unusable(sink.listen))?),
            None => None,
        };
        let publishing = match &plan.publish {
            Some(publish) => {
                Some(Publishing::begin(publish, &plan.archive).map_err(unusable(publish.listen))?)
            }
            None => None,
        };
        Ok(Monitor { hosts: hosts?, archive, sink, sockets: plan.sockets, publishing })
    }

    /// Measures until `stop` is set. `tell` is told what a user should know.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the archive is damaged or has been replaced. Without room it goes on.
    pub fn run(self, stop: &'static AtomicBool, mut tell: impl FnMut(News)) -> Result<(), ArchiveError> {
        let (events, heard) = channel();
        let (loading, transfers) = (Mutex::new(()), AtomicU64::new(0));
        let shared = Arc::new(Shared { events, stop, loading, transfers });
        for (id, host) in &self.hosts {
            let probes: [(bool, Probe); 4] = [
                (true, Shared::ping),
                (host.transfer.is_some(), Shared::transfer),
                (host.search.is_some(), Shared::search),
                (host.route.is_some(), Shared::route),
            ];
            for (wanted, probe) in probes {
                if wanted {
                    let (shared, id, host) = (shared.clone(), *id, host.clone());
                    thread::spawn(move || probe(&shared, id, &host));
                }
            }
        }
        if let Some(period) = self.sockets.filter(|_| !self.hosts.is_empty()) {
            let (shared, hosts) = (shared.clone(), self.hosts);
            thread::spawn(move || shared.sessions(&hosts, period));
        }
        // The monitor ends when nobody shares this any more.
        if let Some(sink) = self.sink {
            let shared = shared.clone();
            thread::spawn(move || {
                sink.serve(stop);
                drop(shared);
            });
        }
        if let Some(publishing) = self.publishing {
            let shared = shared.clone();
            thread::spawn(move || {
                publishing.run(stop);
                drop(shared);
            });
        }
        drop(shared);
        Writer::new(self.archive).write(&heard, &mut tell)
    }
}
