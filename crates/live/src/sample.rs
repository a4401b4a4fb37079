//! Samples of the flows: totals at both ends of the measuring window, and a series in between.

use crate::flow::{Snapshot, State};
use crate::running::Running;
use ackclock_scenario::measured::FlowTally;
use ackclock_scenario::series::Sample;
use ackclock_tcp::Counters;
use ackclock_units::{Duration, Time};

/// The samples of one flow.
#[derive(Default)]
pub(crate) struct Watched {
    from: Snapshot,
    to: Snapshot,
    /// Over the samples in the measuring window: sums of cwnd (segments) and of the smoothed round-trip time
    /// (s).
    cwnd: f64,
    srtt_s: f64,
    looks: u64,
    last: Snapshot,
    pub(crate) series: Vec<Sample>,
    /// The flow's own variables: their names, and their values, sample by sample.
    pub(crate) inner: (Vec<String>, Vec<f32>),
}

impl Watched {
    pub(crate) fn begin(&mut self, flow: &Running<'_>) {
        self.from = flow.snapshot();
    }

    pub(crate) fn end(&mut self, flow: &Running<'_>) {
        self.to = flow.snapshot();
    }

    /// Takes a sample.
    pub(crate) fn look(&mut self, flow: &Running<'_>, measuring: bool) -> Sample {
        let now = flow.snapshot();
        let segments = |bytes: u64| bytes as f64 / f64::from(flow.payload());
        let mut sample = Sample {
            delivered: segments(now.received.saturating_sub(self.last.received)) as f32,
            arrived: now.arrived.saturating_sub(self.last.arrived) as f32,
            ssthresh: f32::INFINITY,
            ..Sample::default()
        };
        if let Some(State { cwnd, ssthresh, srtt_s, in_flight }) = now.state {
            sample = Sample { cwnd, ssthresh, srtt_s, in_flight, ..sample };
            if measuring && srtt_s > 0.0 {
                self.cwnd += f64::from(cwnd);
                self.srtt_s += f64::from(srtt_s);
                self.looks += 1;
            }
        }
        self.series.push(sample);
        let (names, values) = &mut self.inner;
        let first = names.is_empty();
        flow.inspect(&mut |name, value| {
            if first {
                names.push(name.to_owned());
            }
            values.push(value as f32);
        });
        self.last = now;
        sample
    }

    /// The bytes received in the measuring window. Samples at its ends may be late. So the rate between the
    /// two samples is used.
    fn received(&self, measure: (Time, Time)) -> f64 {
        let (from, to) = (&self.from, &self.to);
        let looked = to.at.since(from.at).as_secs_f64();
        let bytes = to.received.saturating_sub(from.received) as f64;
        if looked > 0.0 { bytes * measure.1.since(measure.0).as_secs_f64() / looked } else { 0.0 }
    }

    /// The measurements in the measuring window.
    pub(crate) fn tally(&self, flow: &Running<'_>, measure: (Time, Time)) -> FlowTally {
        let (from, to) = (&self.from, &self.to);
        let counters = Counters {
            sent: to.sent.saturating_sub(from.sent),
            retransmits: to.retransmits - from.retransmits,
            fast_retransmits: to.fast_retransmits - from.fast_retransmits,
            timeouts: to.timeouts - from.timeouts,
            window_cuts: to.cuts - from.cuts,
            rtt_samples: self.looks,
            rtt_sum: Duration::from_secs_f64(self.srtt_s),
            ..Counters::default()
        };
        FlowTally {
            delivered: (self.received(measure) / f64::from(flow.payload()) + 0.5) as u64,
            arrived: to.arrived.saturating_sub(from.arrived),
            duplicates: to.duplicates.saturating_sub(from.duplicates),
            counters,
            rtt_min: to.rtt_min,
            cwnd_mean: if self.looks > 0 { self.cwnd / self.looks as f64 } else { 0.0 },
            transfers: flow.transfers(),
            waited: flow.waited(),
            bursts: flow.bursts(),
            rate: flow.rate(),
            whole_run: (to.sent, to.arrived, 0),
        }
    }

    /// The payload delivered over the whole run, segments.
    pub(crate) fn delivered(&self, flow: &Running<'_>) -> u64 {
        self.to.received.max(self.last.received) / u64::from(flow.payload())
    }
}

/// The times of samples.
pub(crate) struct Schedule {
    pub(crate) measure: (Time, Time),
    pub(crate) probe: Duration,
    next_probe: Time,
    begun: bool,
    ended: bool,
}

/// The next action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    Begin,
    End,
    Look,
}

impl Schedule {
    pub(crate) fn new(measure: (Time, Time), probe: Duration) -> Schedule {
        Schedule { measure, probe, next_probe: Time::ZERO, begun: false, ended: false }
    }

    /// The next action, and its time.
    pub(crate) fn next(&self) -> (Time, Due) {
        let begin = if self.begun { Time::NEVER } else { self.measure.0 };
        let end = if self.ended { Time::NEVER } else { self.measure.1 };
        if begin <= end.min(self.next_probe) {
            (begin, Due::Begin)
        } else if end <= self.next_probe {
            (end, Due::End)
        } else {
            (self.next_probe, Due::Look)
        }
    }

    pub(crate) fn done(&mut self, due: Due) {
        match due {
            Due::Begin => self.begun = true,
            Due::End => self.ended = true,
            Due::Look => self.next_probe += self.probe,
        }
    }

    /// True while the measuring window is open.
    pub(crate) fn measuring(&self) -> bool {
        self.begun && !self.ended
    }
}
