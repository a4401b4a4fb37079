//! The receiving endpoint: measures loss events and what is received, and reports once per round trip.

use super::history::History;
use super::meter::Meter;
use super::{Config, MIN_RTT};
use crate::half::ReceivingHalf;
use crate::packet::{Ack, Data, Report};
use crate::reliability::Inbox;
use ackclock_units::{Duration, Time};

/// What is known of the packet that a report echoes.
#[derive(Clone, Copy, Debug)]
struct Echo {
    number: u64,
    sent: Time,
    arrived: Time,
}

/// A receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    header: u32,
    ack_bytes: u32,
    ack_every: u64,
    inbox: Inbox,
    history: History,
    /// `None` before the first packet.
    meter: Option<Meter>,
    /// The highest X_recv so far.
    most: f64,
    srtt: Duration,
    /// The highest packet.
    echo: Option<Echo>,
    /// When the last report left.
    reported: Time,
    /// Packets since the last report, and since the last acknowledgement.
    unreported: u64,
    unacknowledged: u64,
    /// The last datum has arrived: its number.
    last: Option<u64>,
    duplicates: u64,
}

impl ReceivingHalf for Receiver {
    /// A report on the first packet, on a new loss event, and when the last report is a round trip old. An
    /// acknowledgement without a report where repair needs one.
    fn on_packet(&mut self, now: Time, data: &Data) -> Option<Ack> {
        let accepted = self.inbox.on_packet(data.number, data.datum)?;
        self.srtt = data.srtt.max(MIN_RTT);
        if data.last {
            self.last = Some(data.datum);
        }
        self.duplicates += u64::from(!accepted.useful);
        if self.echo.is_none_or(|echo| data.number > echo.number) {
            self.echo = Some(Echo { number: data.number, sent: data.sent, arrived: now });
        }
        let first = self.meter.is_none();
        let new = accepted.fresh && self.count(now, data);
        if accepted.fresh && (first || new || now.since(self.reported) >= self.srtt) {
            return self.report(now, new);
        }
        self.unacknowledged += 1;
        // The sender does not know of a datum that it sends again. What it waits for is told at once.
        let waited_for = !accepted.useful || self.is_complete();
        (waited_for || self.unacknowledged >= self.ack_every).then(|| self.acknowledge(now, Report::Nothing))
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.unreported > 0 && !self.is_complete()).then(|| self.reported + self.srtt)
    }

    /// The feedback timer (section 6.2).
    fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        if now < self.poll_timeout()? {
            return None;
        }
        self.report(now, false)
    }

    fn delivered(&self) -> u64 {
        self.inbox.delivered()
    }

    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("loss_event_rate", self.loss_event_rate());
    }
}

impl Receiver {
    /// A receiver.
    pub fn new(config: &Config) -> Receiver {
        let reorder = config.count("reorder") as usize; // at most 1000
        Receiver {
            header: config.header(),
            ack_bytes: config.count("ack") as u32, // at most 1500
            ack_every: config.count("ack_every"),
            inbox: Inbox::default(),
            history: History::new(config.size(), reorder, config.number("discount")),
            meter: None,
            most: 0.0,
            srtt: MIN_RTT,
            echo: None,
            reported: Time::ZERO,
            unreported: 0,
            unacknowledged: 0,
            last: None,
            duplicates: 0,
        }
    }

    /// p, the loss event rate.
    pub fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate()
    }

    fn is_complete(&self) -> bool {
        self.last.is_some_and(|last| self.inbox.delivered() >= last)
    }

    /// A packet that is no duplicate. True if it shows a new loss event.
    fn count(&mut self, now: Time, data: &Data) -> bool {
        let payload = data.bytes.saturating_sub(self.header).max(1);
        let meter = self.meter.get_or_insert(Meter::new(now));
        meter.add(payload);
        self.unreported += 1;
        // X_target: the highest X_recv so far, or half a packet per round trip if there is none (6.3.1).
        let target = if self.most > 0.0 {
            self.most.max(meter.rate(now, self.srtt))
        } else {
            0.5 * f64::from(payload) / self.srtt.as_secs_f64()
        };
        self.history.on_packet(now, data.number, self.srtt, target)
    }

    fn report(&mut self, now: Time, new: bool) -> Option<Ack> {
        let meter = self.meter.as_mut()?;
        let received = meter.rate(now, self.srtt);
        meter.report(now);
        self.most = self.most.max(received);
        (self.reported, self.unreported) = (now, 0);
        let rate = self.history.loss_event_rate();
        Some(self.acknowledge(now, Report::LossEvents { rate, received, new }))
    }

    fn acknowledge(&mut self, now: Time, report: Report) -> Ack {
        self.unacknowledged = 0;
        let echo = self.inbox.highest();
        let known = self.echo.filter(|known| known.number == echo);
        Ack {
            echo,
            cumulative: self.inbox.delivered(),
            sack: self.inbox.sack(echo),
            bytes: self.ack_bytes,
            echoed: known.map(|known| known.sent),
            held: known.map_or(Duration::ZERO, |known| now.since(known.arrived)),
            report,
        }
    }
}
