//! The sending endpoint: paces packets at the lower of the delay-based and the loss-based rate, and repairs
//! what is lost.

use super::delay::DelayBased;
use super::loss::LossBased;
use super::{Config, MIN_RTT};
use crate::blackout::Silence;
use crate::half::{Opening, SendingHalf};
use crate::packet::{Ack, Arrivals, Data, Report};
use crate::pair::Slot;
use crate::reliability::{MAX_AHEAD, NeverSent, Outbox, Progress, Sent};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Departures that are remembered. Reports of older packets say nothing of the delay.
const MAX_DEPARTURES: usize = 1 << 16;

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    bytes: u32,
    bits: f64,
    outbox: Outbox,
    /// True in `feedback = "arrivals"`; else only the rate of `delay` is used, which the receiver sets.
    decides: bool,
    delay: DelayBased,
    loss: LossBased,
    /// When packets left that are not reported yet; the first has the number `first_departure`.
    departures: VecDeque<Option<Time>>,
    first_departure: u64,
    resolution: Duration,
    /// Between reports.
    interval: Duration,
    silence: Silence,
    srtt: Duration,
    rtt_memory: f64,
    /// The departure of the last packet, and when the next one may leave at the rate of now.
    departed: Option<Time>,
    due: Time,
    timeout: Duration,
    /// When the rate halves without feedback.
    patience: Time,
    /// The echo whose rate counts.
    told: u64,
    timeouts: u64,
}

impl SendingHalf for Sender {
    fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        if now < self.due {
            return None;
        }
        let datum = match self.outbox.next(MAX_AHEAD) {
            Some(datum) => {
                self.silence.sent(now);
                datum
            }
            None => {
                let oldest = self.outbox.oldest()?;
                if now < self.silence.deadline(self.srtt + self.interval, Duration::ZERO) {
                    return None;
                }
                self.silence.probed(now);
                oldest
            }
        };
        self.departed = Some(now);
        self.schedule();
        Some(self.packet(datum, now))
    }

    fn poll_timeout(&self) -> Option<Time> {
        let departure = match self.outbox.next(MAX_AHEAD) {
            Some(_) => self.due,
            None => {
                self.outbox.oldest()?;
                self.due.max(self.silence.deadline(self.srtt + self.interval, Duration::ZERO))
            }
        };
        Some(departure.min(self.patience))
    }

    /// The rate halves without feedback.
    fn on_timeout(&mut self, now: Time) {
        if now >= self.patience {
            let half = self.rate() / 2.0;
            self.delay.set(half);
            self.loss.set(half);
            self.timeouts += 1;
            self.schedule();
            self.wait(now);
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) -> Result<Progress, NeverSent> {
        let progress = self.outbox.on_ack(ack)?;
        if progress != Progress::default() {
            self.silence.heard(now);
            self.wait(now);
        }
        if let Some(sample) = ack.rtt(now) {
            let (old, new) = (self.srtt.as_secs_f64(), sample.as_secs_f64());
            let srtt = Duration::from_secs_f64(self.rtt_memory * old + (1.0 - self.rtt_memory) * new);
            self.srtt = srtt.max(MIN_RTT);
        }
        match ack.report {
            Report::Arrivals(arrivals) if self.decides => self.on_arrivals(&arrivals),
            Report::Rate(rate)
                if !self.decides && ack.echo >= self.told && rate.is_finite() && rate > 0.0 =>
            {
                self.told = ack.echo;
                self.delay.set(rate);
            }
            _ => {}
        }
        self.loss.on_progress(now, &progress, self.delay.rate());
        self.schedule();
        Ok(progress)
    }

    /// The lower of both rates (section 6).
    fn allow(&mut self, last: u64) {
        self.outbox.allow(last);
    }

    fn rate(&self) -> f64 {
        self.delay.rate().min(self.loss.rate())
    }

    fn srtt(&self) -> Duration {
        self.srtt
    }

    fn sent(&self) -> Sent {
        self.outbox.sent()
    }

    fn timeouts(&self) -> u64 {
        self.timeouts
    }

    fn is_finished(&self) -> bool {
        self.outbox.is_done()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("delay_bps", self.delay.rate());
        see("loss_bps", self.loss.rate());
        if self.decides {
            self.delay.inspect(see);
        }
    }
}

impl Sender {
    /// A sender of data as the `opening` says.
    pub fn new(config: &Config, opening: Opening) -> Sender {
        let Opening { total, now, handshake } = opening;
        let mut sender = Sender {
            bytes: config.bytes,
            bits: config.bits(),
            outbox: Outbox::new(config.count("reorder"), total),
            decides: config.is("feedback", "arrivals"),
            delay: config.delay_based(),
            loss: config.loss_based(now),
            departures: VecDeque::new(),
            first_departure: 1,
            resolution: config.time("resolution"),
            interval: config.time("interval"),
            silence: Silence::new(config.number("silence"), now),
            srtt: handshake.max(MIN_RTT),
            rtt_memory: config.number("rtt_memory"),
            departed: None,
            due: now,
            timeout: config.time("timeout"),
            patience: now,
            told: 0,
            timeouts: 0,
        };
        sender.wait(now);
        sender
    }

    /// Packets arrived: each counts once.
    fn on_arrivals(&mut self, arrivals: &Arrivals) {
        for (number, arrived) in arrivals.iter(self.resolution) {
            let at = number.checked_sub(self.first_departure).and_then(|at| usize::try_from(at).ok());
            let departure = at.and_then(|at| self.departures.get_mut(at)).and_then(Option::take);
            if let Some(sent) = departure {
                self.delay.on_packet(sent, arrived, self.bytes, self.srtt);
            }
        }
        while self.departures.front() == Some(&None) {
            self.departures.pop_front();
            self.first_departure += 1;
        }
    }

    /// The rate or the last departure has changed.
    fn schedule(&mut self) {
        let interval = Duration::from_secs_f64(self.bits / self.rate()).max(Duration::from_nanos(1));
        if let Some(departed) = self.departed {
            self.due = departed + interval;
        }
    }

    /// Feedback is awaited from `now` on: longer than four packets and four round trips take.
    fn wait(&mut self, now: Time) {
        let packets = Duration::from_secs_f64(4.0 * self.bits / self.rate());
        self.patience = now + self.timeout.max(packets).max(self.srtt.saturating_mul(4));
    }

    fn packet(&mut self, datum: u64, now: Time) -> Data {
        let last = self.outbox.is_last(datum);
        let number = self.outbox.send(datum);
        if self.departures.len() == MAX_DEPARTURES {
            self.departures.pop_front();
            self.first_departure += 1;
        }
        self.departures.push_back(Some(now));
        Data { number, datum, bytes: self.bytes, sent: now, srtt: self.srtt, slot: Slot::Single, last }
    }
}
