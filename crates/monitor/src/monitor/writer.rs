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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Quantity, Sample};
    use std::sync::mpsc::channel;

    fn writer() -> (tempfile::TempDir, Writer) {
        let place = tempfile::tempdir().expect("a directory");
        let archive = Archive::create(&place.path().join("a.sqlite")).expect("a new one");
        (place, Writer::new(archive))
    }

    fn rows(number: i64) -> Vec<Row> {
        let now = Moment::now().0;
        let sample = |at| Sample { at: Moment(now - at), value: 1.0 };
        (0..number).map(|at| Row { host: 1, quantity: Quantity::Rtt, sample: sample(at) }).collect()
    }

    fn written(writer: &Writer) -> usize {
        let all = (Moment(0), Moment::now());
        writer.archive.samples(1, Quantity::Rtt, all, usize::MAX).expect("they are read").len()
    }

    /// The clock is set forward by an hour, then back: both are told and noted, a drift is not.
    #[test]
    fn a_clock_that_is_set_is_noted() {
        let (_place, mut writer) = writer();
        let mut heard = Vec::new();
        for before in [3_600_000_000, -7_200_000_000, 500_000] {
            writer.clocks = (Instant::now(), Moment(Moment::now().0 - before));
            writer.compare_clocks(&mut |news| heard.push(news));
        }
        let [News::Step(forward), News::Step(back)] = heard[..] else { panic!("{heard:?}") };
        assert!((3_599_000_000..3_601_000_000).contains(&forward), "{forward}");
        assert!((-7_201_000_000..-7_199_000_000).contains(&back), "{back}");
        let noted = writer.archive.last_step(Moment::now()).expect("it is read");
        assert_eq!(noted.map(|(_, by)| by), Some(back));
    }

    /// A disk without room is told once. What waits is written when there is room again.
    #[test]
    fn samples_wait_for_room() {
        let (_place, mut writer) = writer();
        let mut heard = Vec::new();
        writer.archive.limit(Some(40)).expect("a limit of pages");
        writer.waiting = rows(50_000);
        for _ in 0..3 {
            writer.commit(&mut |news| heard.push(news)).expect("it goes on");
        }
        assert!(matches!(heard[..], [News::Waiting(_)]), "{heard:?}");
        assert_eq!((written(&writer), writer.waiting.len()), (0, 50_000));
        writer.archive.limit(None).expect("no limit");
        writer.commit(&mut |news| heard.push(news)).expect("there is room");
        assert!(matches!(heard[..], [News::Waiting(_), News::Written]), "{heard:?}");
        assert_eq!((written(&writer), writer.waiting.len()), (50_000, 0));
    }

    /// More than the memory may hold: the oldest go, and their number is told.
    #[test]
    fn what_is_too_much_is_dropped_and_told() {
        let (_place, mut writer) = writer();
        let mut heard = Vec::new();
        writer.archive.limit(Some(10)).expect("a limit of pages");
        writer.waiting = rows(MOST_WAITING as i64 + 7);
        writer.commit(&mut |news| heard.push(news)).expect("it goes on");
        assert_eq!(writer.waiting.len(), MOST_WAITING);
        writer.waiting.truncate(100);
        writer.archive.limit(None).expect("no limit");
        writer.commit(&mut |news| heard.push(news)).expect("there is room");
        assert!(matches!(heard[..], [News::Waiting(_), News::Written, News::Dropped(7)]), "{heard:?}");
    }

    /// All that was measured is written when the last probe ends.
    #[test]
    fn the_last_samples_are_written() {
        let (place, writer) = writer();
        let (events, heard) = channel();
        events.send(Event::Rows(rows(3))).expect("it is heard");
        drop(events);
        writer.write(&heard, &mut |news| panic!("{news:?}")).expect("it ends");
        let archive = Archive::open(&place.path().join("a.sqlite")).expect("it is there");
        assert_eq!(archive.samples(1, Quantity::Rtt, (Moment(0), Moment::now()), 9).expect("read").len(), 3);
    }
}
