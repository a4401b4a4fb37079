//! Episodes: what a loss, a mark or a timeout sets off, and how it ends.

use super::{LEAST_SSTHRESH, LOSS_WINDOW, Sender, State};
use crate::config::Detection;
use crate::recovery::{Begin, Episode, Heard, Progress};
use ackclock_cc::{self as cc, Event, Path, Signal};
use ackclock_units::Time;

impl Sender {
    #[inline]
    pub(super) fn on_ack_open(
        &mut self,
        now: Time,
        path: &Path,
        sample: &cc::Ack,
        acked: u64,
        duplicate: bool,
    ) {
        self.duplicates = if acked > 0 { 0 } else { self.duplicates + u32::from(duplicate) };
        if acked > 0 {
            self.restart_timer(now);
        }
        let Detection::DupAcks(threshold) = self.config.detection;
        if self.board.lost() > 0 || self.duplicates >= threshold && self.is_fresh() {
            return self.begin_recovery(now);
        }
        if sample.marked > 0 && self.una >= self.recover {
            self.react(now, Signal::Mark);
        } else if acked > 0 && self.cwnd_limited {
            self.controller.grow(path, sample, &mut self.window);
        }
    }

    /// May duplicates for `una` tell of a new loss? Without SACK they may also stem from retransmissions of what
    /// had arrived: RFC 6582 section 3.2 step 1 wants something beyond `recover` acknowledged first.
    fn is_fresh(&self) -> bool {
        self.sack || self.una > self.recover || self.recover == 0
    }

    fn begin_recovery(&mut self, now: Time) {
        self.counters.fast_retransmits += 1;
        if self.una >= self.recover {
            self.react(now, Signal::Loss);
        } else {
            self.window.ssthresh = self.window.cwnd; // a mark in this window was answered already (RFC 3168)
        }
        self.recover = self.nxt;
        let episode = self.episode();
        match self.recovery.begin(&episode, &mut self.board, &mut self.window) {
            Begin::Repair => self.state = State::Recovery,
            Begin::StartOver => self.start_over(),
        }
        // The first retransmission is about to leave: RFC 6298 (5.1) and RFC 6675 section 5 (6).
        self.restart_timer(now);
    }

    pub(super) fn on_ack_recovery(&mut self, now: Time, heard: Heard, duplicate: bool) {
        if heard.acked == 0 && !duplicate {
            return;
        }
        let episode = self.episode();
        match self.recovery.on_ack(&episode, heard, &mut self.board, &mut self.window) {
            Progress::Ends => {
                self.state = State::Open;
                self.duplicates = 0;
                if self.una < self.recover {
                    self.recover = self.una - 1; // Reno leaves early: the next hole is a loss of its own
                }
                let path = self.path(now);
                self.controller.on_event(&path, Event::Recovered, &mut self.window);
                self.restart_timer(now);
            }
            Progress::Continues if heard.acked > 0 => self.restart_timer(now),
            Progress::Continues | Progress::ContinuesOnTimer => {}
        }
    }

    pub(super) fn on_ack_loss(&mut self, now: Time, path: &Path, sample: &cc::Ack, acked: u64) {
        if acked == 0 {
            return;
        }
        self.restart_timer(now);
        if self.cwnd_limited {
            self.controller.grow(path, sample, &mut self.window);
        }
        if self.una >= self.recover {
            self.state = State::Open;
            self.duplicates = 0;
            let path = self.path(now);
            self.controller.on_event(&path, Event::Recovered, &mut self.window);
        }
    }

    /// Lets the controller cut; `recover` is left to the caller.
    fn react(&mut self, now: Time, why: Signal) -> bool {
        let path = self.path(now);
        let Some(ssthresh) = self.controller.cut(&path, &self.window, why) else {
            // No reaction: whoever governs the window next leaves it where it is.
            self.window.ssthresh = self.window.cwnd;
            return false;
        };
        self.counters.window_cuts += 1;
        self.window.ssthresh = ssthresh.max(LEAST_SSTHRESH);
        if why == Signal::Mark {
            self.window.cwnd = self.window.ssthresh;
            self.recover = self.nxt;
            self.announce_cut = true;
        }
        true
    }

    /// Nothing is in flight any more: everything unacknowledged is sent again as the window allows.
    fn start_over(&mut self) {
        self.state = State::Loss;
        self.window.cwnd = LOSS_WINDOW;
        self.board.lose_all(self.nxt);
        self.timed = None;
    }

    /// The retransmission timer, if it has expired: RFC 6298 section 5.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.counters.timeouts += 1;
        // RFC 5681 section 3.1: the threshold stays when what the timer has resent times out again.
        if self.timed_out.replace(self.una) != Some(self.una) {
            self.collapses = self.react(now, Signal::Timeout);
        }
        self.rtt.back_off();
        self.recover = self.nxt;
        self.duplicates = 0;
        let cwnd = self.window.cwnd;
        self.start_over();
        if !self.collapses {
            self.window.cwnd = cwnd;
        }
        self.deadline = Some(now + self.rtt.rto());
        self.paced_until = now; // (5.4): the earliest segment leaves now, at whatever pace the others follow
    }

    pub(super) fn episode(&self) -> Episode {
        Episode { una: self.una, nxt: self.nxt, recover: self.recover, new_data: self.has_new_data() }
    }

    pub(super) fn restart_timer(&mut self, now: Time) {
        self.deadline = Some(now + self.rtt.rto()); // RFC 6298 (5.3)
    }
}
