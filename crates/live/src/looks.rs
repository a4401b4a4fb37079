//! The measurements of links: from the start to the end of the measuring window, and at every sample of the
//! probe.

use ackclock_net::{Counters, Link};
use ackclock_scenario::measured::LinkTally;
use ackclock_units::{Duration, Time};

/// The times of all samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) from: Time,
    pub(crate) to: Time,
    pub(crate) probe: Duration,
}

/// The samples of one link: packets waiting, and the rate carried since the last sample, bit/s.
pub(crate) type LinkSeries = Vec<(u32, f32)>;

/// The samples of one part of the network.
pub(crate) struct Looks {
    times: Times,
    next_probe: Time,
    begun: bool,
    ended: bool,
    links: Vec<Seen>,
}

struct Seen {
    link: usize,
    from: Counters,
    busy_from: Duration,
    busy_probed: Duration,
    tally: LinkTally,
    series: LinkSeries,
}

impl Looks {
    pub(crate) fn new(times: Times, links: &[usize]) -> Looks {
        let seen = |&link: &usize| Seen {
            link,
            from: Counters::default(),
            busy_from: Duration::ZERO,
            busy_probed: Duration::ZERO,
            tally: LinkTally::default(),
            series: Vec::new(),
        };
        Looks {
            times,
            next_probe: Time::ZERO,
            begun: false,
            ended: false,
            links: links.iter().map(seen).collect(),
        }
    }

    /// The next sample time.
    pub(crate) fn next(&self) -> Time {
        let from = if self.begun { Time::NEVER } else { self.times.from };
        let to = if self.ended { Time::NEVER } else { self.times.to };
        from.min(to).min(self.next_probe)
    }

    /// Takes all samples that are due by `now`.
    pub(crate) fn look(&mut self, now: Time, links: &mut [Link]) {
        while self.next() <= now {
            let at = self.next();
            if !self.begun && self.times.from <= at {
                self.begin(self.times.from, links);
            } else if !self.ended && self.times.to <= at {
                self.end(self.times.to, links);
            } else {
                self.probe(at, links);
                self.next_probe = at + self.times.probe;
            }
        }
    }

    fn begin(&mut self, now: Time, links: &mut [Link]) {
        self.begun = true;
        for seen in &mut self.links {
            let link = &mut links[seen.link];
            link.forget_longest(now);
            seen.from = Counters { waited_ns: link.waited_ns(now), ..*link.counters() };
            seen.busy_from = link.busy(now);
        }
    }

    fn end(&mut self, now: Time, links: &[Link]) {
        self.ended = true;
        for seen in &mut self.links {
            let link = &links[seen.link];
            let to = Counters { waited_ns: link.waited_ns(now), ..*link.counters() };
            seen.tally = LinkTally { counters: to.since(&seen.from), busy: link.busy(now) - seen.busy_from };
        }
    }

    fn probe(&mut self, now: Time, links: &mut [Link]) {
        let per_second = 1.0 / self.times.probe.as_secs_f64();
        for seen in &mut self.links {
            let link = &mut links[seen.link];
            let busy = link.busy(now);
            let share = (busy - seen.busy_probed).as_secs_f64() * per_second;
            seen.busy_probed = busy;
            seen.series.push((link.waiting(now).0, (share * link.rate().bps_f64()) as f32));
        }
    }

    /// Ends the run at `now`. Returns the measurements of each link.
    pub(crate) fn finish(mut self, now: Time, links: &mut [Link]) -> Vec<(usize, LinkTally, LinkSeries)> {
        self.times.to = self.times.to.min(now);
        self.times.from = self.times.from.min(now);
        self.look(now, links);
        self.links.into_iter().map(|seen| (seen.link, seen.tally, seen.series)).collect()
    }
}
