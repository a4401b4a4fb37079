//! The measurements of links and of unresponsive traffic: from the start to the end of the measuring window,
//! and at every sample of the probe.

use ackclock_net::{Link, LinkMeter, LinkTally};
use ackclock_scenario::measured::CbrTally;
use ackclock_scenario::series::Glimpse;
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

/// The samples of one source: the rate delivered since the last sample, bit/s.
pub(crate) type StreamSeries = Vec<f32>;

/// What was measured: for each link its number, its figures in the measuring window and its samples; the same
/// for each source, in order.
pub(crate) struct Seen {
    pub(crate) links: Vec<(usize, LinkTally, LinkSeries)>,
    pub(crate) streams: Vec<(CbrTally, StreamSeries)>,
}

/// Who watches a run while it is under way, if anybody does.
pub(crate) type Watcher<'a> = Option<&'a (dyn Fn(Glimpse) + Sync)>;

/// The samples of one part of the network.
pub(crate) struct Looks<'a> {
    times: Times,
    see: Watcher<'a>,
    next_probe: Time,
    begun: bool,
    ended: bool,
    links: Vec<Evidence>,
    streams: Vec<Passed>,
}

/// What came of a source of unresponsive traffic.
#[derive(Default)]
struct Passed {
    from: CbrTally,
    within: CbrTally,
    /// Bytes delivered at the last sample.
    probed: u64,
    series: StreamSeries,
}

struct Evidence {
    link: usize,
    meter: LinkMeter,
    series: LinkSeries,
}

impl<'a> Looks<'a> {
    /// Samples of these links, and of so many sources.
    pub(crate) fn new(times: Times, links: &[usize], streams: usize, see: Watcher<'a>) -> Looks<'a> {
        let seen = |&link: &usize| Evidence { link, meter: LinkMeter::default(), series: Vec::new() };
        Looks {
            times,
            see,
            next_probe: Time::ZERO,
            begun: false,
            ended: false,
            links: links.iter().map(seen).collect(),
            streams: (0..streams).map(|_| Passed::default()).collect(),
        }
    }

    /// The next sample time.
    pub(crate) fn next(&self) -> Time {
        let from = if self.begun { Time::NEVER } else { self.times.from };
        let to = if self.ended { Time::NEVER } else { self.times.to };
        from.min(to).min(self.next_probe)
    }

    /// Takes all samples that are due by `now`. `sent` is what the sources did since the run began.
    pub(crate) fn look(&mut self, now: Time, links: &mut [Link], sent: &[CbrTally]) {
        while self.next() <= now {
            let at = self.next();
            if !self.begun && self.times.from <= at {
                self.begin(self.times.from, links, sent);
            } else if !self.ended && self.times.to <= at {
                self.end(self.times.to, links, sent);
            } else {
                self.probe(at, links, sent);
                self.next_probe = at + self.times.probe;
            }
        }
    }

    fn begin(&mut self, now: Time, links: &mut [Link], sent: &[CbrTally]) {
        self.begun = true;
        self.streams.iter_mut().zip(sent).for_each(|(passed, &sent)| passed.from = sent);
        for seen in &mut self.links {
            seen.meter.begin(now, &mut links[seen.link]);
        }
    }

    fn end(&mut self, now: Time, links: &[Link], sent: &[CbrTally]) {
        self.ended = true;
        for (passed, to) in self.streams.iter_mut().zip(sent) {
            passed.within = CbrTally {
                sent: to.sent - passed.from.sent,
                delivered: to.delivered - passed.from.delivered,
                delivered_bytes: to.delivered_bytes - passed.from.delivered_bytes,
            };
        }
        for seen in &mut self.links {
            seen.meter.end(now, &links[seen.link]);
        }
    }

    fn probe(&mut self, now: Time, links: &mut [Link], sent: &[CbrTally]) {
        let per_second = 8.0 / self.times.probe.as_secs_f64();
        for (passed, sent) in self.streams.iter_mut().zip(sent) {
            let bytes = sent.delivered_bytes - std::mem::replace(&mut passed.probed, sent.delivered_bytes);
            passed.series.push((bytes as f64 * per_second) as f32);
        }
        for seen in &mut self.links {
            let (waiting, rate) = seen.meter.look(now, self.times.probe, &mut links[seen.link]);
            seen.series.push((waiting, rate));
            if let Some(see) = self.see {
                see(Glimpse::Link { link: seen.link, at: now, waiting, rate });
            }
        }
    }

    /// Ends the run at `now`. Returns the measurements of each link, and those of each source.
    pub(crate) fn finish(mut self, now: Time, links: &mut [Link], sent: &[CbrTally]) -> Seen {
        self.times.to = self.times.to.min(now);
        self.times.from = self.times.from.min(now);
        self.look(now, links, sent);
        let streams = self.streams.into_iter().map(|passed| (passed.within, passed.series)).collect();
        let links = self.links.into_iter().map(|seen| (seen.link, seen.meter.tally(), seen.series));
        Seen { links: links.collect(), streams }
    }
}
