//! The measurements of links: from the start to the end of the measuring window, and at every sample of the
//! probe.

use ackclock_net::{Link, LinkMeter, LinkTally};
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
    links: Vec<Evidence>,
}

struct Evidence {
    link: usize,
    meter: LinkMeter,
    series: LinkSeries,
}

impl Looks {
    pub(crate) fn new(times: Times, links: &[usize]) -> Looks {
        let seen = |&link: &usize| Evidence { link, meter: LinkMeter::default(), series: Vec::new() };
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
            seen.meter.begin(now, &mut links[seen.link]);
        }
    }

    fn end(&mut self, now: Time, links: &[Link]) {
        self.ended = true;
        for seen in &mut self.links {
            seen.meter.end(now, &links[seen.link]);
        }
    }

    fn probe(&mut self, now: Time, links: &mut [Link]) {
        for seen in &mut self.links {
            seen.series.push(seen.meter.look(now, self.times.probe, &mut links[seen.link]));
        }
    }

    /// Ends the run at `now`. Returns the measurements of each link.
    pub(crate) fn finish(mut self, now: Time, links: &mut [Link]) -> Vec<(usize, LinkTally, LinkSeries)> {
        self.times.to = self.times.to.min(now);
        self.times.from = self.times.from.min(now);
        self.look(now, links);
        self.links.into_iter().map(|seen| (seen.link, seen.meter.tally(), seen.series)).collect()
    }
}
