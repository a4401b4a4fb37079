//! The outputs of the model: pacing rate and window (section 5.6).

use super::{Bbr3, State};
use crate::{Path, Window};
use ackclock_units::{Duration, Rate};

/// Section 5.6.3: the largest burst of a host, bytes.
const MAX_AT_ONCE: f64 = 65_536.0;
const MIN_AT_ONCE: f64 = 2.0;
/// Section 5.5.8.1: the window has room for this many bursts.
const QUANTA: f64 = 3.0;
/// Section 5.6.4.2: additional room in ProbeBW_UP, segments.
const UP_ROOM: f64 = 2.0;

impl Bbr3 {
    /// Section 5.6.1: the pacing gain of the state.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.constants.startup_gain,
            State::Drain => self.constants.drain_gain,
            State::Down => self.constants.down_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => self.constants.up_gain,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Up => self.constants.up_cwnd_gain,
            State::ProbeRtt => self.constants.probe_rtt_gain,
            _ => self.constants.cwnd_gain,
        }
    }

    /// Section 5.6.4.2, BDPMultiple.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        self.bdp_of(self.model.bw, gain)
    }

    pub(super) fn bdp_of(&self, bw: f64, gain: f64) -> f64 {
        if self.model.min_rtt == Duration::MAX {
            return self.initial_window;
        }
        gain * bw * self.model.min_rtt.as_secs_f64()
    }

    /// Section 5.3.3.8, TargetInflight.
    pub(super) fn target(&self, cwnd: f64) -> f64 {
        self.bdp(1.0).min(cwnd)
    }

    /// Section 5.6.3: the send quantum, in segments.
    fn quantum(&self, path: &Path, w: &Window) -> f64 {
        let Some(rate) = w.pacing.filter(|_| !self.constants.by_segment) else { return 1.0 };
        let bytes = (rate.bps_f64() / 8.0 * 0.001).min(MAX_AT_ONCE);
        (bytes / f64::from(path.segment_bytes)).max(MIN_AT_ONCE)
    }

    /// Section 5.6.4.2, QuantizationBudget.
    pub(super) fn with_quanta(&self, path: &Path, w: &Window, segments: f64) -> f64 {
        let least = (QUANTA * self.quantum(path, w)).max(self.constants.min_window);
        segments.max(least) + if self.state == State::Up { UP_ROOM } else { 0.0 }
    }

    /// Section 5.6.4.2, Inflight.
    pub(super) fn in_flight_target(&self, path: &Path, w: &Window, gain: f64) -> f64 {
        self.with_quanta(path, w, self.bdp(gain))
    }

    /// Section 5.3.3.9, InflightWithHeadroom.
    pub(super) fn in_flight_with_headroom(&self) -> f64 {
        let bound = self.bounds.inflight_longterm;
        if bound.is_infinite() {
            return bound;
        }
        let headroom = (self.constants.headroom * bound).max(1.0);
        (bound - headroom).max(self.constants.min_window)
    }

    /// Section 5.6.4.5, ProbeRTTCwnd.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp(self.constants.probe_rtt_gain).max(self.constants.min_window)
    }

    /// Section 5.6.2, SetPacingRateWithGain. Until the pipe is full the rate only rises.
    pub(super) fn set_pace(&mut self, path: &Path, gain: f64, w: &mut Window) {
        if !self.paced_by_rtt && !path.srtt.is_zero() {
            self.paced_by_rtt = true;
            self.set_initial_pace(path, w);
        }
        let rate = self.rate_of(path, gain * self.model.bw);
        if self.model.full || w.pacing.is_none_or(|pacing| rate.bps() > pacing.bps()) {
            w.pacing = Some(rate);
        }
    }

    /// Section 5.6.2, InitPacingRate.
    pub(super) fn set_initial_pace(&self, path: &Path, w: &mut Window) {
        let rtt = if path.srtt.is_zero() { Duration::from_millis(1) } else { path.srtt };
        let nominal = self.initial_window.max(1.0) / rtt.as_secs_f64();
        w.pacing = Some(self.rate_of(path, self.constants.startup_gain * nominal));
    }

    fn rate_of(&self, path: &Path, segments_per_second: f64) -> Rate {
        let bits = segments_per_second * (1.0 - self.constants.margin) * f64::from(path.segment_bytes) * 8.0;
        Rate::from_bps((bits as u64).max(1))
    }

    /// Section 5.6.4.6, SetCwnd: the part that grows the window.
    pub(super) fn grow_window(&self, path: &Path, acked: f64, w: &mut Window) {
        let most = self.with_quanta(path, w, self.bdp(self.window_gain()) + self.model.extra_acked.get());
        if self.model.full {
            w.cwnd = (w.cwnd + acked).min(most);
        } else if w.cwnd < most || (path.delivered as f64) < self.initial_window {
            w.cwnd += acked;
        }
        w.cwnd = w.cwnd.max(self.constants.min_window);
    }

    /// Sections 5.6.4.5 and 5.6.4.7, BoundCwndForProbeRTT and BoundCwndForModel.
    pub(super) fn bound_window(&self, w: &mut Window) {
        let mut most = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.in_flight_with_headroom(),
        };
        if self.state == State::ProbeRtt {
            most = most.min(self.probe_rtt_window());
        }
        most = most.min(self.bounds.inflight_shortterm).max(self.constants.min_window);
        w.cwnd = w.cwnd.min(most);
    }
}
