//! Counters: the events in the measuring window, and the samples of the probes.

use super::Flow;
use ackclock_net::{Link, LinkMeter};
use ackclock_scenario::measured::{CbrTally, FlowTally, Measured, Transfer};
use ackclock_scenario::series::{Sample, Series};
use ackclock_tcp::Counters;
use ackclock_units::{Duration, Time};

/// A flow, as counters see it.
pub(super) trait Counted {
    /// What its connection did since it began.
    fn totals(&self) -> Totals;
    /// The congestion window, segments.
    fn cwnd(&self) -> f64;
    /// The smallest raw round-trip time of its connection.
    fn rtt_min(&self) -> Option<Duration>;
    /// A sample of its state, without what was counted since the last one.
    fn sample(&self) -> Sample;
    /// Its own variables.
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64));
}

impl Counted for Flow {
    fn totals(&self) -> Totals {
        Totals {
            delivered: self.receiver.delivered(),
            arrived: self.receiver.arrived(),
            duplicates: self.receiver.duplicates(),
            counters: *self.sender.counters(),
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.sender.window().cwnd
    }

    fn rtt_min(&self) -> Option<Duration> {
        Some(self.sender.rtt().rtt_min()).filter(|&rtt| rtt < Duration::MAX)
    }

    fn sample(&self) -> Sample {
        let window = self.sender.window();
        Sample {
            cwnd: window.cwnd as f32,
            ssthresh: window.ssthresh as f32,
            srtt_s: self.sender.rtt().srtt().as_secs_f64() as f32,
            in_flight: self.sender.in_flight() as f32,
            ..Sample::default()
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.sender.controller().inspect(see);
    }
}

/// The totals of a flow since the start, with those of finished connections.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) delivered: u64,
    pub(super) arrived: u64,
    pub(super) duplicates: u64,
    pub(super) counters: Counters,
}

impl Totals {
    fn plus(&self, other: &Totals) -> Totals {
        self.combine(other, u64::wrapping_add)
    }

    fn minus(&self, other: &Totals) -> Totals {
        self.combine(other, u64::wrapping_sub)
    }

    fn combine(&self, other: &Totals, with: impl Fn(u64, u64) -> u64) -> Totals {
        let (a, b) = (&self.counters, &other.counters);
        Totals {
            delivered: with(self.delivered, other.delivered),
            arrived: with(self.arrived, other.arrived),
            duplicates: with(self.duplicates, other.duplicates),
            counters: Counters {
                sent: with(a.sent, b.sent),
                retransmits: with(a.retransmits, b.retransmits),
                fast_retransmits: with(a.fast_retransmits, b.fast_retransmits),
                timeouts: with(a.timeouts, b.timeouts),
                window_cuts: with(a.window_cuts, b.window_cuts),
                undone: with(a.undone, b.undone),
                rtt_samples: with(a.rtt_samples, b.rtt_samples),
                rtt_sum: Duration::from_nanos(with(a.rtt_sum.as_nanos(), b.rtt_sum.as_nanos())),
            },
        }
    }
}

#[derive(Clone, Default)]
struct FlowCount {
    /// The totals of finished connections.
    finished: Totals,
    from: Totals,
    within: Totals,
    rtt_min: Option<Duration>,
    transfers: Vec<Transfer>,
    /// The integral of cwnd over time (segment nanoseconds), and the length of that time.
    cwnd_integral: f64,
    cwnd_time: f64,
    last_change: Time,
    /// Segments delivered and arrived at the last sample.
    probed: (u64, u64),
    running: bool,
}

#[derive(Clone, Copy, Default)]
struct StreamCount {
    from: CbrTally,
    within: CbrTally,
    probed_bytes: u64,
}

pub(crate) struct Tally {
    flows: Vec<FlowCount>,
    links: Vec<LinkMeter>,
    streams: Vec<StreamCount>,
    measuring: bool,
    series: Option<Series>,
}

impl Tally {
    pub(crate) fn new(flows: usize, streams: usize, links: usize, probing: bool) -> Tally {
        Tally {
            flows: vec![FlowCount::default(); flows],
            links: vec![LinkMeter::default(); links],
            streams: vec![StreamCount::default(); streams],
            measuring: false,
            series: probing.then(|| Series {
                at: Vec::new(),
                flows: vec![Vec::new(); flows],
                links: vec![Vec::new(); links],
                streams: vec![Vec::new(); streams],
                inner: vec![Default::default(); flows],
            }),
        }
    }

    /// Must be called before the window of a flow may change. Adds the time with the present window.
    #[inline]
    pub(crate) fn before_window_changes(&mut self, number: usize, now: Time, flow: &(impl Counted + ?Sized)) {
        self.of(number).before_window_changes(now, flow);
    }

    /// The counters of one flow, for several calls.
    #[inline]
    pub(crate) fn of(&mut self, number: usize) -> OneTally<'_> {
        OneTally { measuring: self.measuring, count: &mut self.flows[number] }
    }

    /// Exchanges the counters of a flow with those of another tally.
    pub(crate) fn exchange(&mut self, other: &mut Tally, flow: usize) {
        std::mem::swap(&mut self.flows[flow], &mut other.flows[flow]);
    }

    /// Measures if another tally does.
    pub(crate) fn measures_as(&mut self, other: &Tally) {
        self.measuring = other.measuring;
    }

    /// A connection begins. The time before it does not count.
    pub(crate) fn runs_from(&mut self, flow: usize, now: Time) {
        self.flows[flow].last_change = now;
        self.flows[flow].running = true;
    }

    /// A connection ends. Its window is already accounted for.
    pub(crate) fn runs_to(&mut self, flow: usize) {
        self.flows[flow].running = false;
    }

    /// A transfer of so many bytes was asked for at `begun`.
    pub(crate) fn transfer_begins(&mut self, flow: usize, begun: Time, bytes: u64) {
        self.flows[flow].transfers.push(Transfer { begun, bytes, took: None });
    }

    /// All of the flow's last transfer is acknowledged.
    pub(crate) fn transfer_done(&mut self, flow: usize, now: Time) {
        if let Some(transfer) = self.flows[flow].transfers.last_mut() {
            transfer.took = Some(now.since(transfer.begun));
        }
    }

    /// A finished connection is about to be replaced by a new one, whose counters begin at zero.
    pub(crate) fn connection_over(&mut self, number: usize, flow: &impl Counted) {
        let count = &mut self.flows[number];
        count.finished = count.totals(flow);
        count.note_rtt(flow);
    }

    pub(crate) fn measure_from<'a>(
        &mut self,
        now: Time,
        links: &mut [Link],
        flows: impl Iterator<Item = &'a dyn Counted>,
        streams: impl Iterator<Item = CbrTally>,
    ) {
        self.measuring = true;
        for (count, flow) in self.flows.iter_mut().zip(flows) {
            count.from = count.totals(flow);
            count.last_change = now;
        }
        self.links.iter_mut().zip(links).for_each(|(meter, link)| meter.begin(now, link));
        for (count, stream) in self.streams.iter_mut().zip(streams) {
            count.from = stream;
        }
    }

    pub(crate) fn measure_to<'a>(
        &mut self,
        now: Time,
        links: &[Link],
        flows: impl Iterator<Item = &'a dyn Counted>,
        streams: impl Iterator<Item = CbrTally>,
    ) {
        for (number, flow) in flows.enumerate() {
            self.before_window_changes(number, now, flow);
            let count = &mut self.flows[number];
            count.within = count.totals(flow).minus(&count.from);
        }
        self.measuring = false;
        self.links.iter_mut().zip(links).for_each(|(meter, link)| meter.end(now, link));
        for (count, to) in self.streams.iter_mut().zip(streams) {
            let from = count.from;
            count.within = CbrTally {
                sent: to.sent - from.sent,
                delivered: to.delivered - from.delivered,
                delivered_bytes: to.delivered_bytes - from.delivered_bytes,
            };
        }
    }

    pub(crate) fn probe<'a>(
        &mut self,
        now: Time,
        interval: Duration,
        links: &mut [Link],
        flows: impl Iterator<Item = &'a dyn Counted>,
        streams: impl Iterator<Item = CbrTally>,
    ) {
        let Some(series) = &mut self.series else { return };
        series.at.push(now);
        let per_second = 1.0 / interval.as_secs_f64();
        for (number, (count, flow)) in self.flows.iter_mut().zip(flows).enumerate() {
            let Totals { delivered, arrived, .. } = count.totals(flow);
            series.flows[number].push(Sample {
                delivered: (delivered - count.probed.0) as f32,
                arrived: (arrived - count.probed.1) as f32,
                ..flow.sample()
            });
            count.probed = (delivered, arrived);
            let (names, values) = &mut series.inner[number];
            let first = names.is_empty();
            flow.inspect(&mut |name, value| {
                if first {
                    names.push(name.to_owned());
                }
                values.push(value as f32);
            });
        }
        for ((meter, link), seen) in self.links.iter_mut().zip(links).zip(&mut series.links) {
            seen.push(meter.look(now, interval, link));
        }
        for ((count, stream), seen) in self.streams.iter_mut().zip(streams).zip(&mut series.streams) {
            let bits = (stream.delivered_bytes - count.probed_bytes) as f64 * 8.0;
            count.probed_bytes = stream.delivered_bytes;
            seen.push((bits * per_second) as f32);
        }
    }

    /// The samples so far, in the order of paths.
    pub(crate) fn series(&self) -> Option<&Series> {
        self.series.as_ref()
    }

    /// The measurements, in the order of paths.
    pub(crate) fn into_measured<'a>(
        self,
        in_flight: Vec<u64>,
        flows: impl Iterator<Item = &'a dyn Counted>,
    ) -> Measured {
        let mut delivered_segments = 0;
        let flows = self.flows.into_iter().zip(in_flight).zip(flows);
        let flows = flows.map(|((mut count, in_flight), flow)| {
            count.note_rtt(flow);
            let whole = count.totals(flow);
            delivered_segments += whole.delivered;
            FlowTally {
                delivered: count.within.delivered,
                arrived: count.within.arrived,
                duplicates: count.within.duplicates,
                counters: count.within.counters,
                rtt_min: count.rtt_min,
                cwnd_mean: if count.cwnd_time > 0.0 { count.cwnd_integral / count.cwnd_time } else { 0.0 },
                transfers: count.transfers,
                whole_run: (whole.counters.sent, whole.arrived, in_flight),
                ..FlowTally::default()
            }
        });
        Measured {
            flows: flows.collect(),
            streams: self.streams.into_iter().map(|count| count.within).collect(),
            links: self.links.iter().map(LinkMeter::tally).collect(),
            delivered_segments,
            series: self.series,
        }
    }
}

/// The counters of one flow, while nothing else is counted.
pub(crate) struct OneTally<'a> {
    measuring: bool,
    count: &'a mut FlowCount,
}

impl OneTally<'_> {
    /// As [`Tally::before_window_changes`].
    #[inline(always)]
    pub(crate) fn before_window_changes(&mut self, now: Time, flow: &(impl Counted + ?Sized)) {
        // No run is that long, and a signed integer is converted in one instruction.
        let stood = now.since(self.count.last_change).as_nanos() as i64 as f64;
        self.count.last_change = now;
        if self.measuring && self.count.running {
            self.count.cwnd_integral += flow.cwnd() * stood;
            self.count.cwnd_time += stood;
        }
    }
}

impl FlowCount {
    fn totals(&self, flow: &(impl Counted + ?Sized)) -> Totals {
        self.finished.plus(&flow.totals())
    }

    fn note_rtt(&mut self, flow: &(impl Counted + ?Sized)) {
        if let Some(rtt) = flow.rtt_min() {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
    }
}
