//! The receiving endpoint: reports arrivals, or the rate of a delay-based controller of its own.

use super::delay::DelayBased;
use super::{Config, MIN_RTT};
use crate::half::ReceivingHalf;
use crate::packet::{Ack, Arrivals, Data, MAX_ARRIVALS, Report};
use crate::reliability::Inbox;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Arrivals that may wait for a report. Older ones are not reported.
const MAX_WAITING: usize = 1 << 16;

/// The share of the last rate below which a new one is reported at once, as REMB does.
const FALL: f64 = 0.97;

/// An arrival.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    number: u64,
    sent: Time,
    at: Time,
}

/// A receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    ack_bytes: u32,
    ack_every: u64,
    interval: Duration,
    resolution: Duration,
    inbox: Inbox,
    /// In `feedback = "remb"`.
    delay: Option<DelayBased>,
    /// In `feedback = "arrivals"`: what is not reported yet, lowest number first.
    waiting: VecDeque<Arrival>,
    /// The highest packet. `None` before the first.
    highest: Option<Arrival>,
    srtt: Duration,
    /// When the last report left, and the rate that it asked for.
    reported: Time,
    asked: f64,
    /// Packets since the last report, and since the last acknowledgement.
    unreported: u64,
    unacknowledged: u64,
    /// The last datum has arrived: its number.
    last: Option<u64>,
    duplicates: u64,
}

impl ReceivingHalf for Receiver {
    /// A report on the first packet, after a pause, and when the asked rate falls; an acknowledgement without
    /// a report where repair needs one.
    fn on_packet(&mut self, now: Time, data: &Data) -> Option<Ack> {
        let accepted = self.inbox.on_packet(data.number, data.datum)?;
        self.srtt = data.srtt.max(MIN_RTT);
        if data.last {
            self.last = Some(data.datum);
        }
        self.duplicates += u64::from(!accepted.useful);
        let first = self.highest.is_none();
        if accepted.fresh {
            self.note(now, data);
        }
        let falls = self.delay.as_ref().is_some_and(|delay| delay.rate() < FALL * self.asked);
        if accepted.fresh && (first || falls || now.since(self.reported) >= self.interval) {
            return Some(self.report(now));
        }
        self.unacknowledged += 1;
        let waited_for = !accepted.useful || self.is_complete();
        if waited_for || self.unacknowledged >= self.ack_every {
            let highest = self.highest?;
            return Some(self.acknowledge(now, highest, Report::Nothing));
        }
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.unreported > 0 && !self.is_complete()).then(|| self.reported + self.interval)
    }

    /// Reports until there is nothing left to report.
    fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        if now < self.poll_timeout()? {
            return None;
        }
        Some(self.report(now))
    }

    fn delivered(&self) -> u64 {
        self.inbox.delivered()
    }

    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    fn rate(&self) -> Option<f64> {
        self.delay.as_ref().filter(|_| self.highest.is_some()).map(DelayBased::rate)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(delay) = &self.delay {
            delay.inspect(see);
        }
    }
}

impl Receiver {
    /// A receiver.
    pub fn new(config: &Config) -> Receiver {
        let decides = config.is("feedback", "remb");
        Receiver {
            ack_bytes: config.count("ack") as u32, // at most 1400
            ack_every: config.count("ack_every"),
            interval: config.time("interval"),
            resolution: config.time("resolution"),
            inbox: Inbox::default(),
            delay: decides.then(|| config.delay_based()),
            waiting: VecDeque::new(),
            highest: None,
            srtt: MIN_RTT,
            reported: Time::ZERO,
            asked: 0.0,
            unreported: 0,
            unacknowledged: 0,
            last: None,
            duplicates: 0,
        }
    }

    fn is_complete(&self) -> bool {
        self.last.is_some_and(|last| self.inbox.delivered() >= last)
    }

    /// A packet arrived that is no duplicate.
    fn note(&mut self, now: Time, data: &Data) {
        let arrival = Arrival { number: data.number, sent: data.sent, at: now };
        if self.highest.is_none_or(|highest| data.number > highest.number) {
            self.highest = Some(arrival);
        }
        if let Some(delay) = &mut self.delay {
            delay.on_packet(data.sent, now, data.bytes, self.srtt);
            self.unreported += 1;
            return;
        }
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        let below = self.waiting.iter().rposition(|other| other.number < data.number);
        self.waiting.insert(below.map_or(0, |below| below + 1), arrival);
        self.unreported = self.waiting.len() as u64;
    }

    /// The next report. There is something to report.
    fn report(&mut self, now: Time) -> Ack {
        let mut highest = self.highest.unwrap_or(Arrival { number: 0, sent: now, at: now });
        let report = match &self.delay {
            Some(delay) => {
                (self.asked, self.unreported) = (delay.rate(), 0);
                Report::Rate(self.asked)
            }
            None => {
                let mut arrivals = Arrivals::default();
                while let Some(next) = self.waiting.front() {
                    if !arrivals.add(next.number, next.at, self.resolution) {
                        break;
                    }
                    highest = *next;
                    self.waiting.pop_front();
                }
                self.unreported = self.waiting.len() as u64;
                Report::Arrivals(arrivals)
            }
        };
        if self.unreported == 0 {
            self.reported = now; // all reports of an interval leave at once
        }
        self.acknowledge(now, highest, report)
    }

    /// An acknowledgement that echoes `echo`.
    fn acknowledge(&mut self, now: Time, echo: Arrival, report: Report) -> Ack {
        self.unacknowledged = 0;
        let arrivals = if let Report::Arrivals(arrivals) = report { arrivals.len() } else { 0 };
        Ack {
            echo: echo.number,
            cumulative: self.inbox.delivered(),
            sack: self.inbox.sack(echo.number),
            // Two bytes each, as in the extensions for transport-wide congestion control.
            bytes: self.ack_bytes + 2 * arrivals.min(MAX_ARRIVALS) as u32,
            echoed: Some(echo.sent),
            held: now.since(echo.at),
            report,
        }
    }
}
