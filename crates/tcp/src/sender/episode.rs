//! Episodes: the start and the end of the reaction to a loss, a mark or a timeout.

use super::{LOSS_WINDOW, MIN_SSTHRESH, Sender, State, tamed};
use crate::recovery::{AckSummary, Begin, Episode, Progress};
use ackclock_cc::{self as cc, Event, Path, Signal};
use ackclock_units::Time;

impl Sender {
    #[inline]
    pub(super) fn on_ack_open(
        &mut self,
        now: Time,
        path: &Path,
        sample: &cc::Ack,
        summary: AckSummary,
        duplicate: bool,
    ) {
        self.duplicates = if summary.acked > 0 { 0 } else { self.duplicates + u32::from(duplicate) };
        if summary.acked > 0 {
            self.restart_timer(now);
        }
        let is_loss = match self.waiting {
            None => self.board.lost() > 0 || self.duplicates >= self.threshold && self.is_fresh(),
            Some(_) => self.is_loss_after_all(now, sample.rtt, summary),
        };
        if is_loss {
            return self.begin_recovery(now, summary);
        }
        if duplicate {
            self.allow_for_duplicate();
        }
        if sample.marked > 0 {
            // Beyond `answered`: CWR is on the segment there, and what is acknowledged before still echoes.
            if self.una > self.answered {
                self.heeds_marks = self.react(now, Signal::Mark);
            }
            if self.heeds_marks {
                return; // RFC 3168 section 6.1.2: no growth in response to an echo
            }
        }
        if self.waiting.is_some() {
            self.grow_over_holes(path, sample, summary, duplicate);
        } else if summary.acked > 0 && self.cwnd_limited {
            self.controller.grow(path, sample, &mut self.window);
        }
    }

    /// True if duplicates for `una` may indicate a new loss. Without SACK they may also come from
    /// retransmissions of segments that had arrived. RFC 6582 section 3.2 step 1 requires an acknowledgement
    /// beyond `recover` first.
    pub(super) fn is_fresh(&self) -> bool {
        self.sack || self.una > self.recover || self.recover == 0
    }

    pub(super) fn begin_recovery(&mut self, now: Time, summary: AckSummary) {
        self.counters.fast_retransmits += 1;
        let window = self.window;
        if self.una < self.marked {
            // RFC 3168 section 6.1.2: a mark in this window of data was answered already, or a probe's
            // repair.
            self.window.ssthresh = self.window.cwnd.max(MIN_SSTHRESH);
        } else if self.react(now, Signal::Loss) || self.needs.window {
            self.remember(&window);
        } else {
            // The recovery keeps the window constant.
            self.pre_loss_window = Some((self.window.cwnd, self.window.ssthresh));
            self.window.ssthresh = self.window.cwnd;
        }
        self.recover = self.nxt;
        let mut summary = summary;
        if let Some(waiting) = &mut self.waiting {
            waiting.end();
            // Further losses, now that the first hole is one.
            summary.lost += self.board.detect(waiting.threshold(), self.recover);
        }
        let (episode, window) = (self.episode(), self.window);
        let begin = self.recovery.begin(&episode, summary, &mut self.board, &mut self.window);
        if self.needs.window {
            self.window = window;
            self.tell_of_losses(now);
        }
        match begin {
            Begin::Repair => self.state = State::Recovery,
            Begin::StartOver => {
                let collapses = !self.restore_spared();
                self.start_over(collapses);
            }
        }
        // The first retransmission is about to be sent and has a whole timeout, as in ns-2 and Linux. RFC
        // 6675 section 6 allows that. RFC 6298 (5.3) restarts the timer only for new data.
        self.restart_timer(now);
    }

    pub(super) fn on_ack_recovery(&mut self, now: Time, summary: AckSummary, duplicate: bool) {
        if summary.acked == 0 && !duplicate {
            return;
        }
        let (episode, window) = (self.episode(), self.window);
        let progress = self.recovery.on_ack(&episode, summary, &mut self.board, &mut self.window);
        if self.needs.window {
            self.window = window;
        }
        match progress {
            Progress::Ends => {
                self.restore_spared();
                self.restart_timer(now);
                self.recovered(now, summary);
            }
            Progress::EndsAtOnce => {
                self.restore_spared();
                self.recover = self.una - 1;
                self.restart_timer(now);
                self.recovered(now, summary);
            }
            Progress::Extends => {
                self.recover = self.nxt;
                self.restart_timer(now);
            }
            Progress::Continues if summary.acked > 0 => self.restart_timer(now),
            Progress::Continues | Progress::ContinuesOnTimer => {}
        }
    }

    /// Everything sent before the episode is acknowledged.
    fn recovered(&mut self, now: Time, summary: AckSummary) {
        self.state = State::Open;
        self.duplicates = 0;
        if let Some(rack) = &mut self.rack {
            rack.on_recovered();
        }
        self.tell(now, Event::Recovered);
        let is_loss = match self.waiting {
            None => self.board.lost() > 0,
            Some(_) => self.is_loss_after_all(now, None, summary),
        };
        if is_loss {
            self.begin_recovery(now, summary); // of what was sent during the episode
        }
    }

    pub(super) fn on_ack_loss(&mut self, now: Time, path: &Path, sample: &cc::Ack, summary: AckSummary) {
        if summary.acked == 0 {
            return;
        }
        self.restart_timer(now);
        if self.cwnd_limited {
            self.controller.grow(path, sample, &mut self.window);
        }
        if self.una >= self.recover {
            self.recovered(now, summary);
        }
    }

    /// After a loss to which the controller did not react: restores window and threshold.
    fn restore_spared(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.pre_loss_window.take() else {
            return false;
        };
        (self.window.cwnd, self.window.ssthresh) = (cwnd, ssthresh);
        true
    }

    /// Asks the controller for a reduction. True if it reacted.
    pub(super) fn react(&mut self, now: Time, why: Signal) -> bool {
        self.answered = self.nxt;
        let path = self.path(now);
        let Some(ssthresh) = self.controller.cut(&path, &self.window, why) else {
            return false;
        };
        self.counters.window_cuts += 1;
        self.window.ssthresh = tamed(ssthresh, MIN_SSTHRESH);
        self.announce_cut = self.config.ecn; // RFC 3168 section 6.1.2: a reduction for any reason
        if why == Signal::Mark {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            self.marked = self.nxt;
        }
        true
    }

    /// Nothing is in flight any more. Everything unacknowledged is sent again as the window allows.
    fn start_over(&mut self, collapses: bool) {
        self.state = State::Loss;
        if collapses {
            self.window.cwnd = LOSS_WINDOW;
        }
        self.board.lose_all(self.nxt);
    }

    /// The retransmission timer, if it has expired: RFC 6298 section 5.
    pub fn on_timeout(&mut self, now: Time) {
        if self.is_out_of_patience(now) {
            self.begin_recovery(now, AckSummary { acked: 0, delivered: 0, lost: 0 });
        }
        if self.rack.is_some() {
            self.on_rack_timer(now);
        }
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        if self.una == self.nxt {
            return self.probe_timer_expired(now);
        }
        self.counters.timeouts += 1;
        self.restore_spared();
        // RFC 5681 section 3.1: the threshold does not change if a segment that the timer has resent times
        // out again.
        if self.timed_out.replace(self.una) != Some(self.una) {
            self.collapses = self.react(now, Signal::Timeout);
        }
        self.rtt.back_off();
        self.recover = self.nxt;
        self.duplicates = 0;
        if let Some(waiting) = &mut self.waiting {
            waiting.end();
        }
        if let Some(rack) = &mut self.rack {
            rack.cancel_probe();
        }
        if let Some(undoing) = &mut self.undoing {
            undoing.forget();
        }
        self.start_over(self.collapses);
        if self.rate.is_some() {
            self.tell_of_all_lost(now);
        }
        self.tame();
        self.deadline = Some(now + self.rtt.rto());
        self.leave_at_once(now); // (5.4)
    }

    pub(super) fn episode(&self) -> Episode {
        Episode {
            una: self.una,
            nxt: self.nxt,
            recover: self.recover,
            duplicates: self.duplicates,
            new_data: self.has_new_data(),
        }
    }

    #[inline]
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.deadline = Some(now + self.rtt.rto()); // RFC 6298 (5.3)
    }
}
