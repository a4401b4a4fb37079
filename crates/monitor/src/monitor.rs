//! A monitor that runs: a thread for each probe, and one writer.
//!
//! A probe that fails is told, and tried again. What was measured waits for the archive if that has no room.

use crate::archive::{Archive, ArchiveError, Known, Row};
use crate::plan::{Host, Period, Plan};
use crate::probes::counters::Counters;
use crate::probes::ping::Pinger;
use crate::probes::sink::Listening;
use crate::probes::transfer::{Shown, transfer};
use crate::sample::{Moment, Quantity, Sample};
use ackclock_units::Duration;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration as Span, Instant};

/// Samples are written at least so often. A killed monitor loses those since then.
const WRITE: Span = Span::from_millis(500);
/// How often sleeping threads look whether they should end.
const LOOK: Span = Span::from_millis(50);
/// How long a reply to an echo request is waited for.
const PATIENCE: Span = Span::from_secs(2);
/// The most samples that wait for an archive without room: two days of a hundred hosts, a hundred MB.
const MOST_WAITING: usize = 2_000_000;
/// How often old samples become means.
const THIN: Span = Span::from_secs(3600);
/// For how long it is thinned at once: samples wait meanwhile.
const THINNING: Span = Span::from_millis(100);
/// A clock that differs by more from the monotonic one has been set, us.
const STEP: i64 = 1_000_000;

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
}

enum Event {
    Rows(Vec<Row>),
    News(News),
}

/// What the probes of a monitor share.
struct Shared {
    events: Sender<Event>,
    stop: &'static AtomicBool,
    /// One transfer at a time.
    transferring: Mutex<()>,
    /// How many transfers have begun or ended. While it is odd, one runs.
    transfers: AtomicU64,
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
        let begin = |plan| {
            Listening::begin(plan).map_err(|error| MonitorError::Listen { address: plan.listen, error })
        };
        let sink = plan.sink.as_ref().map(begin).transpose()?;
        Ok(Monitor { hosts: hosts?, archive, sink })
    }

    /// Measures until `stop` is set. `tell` is told what a user should know.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the archive is damaged or has been replaced. Without room it goes on.
    pub fn run(self, stop: &'static AtomicBool, mut tell: impl FnMut(News)) -> Result<(), ArchiveError> {
        let (events, heard) = channel();
        let (transferring, transfers) = (Mutex::new(()), AtomicU64::new(0));
        let shared = Arc::new(Shared { events, stop, transferring, transfers });
        for (id, host) in self.hosts {
            let (pinging, its_host) = (shared.clone(), host.clone());
            thread::spawn(move || pinging.ping(id, &its_host));
            if host.transfer.is_some() {
                let shared = shared.clone();
                thread::spawn(move || shared.transfer(id, &host));
            }
        }
        if let Some(sink) = self.sink {
            let shared = shared.clone();
            thread::spawn(move || {
                sink.serve(stop);
                drop(shared);
            });
        }
        drop(shared);
        Writer::new(self.archive).write(&heard, &mut tell)
    }
}

impl Shared {
    /// Sends echo requests, and reads the host's counters as often.
    fn ping(&self, id: i64, host: &Host) {
        let mut clock = Clock::new(host.ping);
        let mut state = Trouble::new(host, "ping");
        let (mut pinger, mut counters) = (None, Counters::open().ok());
        while clock.wait(self.stop) {
            let transfers = self.transfers.load(Ordering::Acquire);
            let mut rows = Vec::new();
            let mut add = |quantity, value| {
                rows.push(Row { host: id, quantity, sample: Sample { at: Moment::now(), value } });
            };
            if let Some(Ok(Some(between))) = counters.as_mut().map(|it| it.read(transfers)) {
                add(Quantity::Sent, between.sent);
                add(Quantity::Retransmissions, between.retransmitted);
            }
            // During a transfer an echo request would measure our own queue.
            if transfers.is_multiple_of(2) {
                let opened = pinger.take().map_or_else(|| Pinger::open(host.address), Ok);
                let answer = opened.and_then(|mut it| {
                    let answer = it.ping(PATIENCE)?;
                    pinger = Some(it);
                    Ok(answer)
                });
                let undisturbed = self.transfers.load(Ordering::Acquire) == transfers;
                match &answer {
                    Ok(Some(rtt)) if undisturbed => {
                        add(Quantity::Rtt, rtt.as_secs_f64());
                        add(Quantity::Lost, 0.0);
                    }
                    Ok(None) if undisturbed => add(Quantity::Lost, 1.0),
                    Ok(_) | Err(_) => {}
                }
                self.tell(state.after(answer.err()));
            }
            let _ = self.events.send(Event::Rows(rows));
        }
    }

    fn transfer(&self, id: i64, host: &Host) {
        let Some(plan) = &host.transfer else { return };
        let mut clock = Clock::new(plan.period);
        let mut state = Trouble::new(host, "transfer");
        while clock.wait(self.stop) {
            let one_at_a_time = self.transferring.lock().unwrap_or_else(PoisonError::into_inner);
            self.transfers.fetch_add(1, Ordering::AcqRel);
            let shown = transfer(host.address, plan, self.stop);
            self.transfers.fetch_add(1, Ordering::AcqRel);
            drop(one_at_a_time);
            let at = Moment::now();
            if let Ok(shown) = &shown {
                let row = |(quantity, value)| Row { host: id, quantity, sample: Sample { at, value } };
                let _ = self.events.send(Event::Rows(values(shown).map(row).collect()));
            }
            if !self.stop.load(Ordering::Relaxed) {
                self.tell(state.after(shown.err()));
            }
        }
    }

    fn tell(&self, news: Option<News>) {
        if let Some(news) = news {
            let _ = self.events.send(Event::News(news));
        }
    }
}

/// The samples of a transfer. If it was too short for a capacity, it has none.
fn values(shown: &Shown) -> impl Iterator<Item = (Quantity, f64)> {
    let all = [
        (Quantity::Throughput, shown.throughput),
        (Quantity::Transferred, shown.bytes),
        (Quantity::ClosingWindow, shown.closing_window),
        (Quantity::Waiting, shown.waiting),
    ];
    let capacity = (shown.capacity > 0.0).then_some((Quantity::Capacity, shown.capacity));
    all.into_iter().chain(capacity)
}

/// When the next probe is due. The first one comes at a random time within its first period.
struct Clock {
    period: Period,
    next: Instant,
    random: RandomState,
    drawn: u64,
}

impl Clock {
    fn new(period: Period) -> Clock {
        let (random, next) = (RandomState::new(), Instant::now());
        let mut clock = Clock { period, next, random, drawn: 0 };
        let first = clock.period.every.as_secs_f64() * clock.draw();
        clock.next += Span::from_secs_f64(first);
        clock
    }

    /// A random number from 0 to 1. The standard library's hash with random keys is enough here.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        (self.random.hash_one(self.drawn) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Sleeps until the next probe is due. False if the monitor ends.
    fn wait(&mut self, stop: &AtomicBool) -> bool {
        while !stop.load(Ordering::Relaxed) {
            let left = self.next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let factor = 1.0 + self.period.jitter * (2.0 * self.draw() - 1.0);
                // What took longer than its period does not catch up.
                self.next = self.next.max(Instant::now() - LOOK)
                    + Span::from_secs_f64(self.period.every.as_secs_f64() * factor);
                return true;
            }
            thread::sleep(left.min(LOOK));
        }
        false
    }
}

/// Tells when a probe begins to fail, and when it works again.
struct Trouble {
    host: String,
    probe: &'static str,
    fails: bool,
}

impl Trouble {
    fn new(host: &Host, probe: &'static str) -> Trouble {
        Trouble { host: host.name.clone(), probe, fails: false }
    }

    fn after(&mut self, error: Option<io::Error>) -> Option<News> {
        let (host, probe) = (self.host.clone(), self.probe);
        let before = std::mem::replace(&mut self.fails, error.is_some());
        match error {
            Some(error) if !before => Some(News::Fails { host, probe, reason: error.to_string() }),
            None if before => Some(News::Works { host, probe }),
            Some(_) | None => None,
        }
    }
}

/// Writes what was measured.
struct Writer {
    archive: Archive,
    waiting: Vec<Row>,
    dropped: usize,
    stuck: bool,
    thinned: Option<Instant>,
    /// The system's clock minus the monotonic one when both were last compared.
    clocks: (Instant, Moment),
}

impl Writer {
    fn new(archive: Archive) -> Writer {
        let clocks = (Instant::now(), Moment::now());
        Writer { archive, waiting: Vec::new(), dropped: 0, stuck: false, thinned: None, clocks }
    }

    /// Writes until no probe is left.
    fn write(mut self, heard: &Receiver<Event>, tell: &mut impl FnMut(News)) -> Result<(), ArchiveError> {
        let mut last = Instant::now();
        loop {
            let heard = heard.recv_timeout(WRITE.saturating_sub(last.elapsed()));
            let ends = matches!(heard, Err(RecvTimeoutError::Disconnected));
            match heard {
                Ok(Event::Rows(rows)) => self.waiting.extend(rows),
                Ok(Event::News(news)) => tell(news),
                Err(_) => {}
            }
            if last.elapsed() >= WRITE || ends {
                last = Instant::now();
                self.compare_clocks(tell);
                self.commit(tell)?;
            }
            if ends {
                return Ok(());
            }
        }
    }

    /// Thins the archive once an hour, and for a short time at once: what is left waits for the next commit.
    fn thin(&mut self) -> Result<(), ArchiveError> {
        let begun = Instant::now();
        let mut more = self.thinned.is_none_or(|at| at.elapsed() >= THIN);
        while more && begun.elapsed() < THINNING {
            more = self.archive.thin(Moment::now())?;
            if !more {
                self.thinned = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// Writes what waits. Without room it stays.
    fn commit(&mut self, tell: &mut impl FnMut(News)) -> Result<(), ArchiveError> {
        let mut outcome = self.archive.write(&self.waiting);
        if outcome.is_ok() {
            self.waiting.clear();
            outcome = self.thin();
        }
        match outcome {
            Ok(()) if self.stuck => {
                self.stuck = false;
                tell(News::Written);
                if self.dropped > 0 {
                    tell(News::Dropped(std::mem::take(&mut self.dropped)));
                }
            }
            Ok(()) => {}
            Err(error @ (ArchiveError::Full { .. } | ArchiveError::Busy(_))) => {
                let most = self.waiting.len().saturating_sub(MOST_WAITING);
                self.waiting.drain(..most);
                self.dropped += most;
                if !std::mem::replace(&mut self.stuck, true) {
                    tell(News::Waiting(error.to_string()));
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Notes if the system's clock was set.
    fn compare_clocks(&mut self, tell: &mut impl FnMut(News)) {
        let (then, shown) = self.clocks;
        let now = (Instant::now(), Moment::now());
        let passed = i64::try_from((now.0 - then).as_micros()).unwrap_or(i64::MAX);
        let by = now.1.0.saturating_sub(shown.0).saturating_sub(passed);
        self.clocks = now;
        if by.abs() > STEP {
            tell(News::Step(by));
            // An archive without room says so when it is written next.
            let _ = self.archive.note_step(now.1, by);
        }
    }
}
