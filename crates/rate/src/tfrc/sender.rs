//! The sending endpoint: paces packets at the allowed rate, and repairs what is lost.

use super::allowed::{Allowed, Report};
use super::limited::Limited;
use super::{Config, MIN_RTT};
use crate::blackout::Silence;
use crate::half::{Opening, SendingHalf};
use crate::packet::{self, Ack, Data};
use crate::pair::Slot;
use crate::reliability::{MAX_AHEAD, NeverSent, Outbox, Progress, Sent};
use ackclock_units::{Duration, Time};

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    bytes: u32,
    /// s, bytes.
    size: f64,
    /// Bits on the wire per byte of payload.
    wire: f64,
    outbox: Outbox,
    allowed: Allowed,
    limited: Limited,
    silence: Silence,
    /// The departure of the last packet, and when the next one may leave at the rate of now.
    departed: Option<Time>,
    due: Time,
    /// When the nofeedback timer expires.
    patience: Time,
    /// Nothing was sent since it was set.
    idle: bool,
    /// The echo whose report counts.
    told: u64,
    timeouts: u64,
}

impl SendingHalf for Sender {
    fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        let next = self.outbox.next(MAX_AHEAD);
        if now < self.due {
            if next.is_some() {
                self.limited.has_enough(now); // the rate limits it
            }
            return None;
        }
        let datum = match next {
            Some(datum) => {
                self.silence.sent(now);
                datum
            }
            None => {
                let oldest = self.outbox.oldest()?;
                if now < self.silence.deadline(self.srtt(), Duration::ZERO) {
                    return None;
                }
                self.silence.probed(now);
                oldest
            }
        };
        self.departed = Some(now);
        self.idle = false;
        self.allowed.on_packet();
        self.schedule();
        Some(self.packet(datum, now))
    }

    fn poll_timeout(&self) -> Option<Time> {
        let departure = match self.outbox.next(MAX_AHEAD) {
            Some(_) => self.due,
            None => {
                self.outbox.oldest()?;
                self.due.max(self.silence.deadline(self.srtt(), Duration::ZERO))
            }
        };
        Some(departure.min(self.patience))
    }

    /// The nofeedback timer (section 4.4).
    fn on_timeout(&mut self, now: Time) {
        if now >= self.patience {
            self.allowed.on_silence(now, self.idle);
            self.timeouts += 1;
            self.wait(now);
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) -> Result<Progress, NeverSent> {
        let progress = self.outbox.on_ack(ack)?;
        if progress != Progress::default() {
            self.silence.heard(now);
        }
        if let packet::Report::LossEvents { rate, received, new } = ack.report
            && let (Some(rtt), Some(sent)) = (ack.rtt(now), ack.echoed)
            && ack.echo >= self.told
            && (0.0..=1.0).contains(&rate)
            && received.is_finite()
            && received >= 0.0
        {
            self.told = ack.echo;
            self.silence.heard(now);
            let data_limited = self.limited.on_report(now, sent, self.srtt());
            let (loss_event_rate, new_loss_event) = (rate, new);
            let report = Report { rtt, loss_event_rate, received, new_loss_event, data_limited };
            self.allowed.on_report(now, &report);
            self.wait(now);
        }
        Ok(progress)
    }

    fn allow(&mut self, last: u64) {
        self.outbox.allow(last);
    }

    fn rate(&self) -> f64 {
        self.allowed.instant_rate() * self.wire
    }

    fn srtt(&self) -> Duration {
        self.allowed.rtt().max(MIN_RTT)
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
        see("reported_loss_event_rate", self.allowed.loss_event_rate());
    }
}

impl Sender {
    /// A sender of data as the `opening` says.
    pub fn new(config: &Config, opening: Opening) -> Sender {
        let Opening { total, now, handshake } = opening;
        let allowed = Allowed::new(config.allowed(), now, handshake.max(MIN_RTT));
        Sender {
            bytes: config.bytes,
            size: config.size(),
            wire: config.wire(),
            outbox: Outbox::new(config.count("reorder"), total),
            patience: now + allowed.patience(),
            allowed,
            limited: Limited::default(),
            silence: Silence::new(config.number("silence"), now),
            departed: None,
            due: now,
            idle: true,
            told: 0,
            timeouts: 0,
        }
    }

    /// The rate or the last departure has changed (section 4.6).
    fn schedule(&mut self) {
        let interval = Duration::from_secs_f64(self.size / self.allowed.instant_rate());
        if let Some(departed) = self.departed {
            self.due = departed + interval.max(Duration::from_nanos(1));
        }
    }

    /// The rate has changed: sets the nofeedback timer.
    fn wait(&mut self, now: Time) {
        self.schedule();
        self.patience = now + self.allowed.patience().max(Duration::from_nanos(1));
        self.idle = true;
    }

    fn packet(&mut self, datum: u64, now: Time) -> Data {
        let last = self.outbox.is_last(datum);
        let number = self.outbox.send(datum);
        Data { number, datum, bytes: self.bytes, sent: now, srtt: self.srtt(), slot: Slot::Single, last }
    }
}
