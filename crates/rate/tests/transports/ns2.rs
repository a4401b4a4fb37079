//! TFRC beside a record of ns-2's, report by report: `benches/peers` recorded it under chosen losses.

use ackclock_rate::tfrc::allowed::{Allowed, Report, Settings};
use ackclock_rate::tfrc::history::History;
use ackclock_rate::tfrc::intervals::Intervals;
use ackclock_rate::tfrc::meter::Meter;
use ackclock_units::{Duration, Time};
use std::collections::BTreeMap;

/// The propagation round-trip time of the path, which the handshake of ours measures.
const RTT: Duration = Duration::from_millis(100);

/// A report of ns-2's receiver.
#[derive(Clone, Debug)]
struct Told {
    left: Time,
    came: Time,
    /// Five decimals. `None` in the first one after a loss, where ns-2 does not print it.
    loss_event_rate: Option<f64>,
    /// The rate of the sender after it, bytes per second.
    rate: f64,
    /// The loss intervals, the open one first. Empty before the first loss.
    intervals: Vec<f64>,
}

#[derive(Default)]
struct Record {
    sent: BTreeMap<u64, Time>,
    arrived: Vec<(Time, u64)>,
    reports: Vec<Told>,
}

fn time(text: &str) -> Time {
    let (seconds, nanos) = text.split_once('.').expect("a decimal point");
    let nanos = nanos.parse::<u64>().expect("nine decimals");
    Time::from_nanos(seconds.parse::<u64>().expect("seconds") * 1_000_000_000 + nanos)
}

fn record() -> Record {
    let mut record = Record::default();
    let number = |text: &str| text.parse::<f64>().expect("a number");
    for line in include_str!("tfrc.ns2").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["sent", packet, at] => drop(record.sent.insert(number(packet) as u64, time(at))),
            ["arrived", packet, at] => record.arrived.push((time(at), number(packet) as u64)),
            ["report", left, came, p, rate, ref intervals @ ..] => record.reports.push(Told {
                left: time(left),
                came: time(came),
                loss_event_rate: p.parse().ok(),
                rate: number(rate),
                intervals: intervals.iter().map(|length| number(length)).collect(),
            }),
            _ => panic!("{line}"),
        }
    }
    record
}

/// Closed loss intervals, oldest first, with the first report after each; an interval has closed where the
/// open one is shorter than before.
fn closed(reports: &[Told]) -> Vec<(Time, f64)> {
    let mut before = f64::INFINITY;
    let mut closed = Vec::new();
    for told in reports.iter().filter(|told| !told.intervals.is_empty()) {
        if told.intervals[0] < before {
            closed.push((told.left, told.intervals[1]));
        }
        before = told.intervals[0];
    }
    closed
}

/// The same packets arrive at the same times. The same reports tell of new loss events, and the intervals
/// are the same but for the first two. ns-2 fits the first one to a t_RTO of TCP and not to 4R (146 packets
/// instead of 133). It counts the second one from the first packet after its last report, and not from the
/// lost packet (44 instead of 40).
#[test]
fn loss_events_are_those_of_ns_2() {
    let record = record();
    let wanted = closed(&record.reports);
    let mut history = History::new(1000.0, 1, 0.5);
    let mut arrivals = record.arrived.iter().peekable();
    let mut events = Vec::new();
    let mut worst: f64 = 0.0;
    for (told, srtt) in record.reports.iter().zip(srtts(&record)) {
        let mut new = false;
        while let Some(&(at, packet)) = arrivals.next_if(|(at, _)| *at <= told.left) {
            new |= history.on_packet(at, packet + 1, srtt, 121_124.0); // X_recv of the path
        }
        if new {
            events.push(told.left);
        }
        // Nine intervals later both have left the average.
        if let Some(p) = told.loss_event_rate
            && events.len() > 10
        {
            worst = worst.max((history.loss_event_rate() / p - 1.0).abs());
        }
    }
    assert_eq!(events, wanted.iter().map(|&(left, _)| left).collect::<Vec<_>>());
    let lengths: Vec<f64> = wanted.iter().map(|&(_, length)| length).collect();
    assert_eq!(lengths[..2], [146.0, 44.0]);
    // The lost packets that begin events: the others are less than a round trip behind one of these.
    let begins = [60, 100, 150, 190, 230, 280, 330, 380, 430, 480, 530, 580, 1000, 1040, 1080, 1300];
    let between: Vec<f64> = begins.windows(2).map(|pair| f64::from(pair[1] - pair[0])).collect();
    assert_eq!(lengths[2..], between[1..]);
    // The open interval counts its last packet (RFC 5348 section 5.3), which ns-2 leaves out.
    assert!(worst < 0.0065, "{worst}");
}

/// With ns-2's own intervals the loss event rate is ns-2's in all decimals that it prints, discounting
/// included.
#[test]
fn the_average_of_ns_2s_intervals_is_ns_2s() {
    let record = record();
    let mut closed = closed(&record.reports).into_iter().peekable();
    let mut intervals = Intervals::new(0.5);
    let mut compared = 0;
    for told in record.reports.iter().filter(|told| !told.intervals.is_empty()) {
        if let Some((_, length)) = closed.next_if(|&(left, _)| left == told.left) {
            if intervals.mean().is_none() {
                intervals.begin(length);
            } else {
                intervals.close(length);
            }
        }
        intervals.grow(told.intervals[0]);
        if let Some(p) = told.loss_event_rate {
            assert!((intervals.loss_event_rate() - p).abs() < 5.001e-6, "{told:?}: {intervals:?}");
            compared += 1;
        }
    }
    assert!(compared > 100);
}

/// The sender's smoothed round-trip time as the packets before each report carried it: ns-2 has no other
/// sample than those of reports.
fn srtts(record: &Record) -> Vec<Duration> {
    let (rates, mut srtts) = (senders(record), Vec::new());
    for told in &record.reports {
        let echo = echo(record, told);
        let heard = rates.iter().rev().find(|(came, _, _)| *came <= record.sent[&echo]);
        srtts.push(heard.map_or(RTT, |&(_, _, srtt)| srtt));
    }
    srtts
}

/// The last packet that had arrived when the report left.
fn echo(record: &Record, told: &Told) -> u64 {
    let until = record.arrived.partition_point(|(at, _)| *at <= told.left);
    record.arrived[until - 1].1
}

/// Replays the reports at the sender: when each came, the rate, and the smoothed round-trip time.
fn senders(record: &Record) -> Vec<(Time, f64, Duration)> {
    let settings = Settings {
        memory: 0.95,
        tick: RTT,
        damped: true,
        gradual: true,
        ramped: true,
        patience: 2.0,
        ..Settings::recommended(1000.0)
    };
    let mut allowed = Allowed::new(settings, Time::ZERO, RTT);
    let mut meter = Meter::new(record.arrived[0].0);
    let mut arrivals = record.arrived.iter().peekable();
    let mut heard: Vec<(Time, f64, Duration)> = Vec::new();
    let mut events = closed(&record.reports).into_iter().peekable();
    for told in &record.reports {
        while arrivals.next_if(|(at, _)| *at <= told.left).is_some() {
            meter.add(1000);
        }
        let sent = record.sent[&echo(record, told)];
        let srtt = heard.iter().rev().find(|(came, _, _)| *came <= sent).map_or(RTT, |&(_, _, srtt)| srtt);
        let received = meter.rate(told.left, srtt);
        meter.report(told.left);
        let first = || 1.0 / told.intervals[1]; // what is not printed
        let report = Report {
            rtt: told.came.since(sent),
            loss_event_rate: told.loss_event_rate.unwrap_or_else(first),
            received,
            new_loss_event: events.next_if(|&(left, _)| left == told.left).is_some(),
            data_limited: false,
        };
        allowed.on_report(told.came, &report);
        heard.push((told.came, allowed.rate(), allowed.rtt()));
    }
    heard
}

/// With ns-2's reports the sender has ns-2's rate after each of them: in slow start to all digits, later to
/// 0.04 %, which is what five decimals of the loss event rate leave open. The first report after a loss is
/// the exception: ns-2 reports the length of the first interval before it rounds it down to whole packets.
#[test]
fn the_rate_after_each_report_is_that_of_ns_2() {
    let record = record();
    let mut heard = 0;
    for (told, (came, rate, _)) in record.reports.iter().zip(senders(&record)) {
        assert_eq!(came, told.came);
        let most = match told.loss_event_rate {
            Some(0.0) => 1e-8,
            Some(_) => 4e-4,
            None => 1.0 / told.intervals[1],
        };
        assert!((rate / told.rate - 1.0).abs() < most, "{rate} after {told:?}");
        heard += 1;
    }
    assert_eq!(heard, record.reports.len());
}
