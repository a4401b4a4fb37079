//! The sending endpoint: paces packets at the rate it is told, in pairs, and repairs what is lost.

use super::{Config, MIN_RTT, Obedience};
use crate::acknowledged::Acknowledged;
use crate::blackout::Silence;
use crate::half::{Opening, SendingHalf};
use crate::law::{Limits, start};
use crate::packet::{Ack, Data, Report};
use crate::pair::{Pattern, Slot};
use crate::reliability::{NeverSent, Outbox, Progress, Sent};
use ackclock_units::{Duration, Time};

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    bytes: u32,
    bits: f64,
    limits: Limits,
    outbox: Outbox,
    pattern: Pattern,
    silence: Silence,
    /// bit/s
    rate: f64,
    /// What the receiver wishes for, bit/s.
    wish: f64,
    obedience: Obedience,
    /// The rate of the start, bit/s: it needs no acknowledgement. Who had little to send may send it again.
    start: f64,
    acknowledged: Acknowledged,
    srtt: Duration,
    rtt_memory: f64,
    window: f64,
    least_window: f64,
    tick: Duration,
    /// The nominal departure of the last packet, and the intervals that follow it.
    departed: Option<(Time, u32)>,
    /// When the next packet would leave at the rate of now, if the clock were exact; and the first tick of
    /// the clock at which it may leave.
    nominal: Time,
    due: Time,
    /// The window in data, from the oldest that is not acknowledged.
    open: u64,
    /// The departure of the first packet of a pair.
    paired: Time,
    /// The echo whose rate counts.
    told: u64,
    /// Packets that the timer sent into silence.
    expiries: u64,
}

impl SendingHalf for Sender {
    fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        match self.outbox.next(self.open) {
            Some(datum) => {
                if now < self.due {
                    return None;
                }
                let slot = self.slot(now);
                // Time that was not used is lost, but for one tick of a coarse clock.
                let late = Time::from_nanos(now.as_nanos().saturating_sub(self.tick.as_nanos()));
                self.departed = Some((self.nominal.max(late), self.pattern.advance()));
                self.silence.sent(now);
                self.plan();
                Some(self.packet(datum, slot, now))
            }
            None => {
                let oldest = self.outbox.oldest()?;
                if now < self.silence.deadline(self.srtt, Duration::ZERO) {
                    return None;
                }
                self.expiries += 1;
                self.silence.probed(now);
                Some(self.packet(oldest, Slot::Single, now))
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.outbox.next(self.open).is_some() {
            return Some(self.due);
        }
        self.outbox.oldest().map(|_| self.silence.deadline(self.srtt, Duration::ZERO))
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) -> Result<Progress, NeverSent> {
        let progress = self.outbox.on_ack(ack)?;
        if let Some(sample) = ack.rtt(now) {
            let (old, new) = (self.srtt.as_secs_f64(), sample.as_secs_f64());
            let srtt = Duration::from_secs_f64(self.rtt_memory * old + (1.0 - self.rtt_memory) * new);
            self.srtt = srtt.max(MIN_RTT);
        }
        // What the receiver sends into silence must not keep the sender from probing.
        if (ack.echoed.is_some() || progress != Progress::default()) && self.silence.heard(now) {
            self.acknowledged.restart();
        }
        self.acknowledged.on_ack(now, progress.reported, self.bits, self.srtt);
        if let Report::Rate(rate) = ack.report
            && ack.echo >= self.told
            && rate.is_finite()
            && rate > 0.0
        {
            self.told = ack.echo;
            self.wish = rate;
        }
        self.rate = self.limits.hold(match self.obedience {
            Obedience::All => self.wish,
            Obedience::Twice => self.wish.min((2.0 * self.acknowledged.rate()).max(self.start)),
        });
        self.plan();
        Ok(progress)
    }

    fn allow(&mut self, last: u64) {
        self.outbox.allow(last);
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn srtt(&self) -> Duration {
        self.srtt
    }

    fn sent(&self) -> Sent {
        self.outbox.sent()
    }

    fn timeouts(&self) -> u64 {
        self.expiries
    }

    fn is_finished(&self) -> bool {
        self.outbox.is_done()
    }
}

impl Sender {
    /// A sender of data as the `opening` says.
    pub fn new(config: &Config, opening: Opening) -> Sender {
        let limits = config.limits();
        let srtt = opening.handshake.max(MIN_RTT);
        let rate = limits.hold(start(config.number("start"), config.bits(), srtt));
        let mut sender = Sender {
            bytes: config.bytes,
            bits: config.bits(),
            limits,
            outbox: Outbox::new(config.count("reorder"), opening.total),
            pattern: Pattern::new(config.pairing(), config.count("pair_every")),
            silence: Silence::new(config.number("silence"), opening.now),
            rate,
            wish: rate,
            obedience: config.obedience(),
            start: rate,
            acknowledged: Acknowledged::new(rate),
            srtt,
            rtt_memory: config.number("rtt_memory"),
            window: config.number("window"),
            least_window: config.count("least_window") as f64,
            tick: config.settings.get("tick"),
            departed: None,
            nominal: Time::ZERO,
            due: Time::ZERO,
            open: 0,
            paired: Time::NEVER,
            told: 0,
            expiries: 0,
        };
        sender.plan();
        sender
    }

    /// True during a blackout.
    pub fn is_dark(&self) -> bool {
        self.silence.is_dark()
    }

    /// The window in data, from the oldest that is not acknowledged.
    pub fn window(&self) -> u64 {
        self.open
    }

    /// The rate, the round-trip time or the last departure has changed.
    fn plan(&mut self) {
        let product = self.window * self.rate * self.srtt.as_secs_f64() / self.bits;
        self.open = product.max(self.least_window) as u64;
        let Some((departed, intervals)) = self.departed else { return };
        self.nominal = departed + Duration::from_secs_f64(f64::from(intervals) * self.bits / self.rate);
        self.due = match self.tick.as_nanos() {
            0 => self.nominal,
            tick => Time::from_nanos(self.nominal.as_nanos().div_ceil(tick).saturating_mul(tick)),
        };
    }

    /// The slot of the packet that leaves now. A second packet that missed its first is none.
    fn slot(&mut self, now: Time) -> Slot {
        if self.pattern.slot() == Slot::Second && self.paired != now {
            self.pattern.restart();
        }
        let slot = self.pattern.slot();
        if slot == Slot::First {
            self.paired = now;
        }
        slot
    }

    fn packet(&mut self, datum: u64, slot: Slot, now: Time) -> Data {
        let last = self.outbox.is_last(datum);
        let number = self.outbox.send(datum);
        Data { number, datum, bytes: self.bytes, sent: now, srtt: self.srtt, slot, last }
    }
}
