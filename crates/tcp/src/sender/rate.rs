//! The delivery rate, for controllers that ask for it.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 4.1, which contains draft-cheng-iccrg-delivery-rate-estimation.
//! Every segment stores how much had been delivered when it was sent. When it arrives, the amount delivered
//! since then is a sample of the rate. Its time is the longer of the time to send and the time to acknowledge
//! that amount.
//!
//! What differs: if several segments are acknowledged, only a segment that was sent once has a raw round-trip
//! time. If the receiver's window limits the sender, the sample is not application-limited (section 4.1.1.3.1
//! agrees).
//!
//! Used only by senders whose controller asks for the rate.

use super::Sender;
use crate::packet::Ack;
use ackclock_cc::{Lost, RateSample};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Section 4.1.2.1.2: the data that a segment stores about its last transmission.
#[derive(Clone, Copy, Default)]
struct Departure {
    at: Time,
    first_sent: Time,
    /// [`Time::ZERO`] if nothing is known, or if it is not needed any more.
    delivered_at: Time,
    delivered: u64,
    lost: u64,
    in_flight: u32,
    app_limited: bool,
    /// True if it was a retransmission.
    again: bool,
    /// True if the segment was marked lost since.
    counted: bool,
}

/// Section 4.1.2.1.1: the state of the connection.
#[derive(Default)]
pub(super) struct Rate {
    /// The transmissions of the segments from `first` on.
    departures: VecDeque<Departure>,
    first: u64,
    delivered_at: Time,
    /// The send time of the segment that was most recently found delivered.
    first_sent: Time,
    /// The value of `delivered` at which the gap in the sending has passed; 0 without a gap.
    app_limited: u64,
    /// Segments counted lost so far, and with the current acknowledgement.
    lost: u64,
    newly_lost: u64,
    /// Unacknowledged segments below this are already checked for losses.
    looked: u64,
    /// Of the segments that the current acknowledgement delivers, the one that was sent last.
    newest: Option<(u64, Departure)>,
}

impl Rate {
    fn departure(&mut self, seq: u64) -> Option<&mut Departure> {
        let at = seq.checked_sub(self.first)?;
        self.departures.get_mut(at as usize).filter(|departure| departure.delivered_at > Time::ZERO)
    }

    /// Section 4.1.2.2. `alone`: nothing else is outstanding.
    fn on_sent(&mut self, now: Time, seq: u64, alone: bool, delivered: u64, in_flight: u64) {
        if alone {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let place = (seq - self.first) as usize;
        let again = place < self.departures.len();
        while self.departures.len() <= place {
            self.departures.push_back(Departure::default()); // a probe of a closed window left none
        }
        self.departures[place] = Departure {
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at.max(Time::from_nanos(1)),
            delivered,
            lost: self.lost,
            in_flight: in_flight as u32,
            app_limited: self.app_limited > 0,
            again,
            counted: false,
        };
    }

    /// Section 4.1.2.3, UpdateRateSample.
    fn on_arrived(&mut self, seq: u64) {
        let Some(departure) = self.departure(seq) else { return };
        let taken = *departure;
        departure.delivered_at = Time::ZERO;
        if self.newest.is_none_or(|(last, newest)| (taken.at, seq) > (newest.at, last)) {
            self.newest = Some((seq, taken));
            self.first_sent = taken.at;
        }
    }

    fn on_progress(&mut self, una: u64) {
        let gone = (una - self.first).min(self.departures.len() as u64);
        self.departures.drain(..gone as usize);
        self.first = una;
    }

    /// GenerateRateSample; `delivered` and `acked` are those of the connection and of this acknowledgement.
    fn sample(&mut self, now: Time, delivered: u64, acked: u64, rtt_min: Duration) -> Option<RateSample> {
        if self.app_limited > 0 && delivered > self.app_limited {
            self.app_limited = 0;
        }
        if acked > 0 {
            self.delivered_at = now;
        }
        let (_, newest) = self.newest.take()?;
        let interval = newest.at.since(newest.first_sent).max(now.since(newest.delivered_at));
        let reliable = rtt_min == Duration::MAX || interval >= rtt_min;
        Some(RateSample {
            acked,
            delivered: delivered - newest.delivered,
            interval: if reliable { interval } else { Duration::ZERO },
            prior_delivered: newest.delivered,
            in_flight: u64::from(newest.in_flight),
            lost: self.lost - newest.lost,
            app_limited: newest.app_limited,
            rtt: (!newest.again).then(|| now.since(newest.at)),
        })
    }

    /// Segment `seq` is lost. Returns its state when it was sent, if the loss is new.
    fn on_lost(&mut self, seq: u64) -> Option<Lost> {
        let departure = self.departure(seq)?;
        let taken = *departure;
        if std::mem::replace(&mut departure.counted, true) {
            return None;
        }
        self.lost += 1;
        self.newly_lost += 1;
        let (in_flight, app_limited) = (u64::from(taken.in_flight), taken.app_limited);
        Some(Lost { seq, in_flight, lost: self.lost - taken.lost, app_limited })
    }

    /// True if the data ran out before the segments that are in flight now were sent.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }
}

impl Sender {
    /// Segment `seq` is sent, and already counts as in flight.
    #[cold]
    pub(super) fn tell_rate_of(&mut self, now: Time, seq: u64) {
        let alone = self.nxt - self.una == 1;
        let (delivered, in_flight) = (self.delivered, self.in_flight());
        if let Some(rate) = &mut self.rate {
            rate.on_sent(now, seq, alone && seq + 1 == self.nxt, delivered, in_flight);
        }
    }

    /// Called before the scoreboard is updated: which segments have arrived.
    #[cold]
    pub(super) fn tell_rate(&mut self, ack: &Ack) {
        let out_of_data = self.nxt >= self.limit && self.in_flight() < self.window.cwnd as u64;
        let repaired = self.board.lost_again() == 0 && self.board.high_rxt() >= self.board.lost_edge();
        let marker = (self.delivered + self.in_flight()).max(1);
        let Some(rate) = &mut self.rate else { return };
        rate.newly_lost = 0;
        if out_of_data && repaired {
            rate.app_limited = marker; // section 4.1.2.4
        }
        for seq in (self.una..ack.ack).filter(|&seq| !self.board.is_sacked(seq)) {
            rate.on_arrived(seq);
        }
        if self.sack {
            for (start, end) in ack.runs().filter(|&(start, end)| start > ack.ack && end <= self.nxt) {
                let mut seq = self.board.next_unsacked(start);
                while seq < end {
                    rate.on_arrived(seq);
                    seq = self.board.next_unsacked(seq + 1);
                }
            }
        }
        rate.on_progress(ack.ack);
    }

    /// Called after the scoreboard is updated: the sample, if anything was delivered.
    #[cold]
    pub(super) fn rate_sample(&mut self, now: Time, acked: u64) -> Option<RateSample> {
        self.rate.as_mut()?.sample(now, self.delivered, acked, self.timer.rtt().rtt_min())
    }

    /// Tells the controller of every segment that counts as lost now and did not before.
    #[cold]
    pub(super) fn tell_of_losses(&mut self, now: Time) {
        let path = self.path(now);
        let Some(rate) = &mut self.rate else { return };
        let from = rate.looked.max(self.una);
        rate.looked = self.board.lost_edge().max(from);
        let below_edge = from..rate.looked;
        for seq in below_edge.filter(|&seq| !self.board.is_sacked(seq)).chain(self.board.all_lost_again()) {
            if let Some(lost) = rate.on_lost(seq) {
                self.controller.on_lost(&path, &lost, &self.window);
            }
        }
    }

    /// The same after a timeout: everything outstanding is lost, retransmissions included.
    #[cold]
    pub(super) fn tell_of_all_lost(&mut self, now: Time) {
        if let Some(rate) = &mut self.rate {
            rate.looked = 0;
        }
        self.tell_of_losses(now);
    }

    /// The segments newly marked lost by the present acknowledgement.
    pub(super) fn newly_lost(&self) -> Option<u64> {
        self.rate.as_ref().map(|rate| rate.newly_lost)
    }
}
