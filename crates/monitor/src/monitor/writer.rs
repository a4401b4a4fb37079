//! What writes: all samples of all probes, in one thread.

use super::{Event, News};
use crate::archive::{Archive, ArchiveError, Row};
use crate::sample::Moment;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration as Span, Instant};

/// Samples are written at least so often. A killed monitor loses those since then.
const WRITE: Span = Span::from_millis(500);
/// The most samples that wait for an archive without room: two days of a hundred hosts, a hundred MB.
const MOST_WAITING: usize = 2_000_000;
/// How often old samples become means.
const THIN: Span = Span::from_secs(3600);
/// For how long it is thinned at once: samples wait meanwhile.
const THINNING: Span = Span::from_millis(100);
/// A clock that differs by more from the monotonic one has been set, us.
const STEP: i64 = 1_000_000;

/// Writes what was measured.
pub(super) struct Writer {
    archive: Archive,
    waiting: Vec<Row>,
    dropped: usize,
    stuck: bool,
    thinned: Option<Instant>,
    /// The system's clock minus the monotonic one when both were last compared.
    clocks: (Instant, Moment),
}

impl Writer {
    pub(super) fn new(archive: Archive) -> Writer {
        let clocks = (Instant::now(), Moment::now());
        Writer { archive, waiting: Vec::new(), dropped: 0, stuck: false, thinned: None, clocks }
    }

    /// Writes until no probe is left.
    pub(super) fn write(
        mut self,
        heard: &Receiver<Event>,
        tell: &mut impl FnMut(News),
    ) -> Result<(), ArchiveError> {
        let mut last = Instant::now();
        loop {
            let heard = heard.recv_timeout(WRITE.saturating_sub(last.elapsed()));
            let ends = matches!(heard, Err(RecvTimeoutError::Disconnected));
            match heard {
                Ok(Event::Rows(rows)) => self.waiting.extend(rows),
                // Without room it is found again in the next period.
                Ok(Event::Route(host, at, route)) => drop(self.archive.note_route(host, at, &route)),
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
