//! The reaction to losses: bounds for rate and inflight (sections 5.5.10, 5.5.11, 5.3.1.3).

use super::{Bbr3, Seen, State};
use crate::{Lost, Path, Window};

/// BBRStartupFullLossCnt: this many separate runs of lost segments in a round trip end Startup (section
/// 5.3.1.3).
const FULL_LOSS_RUNS: u32 = 6;

/// The bounds of sections 2.9.1 and 2.9.2: segments per second, and segments. Infinite means no bound.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        let none = f64::INFINITY;
        Bounds { bw_shortterm: none, inflight_shortterm: none, inflight_longterm: none }
    }
}

impl Bounds {
    /// ResetShortTermModel.
    pub(super) fn forget_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }
}

/// The losses of a round trip, and the state to restore if they were spurious.
#[derive(Clone, Default)]
pub(super) struct Losses {
    in_round: bool,
    round_start: bool,
    round_end: u64,
    bw_latest: f64,
    inflight_latest: f64,
    /// The runs of lost segments in the round trip, and the last lost segment.
    runs: u32,
    last: u64,
    /// The round trip in which fast recovery began.
    pub recovering_since: Option<u64>,
    undo_state: Option<State>,
    undo: Bounds,
    /// True if the state of this episode is saved.
    pub saved: bool,
}

impl Losses {
    /// ResetCongestionSignals.
    pub(super) fn forget(&mut self) {
        (self.in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// UpdateLatestDeliverySignals.
    fn note_delivery(&mut self, seen: &Seen<'_>) {
        self.bw_latest = self.bw_latest.max(seen.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(seen.rate.delivered as f64);
        self.round_start = seen.rate.prior_delivered >= self.round_end;
        if self.round_start {
            self.round_end = seen.path.delivered;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance(&mut self, seen: &Seen<'_>) {
        if self.round_start {
            self.bw_latest = seen.delivery_rate;
            self.inflight_latest = seen.rate.delivered as f64;
            self.runs = 0;
        }
    }
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals and UpdateCongestionSignals.
    pub(super) fn follow_delivery(&mut self, seen: &Seen<'_>, w: &Window) {
        self.losses.note_delivery(seen);
        self.model.follow_bandwidth(seen);
        self.cycle.note_round(self.model.round_start);
        if !self.losses.round_start {
            return;
        }
        if std::mem::take(&mut self.losses.in_round) && !self.state.accelerates() {
            self.lower_bounds(w.cwnd);
        }
    }

    /// InitLowerBounds and LossLowerBounds.
    fn lower_bounds(&mut self, cwnd: f64) {
        let (beta, bounds, losses) = (self.constants.beta, &mut self.bounds, &self.losses);
        if bounds.bw_shortterm.is_infinite() {
            bounds.bw_shortterm = self.model.max_bw.get();
        }
        if bounds.inflight_shortterm.is_infinite() {
            bounds.inflight_shortterm = cwnd;
        }
        bounds.bw_shortterm = losses.bw_latest.max(beta * bounds.bw_shortterm);
        bounds.inflight_shortterm = losses.inflight_latest.max(beta * bounds.inflight_shortterm);
    }

    /// IsInflightTooHigh.
    pub(super) fn is_too_high(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * self.constants.loss_threshold
    }

    /// Section 5.3.1.3, CheckStartupHighLoss.
    pub(super) fn check_startup_losses(&mut self, seen: &Seen<'_>) {
        let long_enough = self.losses.recovering_since.is_some_and(|since| self.model.rounds > since);
        let high =
            self.losses.runs >= FULL_LOSS_RUNS && self.is_too_high(seen.rate.lost, seen.rate.in_flight);
        if long_enough && self.losses.round_start && high {
            self.losses.undo_state = Some(State::Startup);
            self.model.full = true;
            self.bounds.inflight_longterm = self.bdp(1.0).max(self.losses.inflight_latest);
        }
    }

    /// Section 5.5.10.2, HandleLostPacket.
    pub(super) fn note_loss(&mut self, path: &Path, lost: &Lost, w: &Window) {
        if !self.losses.in_round {
            self.losses.round_end = path.delivered;
            self.save_state(w);
        }
        self.losses.in_round = true;
        self.losses.runs += u32::from(self.losses.runs == 0 || lost.seq != self.losses.last + 1);
        self.losses.last = lost.seq;
        if self.cycle.is_probe_sample && self.is_too_high(lost.lost, lost.in_flight) {
            self.answer_too_high(path, lost, w);
        }
    }

    /// HandleInflightTooHigh, with InflightAtLoss for a single segment.
    fn answer_too_high(&mut self, path: &Path, lost: &Lost, w: &Window) {
        self.cycle.prev_too_high = true;
        self.cycle.is_probe_sample = false;
        if !lost.app_limited {
            let (before, lost_before) = ((lost.in_flight as f64 - 1.0).max(0.0), lost.lost as f64 - 1.0);
            let threshold = self.constants.loss_threshold;
            let prefix = (threshold * before - lost_before) / (1.0 - threshold).max(f64::EPSILON);
            let at_loss = before + prefix;
            self.bounds.inflight_longterm = at_loss.max(self.target(w.cwnd) * self.constants.beta);
        }
        if self.state == State::Up {
            self.losses.undo_state = Some(State::Up);
            self.start_down(path);
        }
    }

    /// Section 5.5.11.1, SaveStateUponLoss.
    pub(super) fn save_state(&mut self, w: &Window) {
        self.save_window(w);
        if !std::mem::replace(&mut self.losses.saved, true) {
            self.losses.undo_state = None;
            self.losses.undo = self.bounds;
        }
    }

    /// Section 5.5.11.2, HandleSpuriousLossDetection.
    pub(super) fn undo(&mut self, path: &Path, w: &mut Window) {
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        self.losses.in_round = false;
        self.model.look_anew(0.0);
        let before = self.losses.undo;
        self.bounds.bw_shortterm = self.bounds.bw_shortterm.max(before.bw_shortterm);
        self.bounds.inflight_shortterm = self.bounds.inflight_shortterm.max(before.inflight_shortterm);
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(before.inflight_longterm);
        let left = self.losses.undo_state.take().filter(|&left| left != self.state);
        let may_return = self.state != State::ProbeRtt;
        match left {
            Some(State::Startup) => {
                self.model.full = false;
                if may_return {
                    self.state = State::Startup;
                }
            }
            Some(_) if may_return => self.start_refill(path),
            _ => {}
        }
    }
}
