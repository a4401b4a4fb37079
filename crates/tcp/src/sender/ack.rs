//! What an acknowledgement sets off.

use super::{Sender, State, real};
use crate::packet::{Ack, Data, Flags};
use crate::recovery::AckSummary;
use ackclock_cc::{self as cc, Path};
use ackclock_units::{Duration, Time};

impl Sender {
    /// Processes an acknowledgement. `draw` returns a uniform number for controllers that want one.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack, draw: impl FnOnce() -> f64) {
        if self.is_predicted(ack) {
            self.on_predicted_ack(now, ack, draw);
        } else {
            self.on_other_ack(now, ack, draw);
        }
    }

    /// [`Sender::on_ack`], and then all that it allows to send, if these are new segments and nothing else:
    /// `send` gets one after the other. If it returns false, [`Sender::poll_transmit`] says what is sent.
    #[inline(always)] // the segments stay in registers
    pub fn on_ack_send(
        &mut self,
        now: Time,
        ack: &Ack,
        draw: impl FnOnce() -> f64,
        send: impl FnMut(Data),
    ) -> bool {
        if !self.is_predicted(ack) {
            self.on_other_ack(now, ack, draw);
            return false;
        }
        self.on_predicted_ack(now, ack, draw);
        // The clock stops where nothing is in flight, and the pacer has one of its own.
        let runs = self.nxt > self.una && self.window.pacing.is_none();
        if runs {
            self.send_new(now, send);
        }
        runs
    }

    /// Header prediction (V. Jacobson, "4BSD TCP Header Prediction", Computer Communication Review 20(2),
    /// 1990): true for an acknowledgement of new data that reports nothing else, while there are no holes.
    #[inline]
    fn is_predicted(&self, ack: &Ack) -> bool {
        self.predictable
            && ack.flags == self.epoch
            && ack.blocks[0].length == 0
            && ack.ack > self.una
            && ack.ack <= self.nxt
            && self.repair.state() == State::Open
            && self.board.is_clear()
    }

    /// What is left of [`Sender::on_other_ack`] where [`Sender::is_predicted`].
    #[inline]
    fn on_predicted_ack(&mut self, now: Time, ack: &Ack, draw: impl FnOnce() -> f64) {
        let acked = ack.ack - self.una;
        self.peer_window = u64::from(ack.window);
        self.board.advance_clear(ack.ack);
        self.una = ack.ack;
        self.delivered += acked;
        let sample = cc::Ack {
            acked: real(self.config.counting.counted(acked)),
            rtt: self.time(now, ack),
            draw: if self.needs.draw { draw() } else { 0.0 },
            ..cc::Ack::default()
        };
        let path = self.path_with(now, self.nxt - self.una, false);
        self.controller.on_sample(&path, &sample, &mut self.window);
        self.duplicates.forget();
        self.timer.restart(now);
        self.grow(&path, &sample);
        self.tame();
        if self.nxt == self.una {
            self.all_acknowledged(now);
        }
    }

    #[inline(never)]
    fn on_other_ack(&mut self, now: Time, ack: &Ack, draw: impl FnOnce() -> f64) {
        if !self.is_acceptable(ack) {
            return;
        }
        let window_before = self.peer_window;
        let (mut summary, sacked) = self.take_in(now, ack);
        let rtt = if summary.acked > 0 { self.time(now, ack) } else { None };
        self.pace.on_sample(rtt);
        summary.lost = if self.board.sacked() > 0 || self.rack.is_some() { self.detect(now) } else { 0 };
        let sample = cc::Ack {
            acked: real(self.counted(summary.acked)),
            sacked,
            lost: summary.lost,
            marked: if ack.flags.has(Flags::ECE) { self.marks(summary.acked, summary.delivered) } else { 0 },
            rtt,
            draw: if self.needs.draw { draw() } else { 0.0 },
            rate: None,
            forward: None,
        };
        let path = self.path(now);
        if !self.needs.window {
            self.let_measure(now, ack, &path, &sample, summary.delivered);
        }
        // RFC 6675 section 2: with SACK, a duplicate is an acknowledgement that reports new data. RFC 5681
        // section 2 (e): without SACK, it is one that does not change the window either.
        let duplicate = summary.acked == 0
            && self.nxt > self.una
            && if self.sack { sacked > 0 } else { self.peer_window == window_before };
        match self.repair.state() {
            State::Open => self.on_ack_open(now, &path, &sample, summary, duplicate),
            State::Recovery => self.on_ack_recovery(now, summary, duplicate),
            State::Loss => self.on_ack_loss(now, &path, &sample, summary),
        }
        if self.undoing.is_some() {
            self.consider_undoing(now, ack, summary.acked);
        }
        if self.needs.window {
            self.let_measure(now, ack, &path, &sample, summary.delivered);
        }
        self.tame();
        if self.nxt == self.una {
            self.all_acknowledged(now);
        }
        if self.rack.is_some() {
            self.follow_probe(now, ack, summary.acked);
        }
    }

    /// False for one of an earlier connection, an old one, and one for what was never sent (RFC 9293 section
    /// 3.10.7.4).
    fn is_acceptable(&mut self, ack: &Ack) -> bool {
        ack.flags.epoch() == self.epoch.epoch()
            && ack.ack >= self.una
            && (ack.ack <= self.nxt || self.probe_was_taken(ack.ack))
    }

    /// Updates the scoreboard. Returns what is newly acknowledged and delivered, and how much of it was
    /// SACKed.
    fn take_in(&mut self, now: Time, ack: &Ack) -> (AckSummary, u64) {
        self.peer_window = u64::from(ack.window);
        let acked = ack.ack - self.una;
        if self.rack.is_some() || self.rate.is_some() {
            self.tell_of_arrivals(now, ack);
        }
        let was_sacked = self.board.advance(ack.ack);
        self.una = ack.ack;
        if self.board.sacked() > 0 && self.board.is_sacked(self.una) {
            self.board.forget(); // RFC 2018 section 8: the receiver has dropped what it had reported
        }
        let sacked = if ack.blocks[0].length > 0 { self.mark_sacked(ack) } else { 0 };
        let delivered = acked - was_sacked + sacked;
        self.delivered += delivered;
        (AckSummary { acked, delivered, lost: 0 }, sacked)
    }

    /// How many of `acked` segments count for growth.
    fn counted(&self, acked: u64) -> u64 {
        match self.repair.state() {
            // RFC 3465 section 2.3: L = 1 while slow start repairs a timeout.
            State::Loss => acked.min(1),
            State::Open | State::Recovery => self.config.counting.counted(acked),
        }
    }

    /// Called before the scoreboard is updated for an acknowledgement.
    #[cold]
    fn tell_of_arrivals(&mut self, now: Time, ack: &Ack) {
        if self.rack.is_some() {
            self.tell_rack(now, ack);
        }
        if self.rate.is_some() {
            self.tell_rate(ack);
        }
    }

    /// Calls `on_sample`. A controller with special needs gets what it needs, with the state as it is now.
    fn let_measure(&mut self, now: Time, ack: &Ack, path: &Path, sample: &cc::Ack, delivered: u64) {
        if self.needs.window || self.needs.rate || self.needs.forward {
            return self.let_measure_more(now, ack, sample, delivered);
        }
        self.controller.on_sample(path, sample, &mut self.window);
    }

    #[cold]
    fn let_measure_more(&mut self, now: Time, ack: &Ack, sample: &cc::Ack, delivered: u64) {
        self.tell_of_losses(now);
        let rate = self.rate_sample(now, delivered);
        // The echo belongs to the segment that advanced the acknowledgement, as for the round-trip time.
        let forward = sample.rtt.filter(|_| self.needs.forward).map(|_| ack.sent_at.since(ack.echo));
        let lost = self.newly_lost().unwrap_or(sample.lost);
        let sample = cc::Ack { lost, rate, forward, ..*sample };
        let path = self.path(now);
        self.controller.on_sample(&path, &sample, &mut self.window);
    }

    /// Detects further losses after the first hole. Returns their number.
    #[inline]
    fn detect(&mut self, now: Time) -> u64 {
        if self.rack.is_some() {
            return self.detect_by_time(now);
        }
        match &self.waiting {
            None => self.board.detect(self.duplicates.threshold(), u64::MAX),
            Some(_) if self.repair.state() == State::Open => 0,
            Some(waiting) => self.board.detect(waiting.threshold(), self.repair.recover()),
        }
    }

    fn mark_sacked(&mut self, ack: &Ack) -> u64 {
        if !self.sack {
            return 0;
        }
        let mut newly = 0;
        for block in ack.blocks.iter().take_while(|block| block.length > 0) {
            let start = ack.ack + u64::from(block.offset);
            let end = start + u64::from(block.length);
            // A block must be above the acknowledgement and within the sent data. Other blocks are ignored
            // (RFC 2018).
            if start > self.una && end <= self.nxt {
                newly += self.board.sack(start, end);
            }
        }
        newly
    }

    /// Takes the raw round-trip time of an acknowledgement of new data.
    #[inline(always)] // the sample stays in registers
    fn time(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let rtt = self.sampling.sample(now, ack)?;
        self.timer.sample(rtt, self.una, self.nxt);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum = self.counters.rtt_sum + rtt;
        Some(rtt)
    }
}
