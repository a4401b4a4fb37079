//! Episodes: the start and the end of the reaction to a loss, a mark or a timeout.

use super::{LOSS_WINDOW, MIN_SSTHRESH, Sender, State};
use crate::recovery::{AckSummary, Begin, Episode, Pick, Progress, Recovery};
use ackclock_cc::{self as cc, Event, Path, Signal};
use ackclock_units::Time;

/// The repair of losses.
pub(super) struct Repair {
    state: State,
    recovery: Box<dyn Recovery>,
    /// `nxt` when the last episode began: RFC 6582's recover and RFC 6675's RecoveryPoint, plus one.
    recover: u64,
    /// During an episode to which the controller did not react: cwnd and threshold before it.
    pre_loss_window: Option<(f64, f64)>,
}

impl Repair {
    pub(super) fn new(recovery: Box<dyn Recovery>) -> Repair {
        Repair { state: State::Open, recovery, recover: 0, pre_loss_window: None }
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Everything below is part of the last episode.
    pub(super) fn recover(&self) -> u64 {
        self.recover
    }
}

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
        self.duplicates.on_ack(summary.acked > 0, duplicate);
        if summary.acked > 0 {
            self.timer.restart(now);
        }
        let is_loss = match self.waiting {
            None => self.board.lost() > 0 || self.duplicates.tell_of_a_loss() && self.is_fresh(),
            Some(_) => self.is_loss_after_all(now, sample.rtt, summary),
        };
        if is_loss {
            return self.begin_recovery(now, summary);
        }
        if duplicate {
            self.allow_for_duplicate();
        }
        if sample.marked > 0 && self.react_to_mark(now) {
            return;
        }
        if self.waiting.is_some() {
            self.grow_over_holes(path, sample, summary, duplicate);
        } else if summary.acked > 0 {
            self.grow(path, sample);
        }
    }

    /// True if duplicates for `una` may indicate a new loss. Without SACK they may also come from
    /// retransmissions of segments that had arrived. RFC 6582 section 3.2 step 1 requires an acknowledgement
    /// beyond `recover` first.
    pub(super) fn is_fresh(&self) -> bool {
        self.sack || self.una > self.repair.recover || self.repair.recover == 0
    }

    pub(super) fn begin_recovery(&mut self, now: Time, summary: AckSummary) {
        self.counters.fast_retransmits += 1;
        let window = self.window;
        if self.cuts.cover(self.una) {
            // RFC 3168 section 6.1.2: a mark in this window of data was answered already, or a probe's
            // repair.
            self.window.ssthresh = self.window.cwnd.max(MIN_SSTHRESH);
        } else if self.react(now, Signal::Loss) || self.needs.window {
            self.remember(&window);
        } else {
            // The recovery keeps the window constant.
            self.repair.pre_loss_window = Some((self.window.cwnd, self.window.ssthresh));
            self.window.ssthresh = self.window.cwnd;
        }
        self.repair.recover = self.nxt;
        let mut summary = summary;
        if let Some(waiting) = &mut self.waiting {
            waiting.end();
            // Further losses, now that the first hole is one.
            summary.lost += self.board.detect(waiting.threshold(), self.repair.recover);
        }
        let (episode, window) = (self.episode(), self.window);
        let begin = self.repair.recovery.begin(&episode, summary, &mut self.board, &mut self.window);
        if self.needs.window {
            self.window = window;
            self.tell_of_losses(now);
        }
        match begin {
            Begin::Repair => self.repair.state = State::Recovery,
            Begin::StartOver => {
                let collapses = !self.restore_spared();
                self.start_over(collapses);
            }
        }
        // The first retransmission is about to be sent and has a whole timeout, as in ns-2 and Linux. RFC
        // 6675 section 6 allows that. RFC 6298 (5.3) restarts the timer only for new data.
        self.timer.restart(now);
    }

    pub(super) fn on_ack_recovery(&mut self, now: Time, summary: AckSummary, duplicate: bool) {
        if summary.acked == 0 && !duplicate {
            return;
        }
        let (episode, window) = (self.episode(), self.window);
        let progress = self.repair.recovery.on_ack(&episode, summary, &mut self.board, &mut self.window);
        if self.needs.window {
            self.window = window;
        }
        match progress {
            Progress::Ends => {
                self.restore_spared();
                self.timer.restart(now);
                self.recovered(now, summary);
            }
            Progress::EndsAtOnce => {
                self.restore_spared();
                self.repair.recover = self.una - 1;
                self.timer.restart(now);
                self.recovered(now, summary);
            }
            Progress::Extends => {
                self.repair.recover = self.nxt;
                self.timer.restart(now);
            }
            Progress::Continues if summary.acked > 0 => self.timer.restart(now),
            Progress::Continues | Progress::ContinuesOnTimer => {}
        }
    }

    /// Everything sent before the episode is acknowledged.
    fn recovered(&mut self, now: Time, summary: AckSummary) {
        self.repair.state = State::Open;
        self.duplicates.forget();
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
        self.timer.restart(now);
        self.grow(path, sample);
        if self.una >= self.repair.recover {
            self.recovered(now, summary);
        }
    }

    /// After a loss to which the controller did not react: restores window and threshold.
    fn restore_spared(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.repair.pre_loss_window.take() else {
            return false;
        };
        (self.window.cwnd, self.window.ssthresh) = (cwnd, ssthresh);
        true
    }

    /// Nothing is in flight any more. Everything unacknowledged is sent again as the window allows.
    fn start_over(&mut self, collapses: bool) {
        self.repair.state = State::Loss;
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
        if !self.timer.is_due(now) {
            return;
        }
        if self.una == self.nxt {
            return self.probe_timer_expired(now);
        }
        self.counters.timeouts += 1;
        self.restore_spared();
        let first = self.timer.expire(self.una);
        let collapses = self.react_to_timeout(now, first);
        self.timer.back_off();
        self.repair.recover = self.nxt;
        self.duplicates.forget();
        if let Some(waiting) = &mut self.waiting {
            waiting.end();
        }
        if let Some(rack) = &mut self.rack {
            rack.cancel_probe();
        }
        if let Some(undoing) = &mut self.undoing {
            undoing.forget();
        }
        self.start_over(collapses);
        if self.rate.is_some() {
            self.tell_of_all_lost(now);
        }
        self.tame();
        self.timer.restart(now);
        self.pace.release(now); // (5.4)
    }

    fn episode(&self) -> Episode {
        Episode {
            una: self.una,
            nxt: self.nxt,
            recover: self.repair.recover,
            duplicates: self.duplicates.count(),
            new_data: self.has_new_data(),
        }
    }

    /// During an episode the recovery chooses what to send.
    #[inline]
    pub(super) fn next_recovery(&mut self) -> Option<Pick> {
        let episode = self.episode();
        self.repair.recovery.next(&episode, &mut self.board, &self.window)
    }
}
