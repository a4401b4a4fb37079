//! The receiving endpoint: estimates the capacity, labels losses, decides the rate and acknowledges.

use super::{Config, MIN_RTT};
use crate::blackout::Silence;
use crate::half::ReceivingHalf;
use crate::jitter::{Change, Jitter};
use crate::kde::Kde;
use crate::law::{JitterLaw, Limits, RateLaw, start};
use crate::loss::{Arrival, Causes, Discriminator, Label, Tally};
use crate::packet::{Ack, Data, Report};
use crate::pair::{PairMeter, Slot};
use crate::reliability::{Accepted, Inbox};
use crate::variant::Adaptation;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Losses that may wait for packets that were overtaken. Further ones are judged at once.
const MAX_PENDING: usize = 1 << 16;

/// A receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// S, bits.
    bits: f64,
    ack_bytes: u32,
    /// The rate before the first estimate, packets per round trip.
    start: f64,
    /// A blackout ends with that rate.
    restarts: bool,
    reading: JitterLaw,
    limits: Limits,
    inbox: Inbox,
    pairs: PairMeter,
    filter: Kde,
    jitter: Jitter,
    discriminator: Discriminator,
    perfect: bool,
    causes: Causes,
    tally: Tally,
    /// Missing packets with their labels, lowest first, until `reorder` packets have overtaken them.
    pending: VecDeque<(u64, Label)>,
    reorder: u64,
    counts_all: bool,
    adaptation: Adaptation,
    /// `None` before the first packet.
    law: Option<RateLaw>,
    silence: Silence,
    srtt: Duration,
    /// The last datum has arrived: its number.
    last: Option<u64>,
    duplicates: u64,
}

impl ReceivingHalf for Receiver {
    /// One acknowledgement per packet, unless its number or its datum is too far ahead.
    fn on_packet(&mut self, now: Time, data: &Data) -> Option<Ack> {
        let accepted = self.inbox.on_packet(data.number, data.datum)?;
        self.srtt = data.srtt.max(MIN_RTT);
        let initial = start(self.start, self.bits, self.srtt);
        let (reading, limits, bits) = (self.reading, self.limits, self.bits);
        let law = self.law.get_or_insert_with(|| RateLaw::new(reading, limits, bits, initial));
        if self.silence.heard(now) && self.restarts {
            law.set(initial);
        }
        self.duplicates += u64::from(!accepted.useful);
        if data.last {
            self.last = Some(data.datum);
        }
        if accepted.fresh {
            self.measure(now, data, &accepted);
        }
        Some(self.acknowledge(data.number, Some(data.sent)))
    }

    fn poll_timeout(&self) -> Option<Time> {
        let law = self.law.as_ref()?;
        if self.last.is_some_and(|last| self.inbox.delivered() >= last) {
            return None;
        }
        // A slow sender is not a silent one: two intervals follow a pair.
        let least = if self.silence.is_dark() { 0.0 } else { 4.0 * self.bits / law.rate() };
        Some(self.silence.deadline(self.srtt, Duration::from_secs_f64(least)))
    }

    /// Silence has lasted: one acknowledgement per round trip.
    fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        if now < self.poll_timeout()? {
            return None;
        }
        self.silence.probed(now);
        Some(self.acknowledge(self.inbox.highest(), None))
    }

    fn on_drop(&mut self, number: u64, cause: Label) {
        self.causes.tell(number, cause);
    }

    fn delivered(&self) -> u64 {
        self.inbox.delivered()
    }

    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    fn rate(&self) -> Option<f64> {
        self.law.as_ref().map(RateLaw::rate)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("capacity_bps", self.capacity().unwrap_or(f64::NAN));
        see("alpha", self.alpha());
        see("halvings", self.halvings() as f64);
        if let Some(share) = self.adaptation.share() {
            see("share_bps", share);
        }
    }
}

impl Receiver {
    /// A receiver.
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            bits: config.bits(),
            ack_bytes: config.count("ack") as u32, // at most 1500
            start: config.number("start"),
            restarts: config.is("restart", "initial"),
            reading: config.law(),
            limits: config.limits(),
            inbox: Inbox::default(),
            pairs: PairMeter::default(),
            filter: config.filter(),
            jitter: Jitter::new(
                config.clock(),
                config.settings.get("skip_pairs"),
                config.settings.get("spacing"),
            ),
            discriminator: config.discriminator(),
            perfect: config.is("loss", "perfect"),
            causes: Causes::default(),
            tally: Tally::default(),
            pending: VecDeque::new(),
            reorder: config.count("reorder"),
            counts_all: config.is("counted", "all"),
            adaptation: Adaptation::new(
                config.variant(),
                config.number("alpha"),
                config.number("alpha_most"),
            ),
            law: None,
            silence: Silence::new(config.number("silence"), Time::ZERO),
            srtt: MIN_RTT,
            last: None,
            duplicates: 0,
        }
    }

    /// The estimate of the capacity, bit/s. `None` before the first pair.
    pub fn capacity(&self) -> Option<f64> {
        self.filter.value()
    }

    /// The weight of the old rate, which some variants change.
    pub fn alpha(&self) -> f64 {
        self.adaptation.alpha()
    }

    /// Halvings so far.
    pub fn halvings(&self) -> u64 {
        self.law.as_ref().map_or(0, RateLaw::halvings)
    }

    fn acknowledge(&self, echo: u64, echoed: Option<Time>) -> Ack {
        Ack {
            echo,
            cumulative: self.inbox.delivered(),
            sack: self.inbox.sack(echo),
            bytes: self.ack_bytes,
            echoed,
            held: Duration::ZERO,
            report: self.law.as_ref().map_or(Report::Nothing, |law| Report::Rate(law.rate())),
        }
    }

    /// The steps of section 3.3 and 3.5, in order.
    fn measure(&mut self, now: Time, data: &Data, accepted: &Accepted) {
        let Some(law) = &mut self.law else { return };
        let bits = f64::from(data.bytes) * 8.0;
        let service = self.filter.value().map_or(Duration::ZERO, |c| Duration::from_secs_f64(bits / c));
        let behind = data.slot == Slot::Second && accepted.consecutive;
        self.adaptation.on_packet(now, self.srtt);
        let jitter = self.jitter.on_packet(data.sent, now, behind, accepted.missing.1, service);
        if let Some(sample) = self.pairs.on_packet(data.number, data.slot, bits, now) {
            let target = self.adaptation.on_estimate(self.filter.add(sample));
            law.on_estimate(self.adaptation.alpha(), target);
        }
        if let Some(Change::Whole(jitter)) = jitter {
            law.on_jitter(jitter, self.jitter.interval());
        }
        let (first, count) = accepted.missing;
        let arrival = Arrival { sent: data.sent, arrived: now, missing: count, jitter, service };
        let label = self.discriminator.on_packet(&arrival);
        if count == 0 && data.number < self.inbox.highest() {
            self.pending.retain(|&(number, _)| number != data.number); // it was only late
        }
        for number in first..first + count.min(MAX_PENDING as u64) {
            self.pending.push_back((number, label));
        }
        self.judge(now);
    }

    /// Losses that no late packet can undo any more.
    fn judge(&mut self, now: Time) {
        let Some(law) = &mut self.law else { return };
        let edge = self.inbox.highest().saturating_sub(self.reorder);
        while let Some(&(number, label)) = self.pending.front() {
            if number > edge && self.pending.len() <= MAX_PENDING {
                break;
            }
            self.pending.pop_front();
            let cause = self.causes.take(number);
            let label = cause.filter(|_| self.perfect).unwrap_or(label);
            self.tally.add(label, cause, !law.is_guarded(now));
            if label == Label::Congestion {
                law.on_congestion(now, self.srtt);
            }
            if self.counts_all || label == Label::Congestion {
                self.adaptation.on_loss();
            }
        }
    }
}
