//! Made-up results. They have the shape of a run's results, so that expressions can be checked before the
//! run: every label, axis and function must exist.

use crate::traced::known;
use ackclock_cc::predictor::predictors;
use ackclock_net::LinkTally;
use ackclock_net::Rng;
use ackclock_rate::loss::{Label, Tally};
use ackclock_rate::{Receiver, Sender};
use ackclock_scenario::flow_trace::{Episode, Estimate, Event, EventKind, FlowTrace, SegmentTrace};
use ackclock_scenario::measured::{CbrTally, FlowTally, Measured, RateTally, Transfer};
use ackclock_scenario::predictions::{BINS, Counts, Outcome, Predicted, Predictions};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::{Sample, Series};
use ackclock_scenario::traced::{TracedAck, TracedFlow};
use ackclock_scenario::writing::BurstTally;
use ackclock_scenario::{Built, Control, Point};
use ackclock_tcp::Counters;
use ackclock_units::{Duration, Time};

/// The largest number of made-up samples, over all flows. With more, the probes' interval is made longer.
pub(crate) const MAX_SAMPLES: usize = 1_000_000;

/// A result with the shape of this point's results. The numbers are arbitrary, positive, and different for
/// each `variant`, so that one variant or another evaluates both sides of an `and` or `or`. The probes look
/// at most so many times, `samples`, at all flows together; also tells whether that is less often than they
/// will.
pub(crate) fn dry_run(point: &Point, built: &Built, variant: u64, samples: usize) -> (PointResult, bool) {
    let scenario = &point.scenario;
    let mut draws = Rng::new(variant, "imagined");
    let mut number = |most: u64| 1 + (draws.between(0.0, 1.0) * most as f64) as u64;
    let flows = built.plan.flows.iter().map(|flow| FlowTally {
        delivered: number(1_000_000),
        arrived: number(1_000_000),
        rtt_min: Some(Duration::from_micros(number(1_000_000))),
        cwnd_mean: number(10_000) as f64,
        transfers: vec![Transfer {
            begun: Time::ZERO,
            bytes: number(1_000_000_000),
            took: Some(Duration::from_micros(number(100_000_000))),
        }],
        bursts: flow.writing.and_then(|writing| writing.bursts).map(|bursts| BurstTally {
            size: bursts.size,
            due: bursts.count,
            ends: (1..=bursts.count.min(COURSE)).map(|end| bursts.every.saturating_mul(end)).collect(),
            failed_cycles: number(1000),
            written: number(1_000_000_000),
            writing: Duration::from_micros(number(100_000_000)),
            received: number(1_000_000_000),
            receiving: Duration::from_micros(number(100_000_000)),
        }),
        rate: flow.control.transport().map(|_| RateTally {
            rate: number(1_000_000_000) as f64,
            lost: number(1000),
            loss_event_rate: Some(0.01),
            labels: labels(),
        }),
        counters: Counters {
            sent: number(1_000_000),
            retransmits: number(1000),
            fast_retransmits: number(1000),
            timeouts: number(1000),
            window_cuts: number(1000),
            rtt_samples: 1,
            rtt_sum: Duration::from_micros(number(1_000_000)),
            ..Counters::default()
        },
        ..FlowTally::default()
    });
    let flows = flows.collect();
    let streams = built.streams.iter().map(|_| CbrTally {
        sent: number(1_000_000),
        delivered: number(1_000_000),
        delivered_bytes: number(1_000_000_000),
    });
    let streams = streams.collect();
    let window = scenario.measure.1 - scenario.measure.0;
    let links = built.links.iter().map(|_| {
        let mut tally =
            LinkTally { busy: window.mul_f64(number(1000) as f64 / 1001.0), ..LinkTally::default() };
        tally.counters.arrivals = number(1_000_000);
        tally.counters.overflows = number(1000);
        tally.counters.marks = number(1000);
        tally.counters.longest = number(1000) as u32;
        tally
    });
    let links = links.collect();
    let most = (samples / built.plan.flows.len().max(1)).max(1) as u64;
    let shortest = Duration::from_nanos(scenario.duration.as_nanos() / most);
    let series = scenario
        .probe
        .map(|interval| looks(built, scenario.duration, interval.max(shortest), number(1000) as f32));
    let thinned = scenario.probe.is_some_and(|interval| interval < shortest);
    let measured = Measured { flows, streams, links, delivered_segments: number(1_000_000), series };
    let span = (
        scenario.duration.as_secs_f64(),
        [scenario.measure.0.as_secs_f64(), scenario.measure.1.as_secs_f64()],
    );
    let mut result = PointResult::new(&point.parameters, built, scenario.seed, span, measured, 1.0);
    let step = scenario.duration.as_nanos() / (COURSE + 1);
    result.courses = built.followed.iter().map(|&flow| course(flow, step, number(10_000) as f64)).collect();
    result.predictions = built.prediction.map(|_| predictions(&mut number));
    result.traced = built.traced.map_or(Vec::new(), |_| traces(result.flows.len(), &mut number));
    (result, thinned)
}

/// Made-up traces of every flow.
fn traces(flows: usize, number: &mut dyn FnMut(u64) -> u64) -> Vec<TracedFlow> {
    let mut numbers = || known().into_keys().map(|name| (name, number(1000) as f64)).collect();
    let ack = |at: u64| TracedAck {
        at_s: at as f64 / 1e3,
        acked_bytes: 1000 * at,
        outstanding_bytes: 1000 * at,
        sent: at,
    };
    let trace = |flow| TracedFlow {
        flow,
        data: numbers(),
        acknowledgements: numbers(),
        data_at_s: (1..=COURSE).map(|at| at as f64 / 1e3).collect(),
        acks: (1..=COURSE).map(ack).collect(),
    };
    (0..flows).map(trace).collect()
}

/// Made-up predictions.
fn predictions(number: &mut dyn FnMut(u64) -> u64) -> Predictions {
    let mut outcome = || Outcome {
        transitions: Counts {
            low_to_high: number(1000),
            high_to_loss: number(1000),
            loss_to_low: number(1000),
            low_to_loss: number(1000),
            high_to_low: number(1000),
            loss_to_high: number(1000),
        },
        efficiency: Some(number(1000) as f64 / 1001.0),
        false_positives: Some(number(1000) as f64 / 1001.0),
        false_negatives: Some(number(1000) as f64 / 1001.0),
        queue_at_false_positives: Some([1.0 / BINS as f64; BINS]),
    };
    let predicted = predictors().iter().map(|entry| Predicted {
        name: entry.name.to_owned(),
        flow_losses: outcome(),
        queue_losses: Some(outcome()),
    });
    Predictions {
        predictors: predicted.collect(),
        samples: number(1_000_000) as usize,
        flow_losses: number(1000) as usize,
        queue_losses: Some(number(1000) as usize),
    }
}

/// The number of events of each kind in a made-up trace.
const COURSE: u64 = 50;

/// A made-up trace with events of all kinds, one step apart.
fn course(flow: usize, step: u64, value: f64) -> FlowTrace {
    let steps = || (1..=COURSE).map(|number| (number, number * step));
    let events = steps().flat_map(|(segment, at_ns)| {
        EventKind::ALL.iter().map(move |&(_, what)| Event { at_ns, what, segment })
    });
    let life = |(number, sent_ns): (u64, u64)| SegmentTrace {
        sent_ns,
        again: (number % 2) as u32,
        arrived_ns: Some(sent_ns + step),
    };
    let estimate =
        |(_, at_ns)| Estimate { at_ns, rtt_s: Some(value), srtt_s: value, rttvar_s: value, cwnd: value };
    let episode =
        |(from, begins_ns)| Episode { begins_ns, ends_ns: Some(begins_ns + step), from, to: from + 1 };
    FlowTrace {
        flow,
        events: events.collect(),
        segments: steps().map(life).collect(),
        estimates: steps().map(estimate).collect(),
        episodes: steps().map(episode).collect(),
        tapped: false,
        queue: None,
    }
}

/// Made-up samples: always the same values.
fn looks(built: &Built, duration: Duration, interval: Duration, value: f32) -> Series {
    let interval = interval.as_nanos().max(1);
    let count = 1 + (duration.as_nanos() / interval) as usize;
    let sample = Sample {
        cwnd: value,
        ssthresh: value,
        srtt_s: value,
        in_flight: value,
        delivered: value,
        arrived: value,
    };
    Series {
        at: (0..count as u64).map(|look| Time::from_nanos(interval * look)).collect(),
        flows: vec![vec![sample; count]; built.plan.flows.len()],
        links: vec![vec![(1, value); count]; built.links.len()],
        streams: vec![vec![value; count]; built.streams.len()],
        inner: built.plan.flows.iter().map(|flow| variables(&flow.control, count, value)).collect(),
    }
}

/// One loss of each kind.
fn labels() -> Tally {
    let mut labels = Tally::default();
    for label in [Label::Congestion, Label::Transmission] {
        for cause in [Some(Label::Congestion), Some(Label::Transmission), None] {
            labels.add(label, cause, true);
            labels.add(label, cause, false);
        }
    }
    labels
}

/// The names of a control's own variables, and made-up values.
fn variables(control: &Control, looks: usize, value: f32) -> (Vec<String>, Vec<f32>) {
    let mut names = Vec::new();
    let mut name = |name: &'static str, _: f64| names.push(name.to_owned());
    match control {
        Control::Window(settings) => settings.build().inspect(&mut name),
        Control::Rate(transport) => {
            Sender::new(transport, 1000, None, Time::ZERO, Duration::from_millis(1)).inspect(&mut name);
            Receiver::new(transport, 1000).inspect(&mut name);
        }
    }
    let values = vec![value; names.len() * looks];
    (names, values)
}
