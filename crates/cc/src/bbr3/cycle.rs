//! The cycle that probes for bandwidth: Down, Cruise, Refill, Up (section 5.3.3).

use super::{Bbr3, Seen, State};
use crate::{Path, Window};
use ackclock_units::{Duration, Time};

/// Section 5.3.3.8: at most this many round trips until the next probe, and at least two, at most three
/// seconds.
const MAX_RENO_ROUNDS: f64 = 63.0;
const MIN_WAIT: f64 = 2.0;
const MAX_DOUBLINGS: u32 = 30;

/// Section 2.14: the phase to which the present acknowledgements belong.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Clone, Default)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// True if the samples belong to a probe.
    pub is_probe_sample: bool,
    pub prev_too_high: bool,
    prev_precautionary: bool,
    began: Time,
    wait: Duration,
    /// Acknowledged segments per step of `inflight_longterm`, those counted so far, and the round trips in
    /// Up.
    pub up_acked_per_step: f64,
    pub up_acked: f64,
    up_rounds: u32,
    /// True if the window limited the sender: in this round trip, and in the one before.
    limited: [bool; 2],
}

impl Cycle {
    pub(super) fn note_limit(&mut self, limited: bool) {
        self.limited[0] |= limited;
    }

    pub(super) fn note_round(&mut self, round_start: bool) {
        if round_start {
            self.limited = [false, self.limited[0]];
        }
    }

    fn is_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }
}

impl Bbr3 {
    /// Section 5.3.3.9, UpdateProbeBWCyclePhase.
    pub(super) fn advance_cycle(&mut self, seen: &Seen<'_>, w: &Window) {
        if !self.model.full || self.adapt_long_term(seen, w) {
            return;
        }
        let goes_down = self.state == State::Up && self.is_time_to_go_down(seen, w);
        match self.state {
            State::Down if self.is_time_to_probe(seen.path, w) => self.start_refill(seen.path),
            State::Down if self.is_time_to_cruise(seen.path, w) => self.state = State::Cruise,
            State::Cruise if self.is_time_to_probe(seen.path, w) => self.start_refill(seen.path),
            State::Refill if self.model.round_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(seen, w);
            }
            State::Up if goes_down => {
                self.cycle.prev_too_high = false;
                self.start_down(seen.path);
            }
            _ => {}
        }
    }

    /// StartProbeBW_DOWN, with PickProbeWait.
    pub(super) fn start_down(&mut self, path: &Path) {
        self.losses.forget();
        self.cycle.up_acked_per_step = f64::INFINITY;
        // One random number gives both: its first bit the round trip, the rest the time.
        let twice = 2.0 * self.draw;
        self.model.rounds_since_probe = u64::from(twice >= 1.0);
        self.cycle.wait = Duration::from_secs_f64(MIN_WAIT + twice - libm::floor(twice));
        self.cycle.began = path.now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round(path);
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self, path: &Path) {
        self.bounds.forget_short_term();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0.0);
        self.cycle.prev_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.model.start_round(path);
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, seen: &Seen<'_>, w: &Window) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round(seen.path);
        self.model.look_anew(seen.delivery_rate);
        self.state = State::Up;
        self.raise_slope(w.cwnd);
    }

    /// IsTimeToProbeBW: the wait is over, or Reno would have grown by one window.
    fn is_time_to_probe(&self, path: &Path, w: &Window) -> bool {
        path.now > self.cycle.began + self.cycle.wait
            || self.model.rounds_since_probe as f64 >= self.target(w.cwnd).min(MAX_RENO_ROUNDS)
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, path: &Path, w: &Window) -> bool {
        let bdp = self.with_quanta(path, w, self.bdp_of(self.model.max_bw.get(), 1.0));
        path.in_flight <= self.in_flight_with_headroom() && path.in_flight <= bdp
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, seen: &Seen<'_>, w: &Window) -> bool {
        let bound = self.bounds.inflight_longterm;
        if self.cycle.prev_too_high && seen.path.in_flight >= bound {
            self.cycle.prev_precautionary = true;
            return true;
        }
        if self.cycle.is_limited() && w.cwnd >= bound {
            self.model.look_anew(seen.delivery_rate); // the bound limits the rate, not the path
            return false;
        }
        self.model.full_now
    }

    /// AdaptLongTermModel. True if it has changed the state.
    fn adapt_long_term(&mut self, seen: &Seen<'_>, w: &Window) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.model.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.model.round_start {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !seen.app_limited {
                self.model.cycles += 1; // AdvanceMaxBwFilter
            }
            if self.state.is_probe_bw() && self.cycle.prev_precautionary && !self.cycle.prev_too_high {
                self.start_refill(seen.path);
                return true;
            }
        }
        if !self.is_too_high(seen.rate.lost, seen.rate.in_flight) && self.bounds.inflight_longterm.is_finite()
        {
            self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(seen.rate.in_flight as f64);
            if self.state == State::Up {
                self.raise_long_term(seen, w);
            }
        }
        false
    }

    /// RaiseInflightLongtermSlope: the steps per round trip are 1, 2, 4, and so on, segments.
    fn raise_slope(&mut self, cwnd: f64) {
        let growth = f64::from(1_u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_DOUBLINGS);
        self.cycle.up_acked_per_step = (cwnd / growth).max(1.0);
    }

    /// ProbeInflightLongtermUpward.
    fn raise_long_term(&mut self, seen: &Seen<'_>, w: &Window) {
        if !self.cycle.is_limited() || w.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.cycle.up_acked += seen.rate.acked as f64;
        let steps = libm::floor(self.cycle.up_acked / self.cycle.up_acked_per_step);
        if steps > 0.0 {
            self.cycle.up_acked -= steps * self.cycle.up_acked_per_step;
            self.bounds.inflight_longterm += steps;
        }
        if self.model.round_start {
            self.raise_slope(w.cwnd);
        }
    }
}
