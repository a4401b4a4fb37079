//! BBR, version 3. It uses version 1's model, with bounds that follow from losses, and with probes for
//! bandwidth that leave room for other flows.
//!
//! Source: draft-ietf-ccwg-bbr-06 (July 2026). Section numbers are the draft's. The model is in `model.rs`,
//! the reaction to losses in `loss.rs`, the cycle that probes for bandwidth in `cycle.rs`, pacing rate and
//! window in `control.rs`.
//!
//! What differs: rates are segments per second, volumes segments. A host sends single segments here, so a
//! lost "packet" of section 5.5.10.2 is a segment. The initial pacing rate uses the first round-trip time, as
//! the text of section 5.6.2 says; its pseudocode has none at the start. The state to restore after a
//! spurious loss is saved once, at the first loss of the episode. StartProbeBW_DOWN forgets that the round
//! trip had a loss, so NoteLoss would otherwise save the state after the first losses.

mod control;
mod cycle;
mod loss;
mod model;

use crate::{
    Ack, Controller, Event, Lost, Needs, Parameter, Path, RateSample, Scheme, Settings, Signal, Window,
};
use ackclock_units::{Duration, Time};
use cycle::{AckPhase, Cycle};
use loss::{Bounds, Losses};
use model::Model;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "bbr3",
    title: "BBR, version 3",
    source: "draft-ietf-ccwg-bbr-06",
    summary: "BBR that limits rate and inflight if more than 2 % of a round trip is lost, and that probes \
              less often.",
    equations: &[
        "on every ACK: bw = min(max of delivered / interval over two cycles, bw_shortterm); min_rtt over min_rtt_window",
        "pacing rate = (1 - margin) * pacing_gain * bw",
        "cwnd grows by what is acknowledged, up to cwnd_gain * bw * min_rtt + extra_acked; at most \
         inflight_longterm and inflight_shortterm",
        "Startup: gains startup_gain and cwnd_gain, until bw has grown by less than 25 % in three round \
         trips, or losses are high",
        "Drain: pacing_gain = drain_gain, until bw * min_rtt is in flight, for at most three round trips",
        "ProbeBW: Down (down_gain), Cruise (1); after 2 to 3 s, or the round trips that Reno would need, \
         Refill (1) and Up (up_gain)",
        "if a probe loses more than loss_threshold of what was in flight: inflight_longterm = that flight, \
         at least beta * target",
        "loss outside probes, once per round trip: bw_shortterm and inflight_shortterm become max(latest, \
         beta * old value)",
        "ProbeRTT: probe_rtt_gain * bw * min_rtt in flight for probe_rtt_time, every probe_rtt_interval",
    ],
    notes: &[
        "draft and Linux run it with RACK-TLP (RFC 8985); with three duplicates it resends what was only late",
        "it does not react to marks: the draft specifies no response to ECN; after a timeout it starts from \
         one segment",
        "it needs the host's delivery rate samples and pacing, and sets the window in every state",
        "quantum = \"rate\" is the draft's budget for hosts that send bursts of one millisecond; the sender \
         here paces each segment",
    ],
    parameters: &[
        Parameter::number("startup_gain", 2.77, "", 1.1..=10.0, "section 2.5: 4 ln 2"),
        Parameter::number("drain_gain", 0.5, "", 0.05..=0.99, "section 2.5"),
        Parameter::number("cwnd_gain", 2.0, "", 1.0..=10.0, "section 2.6: DefaultCwndGain"),
        Parameter::number("up_gain", 1.25, "", 1.0..=4.0, "section 5.3.3.5: pacing gain in ProbeBW_UP"),
        Parameter::number("up_cwnd_gain", 2.25, "", 1.0..=10.0, "section 5.3.3.5: window gain in ProbeBW_UP"),
        Parameter::number("down_gain", 0.9, "", 0.1..=1.0, "section 5.3.3.1: pacing gain in ProbeBW_DOWN"),
        Parameter::number("loss_threshold", 0.02, "", 0.0..=1.0, "section 2.8: LossThresh"),
        Parameter::number("beta", 0.7, "", 0.01..=1.0, "section 2.8"),
        Parameter::number("headroom", 0.15, "", 0.0..=0.9, "section 2.8"),
        Parameter::number("min_window", 4.0, "segments", 1.0..=100.0, "section 2.8: MinPipeCwnd"),
        Parameter::number("min_rtt_window", 10.0, "s", 0.1..=1e4, "section 2.16.1: MinRTTFilterLen"),
        Parameter::number("probe_rtt_interval", 5.0, "s", 0.1..=1e4, "section 2.16.2: ProbeRTTInterval"),
        Parameter::number("probe_rtt_time", 0.2, "s", 0.0..=10.0, "section 2.16.2: ProbeRTTDuration"),
        Parameter::number("probe_rtt_gain", 0.5, "", 0.01..=1.0, "section 2.16.2: ProbeRTTCwndGain"),
        Parameter::number("margin", 0.01, "", 0.0..=0.5, "section 2.5: PacingMarginPercent"),
        Parameter::choice(
            "quantum",
            "rate",
            &[
                ("rate", "the segments of one millisecond, at least two (section 5.6.3)"),
                ("segment", "one segment: no bursts"),
            ],
            "the burst of a host; the window has room for three",
        ),
    ],
    endpoint: &[("detection", "\"rack\""), ("recovery", "{ sack = { proportional_rate = true } }")],
    needs: |_| Needs { draw: true, rate: true, window: true, pacing: true, ..Needs::NOTHING },
    build: |settings| Box::new(Bbr3::new(settings)),
    response: None,
};

/// The parameters.
#[derive(Clone)]
struct Constants {
    startup_gain: f64,
    drain_gain: f64,
    cwnd_gain: f64,
    up_gain: f64,
    up_cwnd_gain: f64,
    down_gain: f64,
    loss_threshold: f64,
    beta: f64,
    headroom: f64,
    min_window: f64,
    min_rtt_window: Duration,
    probe_rtt_interval: Duration,
    probe_rtt_time: Duration,
    probe_rtt_gain: f64,
    margin: f64,
    by_segment: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW: true if the state sends faster than is known to be safe.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// An acknowledgement: the draft's C and RS.
struct Seen<'a> {
    path: &'a Path,
    rate: RateSample,
    /// The delivery rate, segments per second.
    delivery_rate: f64,
    app_limited: bool,
}

/// The controller.
#[derive(Clone)]
pub struct Bbr3 {
    constants: Constants,
    state: State,
    model: Model,
    bounds: Bounds,
    losses: Losses,
    cycle: Cycle,
    drain_start: u64,
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    idle_restart: bool,
    /// The values of `delivered` (from, to) in ProbeRTT. Rate samples of segments sent then say nothing about
    /// the path.
    held_down: (u64, u64),
    /// The last window that neither a recovery nor ProbeRTT had reduced.
    prior_cwnd: f64,
    in_recovery: bool,
    initial_window: f64,
    paced_by_rtt: bool,
    draw: f64,
}

impl Bbr3 {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Bbr3 {
        let number = |name| settings.number(name);
        let seconds = |name| Duration::from_secs_f64(settings.number(name));
        Bbr3 {
            constants: Constants {
                startup_gain: number("startup_gain"),
                drain_gain: number("drain_gain"),
                cwnd_gain: number("cwnd_gain"),
                up_gain: number("up_gain"),
                up_cwnd_gain: number("up_cwnd_gain"),
                down_gain: number("down_gain"),
                loss_threshold: number("loss_threshold"),
                beta: number("beta"),
                headroom: number("headroom"),
                min_window: number("min_window"),
                min_rtt_window: seconds("min_rtt_window"),
                probe_rtt_interval: seconds("probe_rtt_interval"),
                probe_rtt_time: seconds("probe_rtt_time"),
                probe_rtt_gain: number("probe_rtt_gain"),
                margin: number("margin"),
                by_segment: settings.choice("quantum") == "segment",
            },
            state: State::Startup,
            model: Model::default(),
            bounds: Bounds::default(),
            losses: Losses::default(),
            cycle: Cycle::default(),
            drain_start: 0,
            probe_rtt_until: None,
            probe_rtt_round: false,
            idle_restart: false,
            held_down: (0, 0),
            prior_cwnd: 0.0,
            in_recovery: false,
            initial_window: 10.0,
            paced_by_rtt: false,
            draw: 0.0,
        }
    }

    /// Section 5.2.3, UpdateModelAndState.
    fn update(&mut self, seen: &Seen<'_>, w: &mut Window) {
        self.follow_delivery(seen, w);
        self.model.follow_aggregation(seen, w.cwnd);
        self.model.look_for_full_pipe(seen);
        self.check_startup(seen);
        self.check_drain(seen, w);
        self.advance_cycle(seen, w);
        self.model.follow_round_trip(&self.constants, seen);
        self.check_probe_rtt(seen, w);
        self.losses.advance(seen);
        self.model.bw = self.model.max_bw.get().min(self.bounds.bw_shortterm);
    }

    /// Section 5.3.1.1, CheckStartupDone.
    fn check_startup(&mut self, seen: &Seen<'_>) {
        if self.state != State::Startup {
            return;
        }
        self.check_startup_losses(seen);
        if self.model.full {
            self.state = State::Drain; // section 5.3.2, EnterDrain
            self.drain_start = self.model.rounds;
        }
    }

    /// Section 5.3.2, CheckDrainDone.
    fn check_drain(&mut self, seen: &Seen<'_>, w: &Window) {
        let drained = || seen.path.in_flight <= self.in_flight_target(seen.path, w, 1.0);
        if self.state == State::Drain && (drained() || self.model.rounds > self.drain_start + 3) {
            self.start_down(seen.path);
        }
    }

    /// Section 5.3.4.3, CheckProbeRTT.
    fn check_probe_rtt(&mut self, seen: &Seen<'_>, w: &mut Window) {
        if self.state != State::ProbeRtt && self.model.probe_rtt_expired && !self.idle_restart {
            self.save_window(w);
            self.state = State::ProbeRtt;
            self.probe_rtt_until = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round(seen.path);
        }
        if self.state == State::ProbeRtt {
            self.hold_probe_rtt(seen.path, w);
        }
        if seen.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn hold_probe_rtt(&mut self, path: &Path, w: &mut Window) {
        let from = if path.delivered > self.held_down.1 { path.delivered } else { self.held_down.0 };
        self.held_down = (from, path.delivered + path.in_flight as u64);
        match self.probe_rtt_until {
            None if path.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt_until = Some(path.now + self.constants.probe_rtt_time);
                self.probe_rtt_round = false;
                self.model.start_round(path);
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round |= self.model.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(path, w);
                }
            }
        }
    }

    /// CheckProbeRTTDone, and section 5.3.4.4, ExitProbeRTT.
    fn end_probe_rtt(&mut self, path: &Path, w: &mut Window) {
        if self.probe_rtt_until.is_none_or(|until| path.now <= until) {
            return;
        }
        self.model.probe_rtt_min_at = path.now;
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        self.bounds.forget_short_term();
        if self.model.full {
            self.start_down(path);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// Section 5.6.4.4, SaveCwnd.
    fn save_window(&mut self, w: &Window) {
        let good = !self.in_recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    fn is_limited(&self, rate: &RateSample) -> bool {
        let (from, to) = self.held_down;
        rate.app_limited || from < to && (from..=to).contains(&rate.prior_delivered)
    }
}

impl Controller for Bbr3 {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        self.draw = ack.draw;
        self.cycle.note_limit(path.cwnd_limited);
        if let Some(mut rate) = ack.rate {
            rate.rtt = rate.rtt.or(ack.rtt);
            let app_limited = self.is_limited(&rate);
            let seen = Seen { path, rate, delivery_rate: rate.per_second(), app_limited };
            self.update(&seen, w);
            self.set_pace(path, self.pacing_gain(), w);
            self.grow_window(path, rate.acked as f64, w);
        }
        self.bound_window(w);
    }

    fn on_lost(&mut self, path: &Path, lost: &Lost, w: &Window) {
        self.note_loss(path, lost, w);
    }

    fn grow(&mut self, _path: &Path, _ack: &Ack, _w: &mut Window) {}

    /// Section 5.6.4.4, OnEnterFastRecovery and OnEnterRTO.
    fn cut(&mut self, _path: &Path, w: &Window, why: Signal) -> Option<f64> {
        if why == Signal::Mark {
            return None;
        }
        self.save_state(w);
        self.in_recovery = true;
        self.losses.recovering_since = (why == Signal::Loss).then_some(self.model.rounds);
        (why == Signal::Timeout).then_some(w.cwnd) // ssthresh is not used
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        match event {
            Event::Start => {
                self.initial_window = w.cwnd;
                self.model.begin(path.now);
                self.set_initial_pace(path, w);
            }
            Event::Recovered => {
                w.cwnd = w.cwnd.max(self.prior_cwnd);
                (self.in_recovery, self.losses.saved) = (false, false);
                self.losses.recovering_since = None;
            }
            Event::Spurious => self.undo(path, w),
            // Section 5.4.1, HandleRestartFromIdle.
            Event::Idle => {
                self.idle_restart = true;
                self.model.extra_acked_since = path.now;
                if self.state.is_probe_bw() {
                    self.set_pace(path, 1.0, w);
                } else if self.state == State::ProbeRtt {
                    self.end_probe_rtt(path, w);
                }
            }
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bandwidth_segments_per_s", self.model.bw);
        let min_rtt = self.model.min_rtt;
        see("min_rtt_ms", if min_rtt == Duration::MAX { 0.0 } else { min_rtt.as_millis_f64() });
        see("pacing_gain", self.pacing_gain());
        see("inflight_longterm", self.bounds.inflight_longterm);
        see("mode", f64::from(self.state as u8));
    }
}

#[cfg(test)]
mod tests;
