//! How an application writes: periodic bursts, into a socket with a limited buffer that blocks when it is
//! full.
//!
//! Source: NetSpec's burst mode, as A. Sundaresan's thesis describes it (University of Kansas, 2001, section
//! 4.5.1.10 and appendix A). A timer fires every period. If a burst is not completely written by then, its
//! cycle has failed, and it continues. The next burst begins with the next period. No burst is left out: a
//! failed cycle only delays it. In NetSpec's queued mode the next burst begins at once.

use ackclock_units::{Duration, Time};

/// How the application of a flow writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writing {
    /// The capacity of the socket, bytes, with sent and unacknowledged bytes included. `None`: unlimited.
    pub buffer: Option<u64>,
    /// The bursts. `None`: everything at once, or as soon as there is room.
    pub bursts: Option<Bursts>,
}

/// Periodic bursts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bursts {
    /// The size of a burst, bytes.
    pub size: u64,
    /// The period.
    pub every: Duration,
    /// The number of bursts. Of responses: their sizes decide ([`covering`](Self::covering)).
    pub count: u64,
    /// True: a late burst begins as soon as the one before is written. False: it begins with the next period.
    pub queued: bool,
}

impl Bursts {
    /// The bytes of all bursts.
    pub fn bytes(&self) -> u64 {
        self.size.saturating_mul(self.count)
    }

    /// As many of these bursts as `bytes` need. The last one is what remains.
    #[must_use]
    pub fn covering(self, bytes: u64) -> Bursts {
        Bursts { count: bytes.div_ceil(self.size), ..self }
    }
}

/// The schedule of the bursts, and the failed cycles.
#[derive(Clone, Debug)]
pub struct Timetable {
    bursts: Bursts,
    start: Time,
    /// The start of the present burst, or of the next one.
    begins: Time,
    ends: Vec<Time>,
    failed: u64,
}

impl Timetable {
    /// The schedule of bursts of which the first begins at `start`.
    pub fn new(bursts: Bursts, start: Time) -> Timetable {
        Timetable { bursts, start, begins: start, ends: Vec::new(), failed: 0 }
    }

    /// The size of a burst, bytes.
    pub fn size(&self) -> u64 {
        self.bursts.size
    }

    /// The start of the next burst, if there is one more.
    pub fn next(&self) -> Option<Time> {
        ((self.ends.len() as u64) < self.bursts.count).then_some(self.begins)
    }

    /// The present burst is written at `now`. Returns the start of the next one, if there is one more.
    pub fn finished(&mut self, now: Time) -> Option<Time> {
        let every = self.bursts.every.as_nanos();
        let begun = self.begins.since(self.start).as_nanos() / every;
        // The first period that does not begin before the last byte is written. A period that begins at that
        // instant is in time.
        let over = now.since(self.start).as_nanos().div_ceil(every);
        self.failed += over.saturating_sub(begun + 1);
        self.ends.push(now);
        let period = |number| self.start + self.bursts.every.saturating_mul(number);
        self.begins = if self.bursts.queued {
            period(self.ends.len() as u64).max(now)
        } else {
            period(over.max(begun + 1))
        };
        self.next()
    }

    /// The tally at `now`: the socket accepted `written` bytes. `received` bytes arrived, from the first
    /// instant to the second.
    pub fn tally(
        &self,
        now: Time,
        written: u64,
        received: u64,
        receiving: Option<(Time, Time)>,
    ) -> BurstTally {
        let until = if self.next().is_none() { self.ends.last().copied().unwrap_or(now) } else { now };
        BurstTally {
            size: self.bursts.size,
            due: self.bursts.count,
            ends: self.ends.iter().map(|end| end.since(self.start)).collect(),
            failed_cycles: self.failed,
            written,
            writing: until.since(self.start),
            received,
            receiving: receiving.map_or(Duration::ZERO, |(first, last)| last.since(first)),
        }
    }
}

/// The tally of a flow's bursts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BurstTally {
    /// The size of a burst, bytes.
    pub size: u64,
    /// The number of bursts to write.
    pub due: u64,
    /// The time at which each burst was written, relative to the start of the first one.
    pub ends: Vec<Duration>,
    /// The number of periods that began while a burst was still being written.
    pub failed_cycles: u64,
    /// The bytes that the socket accepted.
    pub written: u64,
    /// The time from the start of the first burst until the last one was written, or until the end of the
    /// run.
    pub writing: Duration,
    /// The bytes that the receiver has in order.
    pub received: u64,
    /// The time from the first to the last arrival at the receiver.
    pub receiving: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: Bursts = Bursts { size: 1000, every: Duration::from_millis(10), count: 4, queued: false };

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(1000 + ms)
    }

    /// The starts of bursts that take these times to write, in ms, and the number of failed cycles.
    fn begins(bursts: Bursts, took: [u64; 4]) -> (Vec<u64>, u64) {
        let mut table = Timetable::new(bursts, at(0));
        let mut all = Vec::new();
        for ms in took {
            let begin = table.next().expect("one more");
            all.push(begin.since(at(0)).as_millis_f64() as u64);
            table.finished(begin + Duration::from_millis(ms));
        }
        assert_eq!(table.next(), None);
        (all, table.failed)
    }

    #[test]
    fn a_burst_that_is_written_in_its_period_is_followed_by_the_next_period() {
        assert_eq!(begins(CYCLE, [0, 3, 9, 0]), (vec![0, 10, 20, 30], 0));
        assert_eq!(begins(CYCLE, [10, 0, 0, 10]), (vec![0, 10, 20, 30], 0));
    }

    #[test]
    fn a_burst_that_is_not_fails_its_cycle_and_puts_the_others_off() {
        assert_eq!(begins(CYCLE, [0, 11, 25, 0]), (vec![0, 10, 30, 60], 3));
    }

    #[test]
    fn queued_bursts_catch_up() {
        let queued = Bursts { queued: true, ..CYCLE };
        assert_eq!(begins(queued, [0, 25, 1, 0]), (vec![0, 10, 35, 36], 2));
        assert_eq!(begins(queued, [0, 15, 1, 0]), (vec![0, 10, 25, 30], 1));
    }

    #[test]
    fn the_last_write_ends_the_writing() {
        let mut table = Timetable::new(CYCLE, at(0));
        for _ in 0..3 {
            table.finished(table.begins + Duration::from_millis(2));
        }
        let unfinished = table.tally(at(500), 3100, 2000, Some((at(40), at(60))));
        assert_eq!(
            (unfinished.writing, unfinished.receiving),
            (Duration::from_millis(500), Duration::from_millis(20))
        );
        table.finished(at(32));
        let tally = table.tally(at(500), 4000, 4000, None);
        assert_eq!((tally.writing, tally.due, tally.ends.len()), (Duration::from_millis(32), 4, 4));
    }
}
