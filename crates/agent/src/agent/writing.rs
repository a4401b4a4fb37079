//! When how much is written: full blasts and bursts, in real time, into whatever takes bytes.

use super::clock::Clock;
use crate::report::{BurstReport, Report, Tally};
use crate::spec::{BurstPattern, Late, MAX_BURST, MAX_DURATION, MIN_PERIOD, Number, Pattern};
use crate::traffic::Numbers;
use ackclock_lateness::Lateness;
use ackclock_net::Rng;
use ackclock_scenario::writing::{Bursts, Timetable};
use ackclock_sockets::{Alarm, is_timeout};
use ackclock_units::{Duration, Rate, Time};
use std::io;

/// What takes bytes.
pub(crate) trait Outlet {
    /// Takes up to so many bytes; returns how many. A time-out is no failure: the writer asks whether it goes
    /// on.
    fn put(&mut self, bytes: u64, now: Time) -> io::Result<u64>;

    /// Looks after what has to be done between writes; false: nobody wants more.
    fn goes_on(&mut self, now: Time) -> bool;
}

/// What drawn bursts may have at most in a burst.
const MAX_REPEATS: u64 = 1_000_000;

/// A writer at work.
pub(crate) struct Writer<'a, O> {
    pub(crate) outlet: &'a mut O,
    pub(crate) alarm: &'a Alarm,
    pub(crate) clock: Clock,
    pub(crate) tally: Tally,
    /// The rate at which datagrams are spaced, bit/s: a full blast over UDP.
    pub(crate) spaced: Option<u64>,
    /// The average rate that bursts of drawn sizes are held to.
    pub(crate) most: Option<u64>,
    /// The seed of what is drawn.
    pub(crate) seed: u64,
}

impl<O: Outlet> Writer<'_, O> {
    /// Writes until the pattern ends or nobody wants more. Returns the report and the time stamps.
    ///
    /// # Errors
    ///
    /// Those of the socket.
    pub(crate) fn write(mut self, pattern: &Pattern) -> (io::Result<()>, Report, Vec<(u64, u64)>) {
        let (outcome, bursts) = match pattern {
            Pattern::Full { blocksize, duration, .. } => (self.full(*blocksize, *duration), None),
            Pattern::Bursts(pattern) => {
                let mut report = BurstReport::default();
                let mut late = Lateness::default();
                let outcome = match pattern.fixed() {
                    Some(bursts) => self.timed(pattern, bursts, &mut report, &mut late),
                    None => self.drawn(pattern, &mut report, &mut late),
                };
                let us = |late: Duration| late.as_nanos() as f64 * 1e-3;
                report.within_200us = late.share_within(Duration::from_micros(200));
                report.late_p50_us = us(late.quantile(0.5));
                report.late_p99_us = us(late.quantile(0.99));
                report.late_max_us = us(late.max());
                (outcome, Some(report))
            }
        };
        let report = Report { bursts, ..self.tally.report() };
        (outcome, report, self.tally.stamps())
    }

    fn begin(&mut self) -> Time {
        let start = self.clock.now();
        self.tally.begin(start);
        start
    }

    /// Blocks back to back, or evenly spaced.
    fn full(&mut self, blocksize: u64, duration: u64) -> io::Result<()> {
        let start = self.begin();
        let end = start + Duration::from_micros(duration);
        let spaced = self.spaced.map(|rate| Rate::from_bps(rate).time_for(blocksize));
        let mut number = 0;
        loop {
            if let Some(gap) = spaced {
                let due = start + gap.saturating_mul(number);
                if due >= end || !self.sleep_until(due)? {
                    return Ok(());
                }
                number += 1;
            }
            let now = self.clock.now();
            // What was due in time is sent, however late this host is.
            let over = spaced.is_none() && now >= end;
            if over || !self.outlet.goes_on(now) || !self.block(blocksize, spaced.is_none().then_some(end))? {
                return Ok(());
            }
        }
    }

    /// Writes a block; false if time was over before, or if nobody wants more.
    fn block(&mut self, bytes: u64, end: Option<Time>) -> io::Result<bool> {
        let mut left = bytes;
        while left > 0 {
            let now = self.clock.now();
            match self.outlet.put(left, now) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => {
                    left -= taken;
                    self.tally.add(self.clock.now(), taken);
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            let now = self.clock.now();
            if left > 0 && (end.is_some_and(|end| now >= end) || !self.outlet.goes_on(now)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sleeps until `due`; false if nobody wants more.
    fn sleep_until(&mut self, due: Time) -> io::Result<bool> {
        /// Between two looks at what has to be done meanwhile.
        const STEP: Duration = Duration::from_millis(20);
        loop {
            let now = self.clock.now();
            if !self.outlet.goes_on(now) {
                return Ok(false);
            }
            if now >= due {
                return Ok(true);
            }
            self.alarm.sleep_until(due.min(now + STEP), || true)?;
        }
    }

    /// Bursts that are all alike, by the simulator's timetable.
    fn timed(
        &mut self,
        pattern: &BurstPattern,
        bursts: Bursts,
        report: &mut BurstReport,
        late: &mut Lateness,
    ) -> io::Result<()> {
        let block = pattern.blocksize.fixed().unwrap_or(bursts.size);
        let start = self.begin();
        let mut timetable = Timetable::new(bursts, start);
        let over = start + bursts.every.saturating_mul(bursts.count);
        report.due = Some(bursts.count);
        let mut outcome = Ok(());
        while let Some(due) = timetable.next() {
            if pattern.late == Late::Skip && due >= over {
                report.skipped = bursts.count - report.written;
                break;
            }
            match self.burst(due, (0..bursts.size / block.max(1)).map(|_| block), late) {
                Ok(true) => {
                    report.written += 1;
                    timetable.finished(self.clock.now());
                }
                Ok(false) => break,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        report.failed_cycles = timetable.tally(self.clock.now(), 0, 0, None).failed_cycles;
        outcome
    }

    /// A burst that is due at `due`; false if nobody wants more.
    fn burst(
        &mut self,
        due: Time,
        blocks: impl Iterator<Item = u64>,
        late: &mut Lateness,
    ) -> io::Result<bool> {
        if !self.sleep_until(due)? {
            return Ok(false);
        }
        late.note(self.clock.now().since(due));
        for block in blocks {
            if !self.block(block, None)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Bursts whose sizes or times are drawn. They end with the first one that begins after the duration.
    fn drawn(
        &mut self,
        pattern: &BurstPattern,
        report: &mut BurstReport,
        late: &mut Lateness,
    ) -> io::Result<()> {
        let mut draws = Draws::new(pattern, self.seed);
        let start = self.begin();
        let end = start + Duration::from_micros(pattern.duration);
        let mut due = start;
        while due <= end {
            if let Some(most) = self.most {
                // On average, from the start on.
                let earliest = start + Rate::from_bps(most).time_for(self.tally.bytes());
                if !self.sleep_until(earliest)? {
                    return Ok(());
                }
            }
            if !self.sleep_until(due)? {
                return Ok(());
            }
            late.note(self.clock.now().since(due));
            if !self.drawn_burst(&mut draws)? {
                return Ok(());
            }
            report.written += 1;
            let now = self.clock.now();
            due = if pattern.gaps { now } else { due } + Duration::from_micros(draws.periods.next());
            while due < now && due <= end {
                report.failed_cycles += 1;
                match pattern.late {
                    Late::Queue => break,
                    Late::Delay => due = now,
                    Late::Skip => {
                        report.skipped += 1;
                        due += Duration::from_micros(draws.periods.next());
                    }
                }
            }
        }
        Ok(())
    }

    /// A burst with the next numbers; false if nobody wants more.
    fn drawn_burst(&mut self, draws: &mut Draws) -> io::Result<bool> {
        if let Some((size, pause)) = &mut draws.opening {
            let whole = self.block(size.next(), None)?;
            let pause = Duration::from_micros(pause.next());
            if !whole || !self.sleep_until(self.clock.now() + pause)? {
                return Ok(false);
            }
        }
        let mut due = self.clock.now();
        for _ in 0..draws.repeats.next() {
            if !self.sleep_until(due)? || !self.block(draws.sizes.next(), None)? {
                return Ok(false);
            }
            if let Some(apart) = &mut draws.apart {
                due += Duration::from_micros(apart.next());
            }
        }
        Ok(true)
    }
}

/// The numbers of bursts that are drawn.
struct Draws {
    sizes: Drawing,
    repeats: Drawing,
    periods: Drawing,
    apart: Option<Drawing>,
    /// The size of what a burst begins with, and the time after it.
    opening: Option<(Drawing, Drawing)>,
}

impl Draws {
    fn new(pattern: &BurstPattern, seed: u64) -> Draws {
        let size = |number, name| Drawing::new(number, (1, MAX_BURST), seed, name);
        let pause = |number, name| Drawing::new(number, (0, MAX_DURATION), seed, name);
        Draws {
            sizes: size(&pattern.blocksize, "blocksize"),
            repeats: Drawing::new(&pattern.repeats, (0, MAX_REPEATS), seed, "repeats"),
            periods: Drawing::new(&pattern.period, (MIN_PERIOD, u64::MAX), seed, "period"),
            apart: pattern.apart.as_ref().map(|number| pause(number, "apart")),
            opening: pattern
                .opening
                .as_ref()
                .map(|opening| (size(&opening.size, "opening"), pause(&opening.pause, "pause"))),
        }
    }
}

/// A number that is always the same, or drawn from a stream of its own.
struct Drawing {
    fixed: u64,
    drawn: Option<Numbers>,
    range: (u64, u64),
}

impl Drawing {
    fn new(number: &Number, range: (u64, u64), seed: u64, name: &str) -> Drawing {
        let drawn = match number {
            Number::Fixed(_) => None,
            Number::Drawn(draw) => draw.law().map(|law| Numbers::new(law, Rng::new(seed, name))),
        };
        Drawing { fixed: number.fixed().unwrap_or(range.0), drawn, range }
    }

    fn next(&mut self) -> u64 {
        let value = match &mut self.drawn {
            None => self.fixed,
            // A cast from float to integer saturates.
            Some(numbers) => libm::round(numbers.draw()) as u64,
        };
        value.clamp(self.range.0, self.range.1)
    }
}
