//! Measures a link in the measuring window and at each sample of a probe. The same code serves virtual and
//! real time.

use super::{Counters, Link};
use ackclock_units::{Duration, Time};

/// The measurements of a link between two instants.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkTally {
    /// The counters. `longest` is the largest number of packets that waited between the two instants.
    pub counters: Counters,
    /// The time that the transmitter was busy.
    pub busy: Duration,
}

/// Measures one link.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkMeter {
    from: Counters,
    busy_from: Duration,
    busy_seen: Duration,
    tally: LinkTally,
}

impl LinkMeter {
    /// The measuring window begins.
    pub fn begin(&mut self, now: Time, link: &mut Link) {
        link.forget_longest(now);
        self.from = counters(now, link);
        self.busy_from = link.busy(now);
    }

    /// The measuring window ends.
    pub fn end(&mut self, now: Time, link: &Link) {
        self.tally = LinkTally {
            counters: counters(now, link).since(&self.from),
            busy: link.busy(now) - self.busy_from,
        };
    }

    /// A sample: the packets that wait now, and the rate since the last sample, which was `interval` ago,
    /// bit/s.
    pub fn look(&mut self, now: Time, interval: Duration, link: &mut Link) -> (u32, f32) {
        let busy = link.busy(now);
        let share = (busy - self.busy_seen).as_secs_f64() * (1.0 / interval.as_secs_f64());
        self.busy_seen = busy;
        let from = Time::ZERO + (now.since(Time::ZERO) - interval);
        (link.waiting(now).0, (share * link.mean_bps(from, now)) as f32)
    }

    /// The measurements in the measuring window; all zero before its end.
    pub fn tally(&self) -> LinkTally {
        self.tally
    }
}

fn counters(now: Time, link: &Link) -> Counters {
    Counters { waited_ns: link.waited_ns(now), ..link.counters() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropTail, Limit, Queue};
    use ackclock_units::Rate;

    #[test]
    fn only_what_happens_in_the_window_counts_and_every_look_has_its_own_share() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        // A packet of 1250 B takes 10 ms.
        let queue = Queue::DropTail(DropTail::new(Limit::Packets(2)));
        let mut link = Link::new(Rate::from_bps(1_000_000), Duration::ZERO, queue);
        let mut meter = LinkMeter::default();
        for _ in 0..4 {
            link.offer(at(0), &mut 1250_u32); // one is sent, two wait, one is dropped
        }
        meter.begin(at(15), &mut link);
        assert_eq!(meter.look(at(15), Duration::from_millis(15), &mut link), (1, 1e6));
        link.offer(at(20), &mut 1250_u32);
        meter.end(at(35), &link);
        let tally = meter.tally();
        assert_eq!((tally.counters.arrivals, tally.counters.drops()), (1, 0));
        assert_eq!((tally.counters.longest, tally.busy), (1, Duration::from_millis(20)));
        let (waiting, rate) = meter.look(at(55), Duration::from_millis(40), &mut link);
        assert_eq!((waiting, rate), (0, 625_000.0)); // 25 of 40 ms
    }
}
