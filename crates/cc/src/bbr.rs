//! BBR, version 1. A model of the path (bandwidth and round-trip time) sets the pacing rate and limits the
//! window.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00 (2017). Where
//! Linux's `tcp_bbr.c` has developed further since, it follows Linux: the margin of 1 %, aggregation,
//! policers, the exit from Drain.
//!
//! What differs: rates are segments per second. Windows are rounded only where Linux rounds up. There is no
//! queue of scheduled segments below the sender, so everything in flight is in the network. The maximum
//! filter of the bandwidth is exact.

mod aggregation;
mod policer;

use crate::windowed::WindowedMax;
use crate::{
    Ack, Controller, Event, Lost, Needs, Parameter, Path, RateSample, Scheme, Settings, Signal, Window,
};
use ackclock_units::{Duration, Rate, Time};
use aggregation::Aggregation;
use policer::Policer;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "bbr",
    title: "BBR, version 1",
    source: "Cardwell et al., ACM Queue 14(5) 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c",
    summary: "Paces at the bandwidth that the path has delivered, and keeps at most two bandwidth-delay \
              products in flight. Hardly reacts to losses.",
    equations: &[
        "on every ACK: bw = max of delivered / interval over bw_window round trips; min_rtt = min of rtt over min_rtt_window",
        "pacing rate = (1 - margin) * pacing_gain * bw",
        "cwnd grows by what is acknowledged, up to cwnd_gain * bw * min_rtt + aggregation + 3 quanta; at \
         least min_window",
        "Startup: both gains are startup_gain, until bw has grown by less than 25 % in three round trips",
        "Drain: pacing_gain = 1 / startup_gain, until bw * min_rtt is in flight",
        "ProbeBW: pacing_gain = probe_gain, yield_gain, then six times 1, each for one min_rtt",
        "ProbeRTT: min_window in flight for probe_rtt_time, if no sample was as low as min_rtt for \
         min_rtt_window",
        "first round trip of a recovery: as much is sent as is acknowledged; at the end of the recovery cwnd \
         is restored",
    ],
    notes: &[
        "draft and Linux run it with RACK-TLP (RFC 8985); with three duplicates it resends what was only late",
        "it reacts neither to losses nor to marks; after a timeout it starts from one segment",
        "it needs the host's delivery rate samples and pacing, and sets the window in every state",
        "aggregation and policer are Linux's; the draft has neither",
        "quantum = \"rate\" gives room for a host that sends bursts of one millisecond, as Linux does; the \
         sender here paces each segment",
    ],
    parameters: &[
        Parameter::number(
            "startup_gain",
            2.885,
            "",
            1.1..=10.0,
            "draft: BBRHighGain, 2 / ln 2; the rate doubles each round trip",
        ),
        Parameter::number("cwnd_gain", 2.0, "", 1.0..=10.0, "draft: for delayed and stretched ACKs"),
        Parameter::number("probe_gain", 1.25, "", 1.0..=4.0, "draft: first phase of the cycle"),
        Parameter::number("yield_gain", 0.75, "", 0.1..=1.0, "draft: second phase of the cycle"),
        Parameter::number("bw_window", 10.0, "round trips", 1.0..=15.0, "draft: BtlBwFilterLen"),
        Parameter::number("min_rtt_window", 10.0, "s", 0.1..=1e4, "draft: RTpropFilterLen"),
        Parameter::number("probe_rtt_time", 0.2, "s", 0.0..=10.0, "draft: ProbeRTTDuration"),
        Parameter::number("min_window", 4.0, "segments", 1.0..=100.0, "draft: BBRMinPipeCwnd"),
        Parameter::number(
            "margin",
            0.01,
            "",
            0.0..=0.5,
            "Linux: the pacing rate is this share below the \
                                                          estimate",
        ),
        Parameter::choice(
            "quantum",
            "rate",
            &[
                ("rate", "the segments of one millisecond, at least two (Linux's bbr_tso_segs_goal)"),
                ("segment", "one segment: no bursts"),
            ],
            "the burst of a host; the window has room for three",
        ),
        Parameter::flag(
            "aggregation",
            true,
            "Linux: the window has room for delayed and aggregated acknowledgements",
        ),
        Parameter::flag(
            "policer",
            true,
            "Linux: two intervals with the same rate and 20 % of losses mean a policer",
        ),
    ],
    endpoint: &[("detection", "\"rack\""), ("recovery", "{ sack = { proportional_rate = true } }")],
    needs: |_| Needs { draw: true, rate: true, window: true, pacing: true, ..Needs::NOTHING },
    build: |settings| Box::new(Bbr::new(settings)),
    response: None,
};

/// The number of phases in the cycle, and how many of them may be the first one. The phase with the low gain
/// is never first.
const PHASES: u64 = 8;
const DRAWN_PHASES: f64 = 7.0;
/// The draft's BBRCheckFullPipe: the pipe is full after three round trips without growth by a quarter.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Linux: a burst has at most 64 KiB and at most 127 segments. Below 1.2 Mbit/s it has one segment.
const MAX_AT_ONCE: (f64, f64) = (65_536.0, 127.0);
const SLOW_BPS: u64 = 1_200_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The controller.
#[derive(Clone)]
pub struct Bbr {
    startup_gain: f64,
    cwnd_gain: f64,
    probe_gain: f64,
    yield_gain: f64,
    bw_window: u64,
    min_rtt_window: Duration,
    probe_rtt_time: Duration,
    min_window: f64,
    margin: f64,
    by_segment: bool,
    with_aggregation: bool,

    mode: Mode,
    /// The path model: segments per second, the smallest round-trip time, and when it was measured.
    max_bw: WindowedMax<16>,
    min_rtt: Duration,
    min_rtt_at: Time,
    /// The number of round trips so far, and the value of `delivered` at which the present one ends.
    rounds: u64,
    round_end: u64,
    round_start: bool,
    full_bw: f64,
    full_rounds: u32,
    full: bool,
    phase: u64,
    phase_at: Time,
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    idle_restart: bool,
    /// The values of `delivered` (from, to) while the window was reduced for a probe. Rate samples of
    /// segments sent then say nothing about the path.
    held_down: (u64, u64),
    /// The window before a recovery or before ProbeRTT.
    prior_cwnd: f64,
    in_recovery: bool,
    recovery_begins: bool,
    conserving: bool,
    paced_by_rtt: bool,
    initial_window: f64,
    draw: f64,
    lost: u64,
    policer: Option<Policer>,
    aggregation: Aggregation,
}

impl Bbr {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Bbr {
        let number = |name| settings.number(name);
        let seconds = |name| Duration::from_secs_f64(settings.number(name));
        Bbr {
            startup_gain: number("startup_gain"),
            cwnd_gain: number("cwnd_gain"),
            probe_gain: number("probe_gain"),
            yield_gain: number("yield_gain"),
            bw_window: number("bw_window") as u64,
            min_rtt_window: seconds("min_rtt_window"),
            probe_rtt_time: seconds("probe_rtt_time"),
            min_window: number("min_window"),
            margin: number("margin"),
            by_segment: settings.choice("quantum") == "segment",
            with_aggregation: settings.flag("aggregation"),
            mode: Mode::Startup,
            max_bw: WindowedMax::new(),
            min_rtt: Duration::MAX,
            min_rtt_at: Time::ZERO,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_bw: 0.0,
            full_rounds: 0,
            full: false,
            phase: 0,
            phase_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round: false,
            idle_restart: false,
            held_down: (0, 0),
            prior_cwnd: 0.0,
            in_recovery: false,
            recovery_begins: false,
            conserving: false,
            paced_by_rtt: false,
            initial_window: 10.0,
            draw: 0.0,
            lost: 0,
            policer: settings.flag("policer").then(Policer::default),
            aggregation: Aggregation::default(),
        }
    }

    /// The bandwidth that sets the pacing rate, segments per second.
    fn bw(&self) -> f64 {
        self.policer.as_ref().and_then(Policer::rate).unwrap_or_else(|| self.max_bw.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => self.startup_gain,
            Mode::Drain => 1.0 / self.startup_gain,
            Mode::ProbeRtt => 1.0,
            Mode::ProbeBw if self.policer.as_ref().is_some_and(|policer| policer.rate().is_some()) => 1.0,
            Mode::ProbeBw => match self.phase {
                0 => self.probe_gain,
                1 => self.yield_gain,
                _ => 1.0,
            },
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => self.startup_gain,
            Mode::ProbeBw => self.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// `gain` times the bandwidth-delay product, rounded up.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == Duration::MAX {
            return self.initial_window;
        }
        libm::ceil(gain * bw * self.min_rtt.as_secs_f64())
    }

    /// Adds room for the bursts of sender and receiver, and rounds up to an even number of segments (Linux's
    /// bbr_quantization_budget).
    fn with_quanta(&self, path: &Path, w: &Window, segments: f64) -> f64 {
        let even = 2.0 * libm::ceil((segments + 3.0 * self.quantum(path, w)) / 2.0);
        if self.mode == Mode::ProbeBw && self.phase == 0 { even + 2.0 } else { even }
    }

    fn quantum(&self, path: &Path, w: &Window) -> f64 {
        let Some(rate) = w.pacing.filter(|_| !self.by_segment) else { return 1.0 };
        let least = if rate.bps() < SLOW_BPS { 1.0 } else { 2.0 };
        let bytes = (rate.bps_f64() / 8.0 / 1024.0).min(MAX_AT_ONCE.0); // Linux: 2^-10 s
        libm::floor(bytes / f64::from(path.segment_bytes)).max(least).min(MAX_AT_ONCE.1)
    }

    fn in_flight_target(&self, path: &Path, w: &Window, gain: f64) -> f64 {
        self.with_quanta(path, w, self.bdp(self.max_bw.get(), gain))
    }

    /// True if the application or a reduced window limited the rate sample.
    fn is_limited(&self, rate: &RateSample) -> bool {
        let (from, to) = self.held_down;
        rate.app_limited || from < to && (from..=to).contains(&rate.prior_delivered)
    }

    fn follow_bandwidth(&mut self, path: &Path, rate: &RateSample, lost: u64) {
        if rate.prior_delivered >= self.round_end {
            self.start_round(path);
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        let limited = self.is_limited(rate);
        self.watch_policer(path, lost, limited);
        let bw = rate.per_second();
        // The draft's BBRUpdateBtlBw: an application-limited sample counts only if it is larger.
        if !limited || bw >= self.max_bw.get() {
            self.max_bw.add(self.rounds, bw, self.bw_window);
        }
    }

    fn start_round(&mut self, path: &Path) {
        self.round_end = path.delivered;
    }

    fn watch_policer(&mut self, path: &Path, lost: u64, limited: bool) {
        let (round_start, probing) = (self.round_start, self.mode == Mode::ProbeBw);
        let seen = policer::Seen {
            now: path.now,
            delivered: path.delivered,
            lost: self.lost,
            newly_lost: lost > 0,
            round_start,
            probing,
            limited,
            segment_bits: f64::from(path.segment_bytes) * 8.0,
        };
        if self.policer.as_mut().is_some_and(|policer| policer.watch(&seen)) {
            self.enter_probe_bw(path.now);
        }
    }

    fn aggregation_window(&self) -> f64 {
        if self.with_aggregation && self.full { self.aggregation.window(self.bw()) } else { 0.0 }
    }

    /// The draft's BBRCheckCyclePhase: goes to the next phase if this one is over.
    fn advance_phase(&mut self, path: &Path, w: &Window, acked: u64, lost: u64) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let gain = self.pacing_gain();
        let full_length = path.now.since(self.phase_at) > self.min_rtt;
        let before = path.in_flight + acked as f64 + lost as f64;
        let over = if gain > 1.0 {
            let more = before + self.quantum(path, w);
            full_length && (lost > 0 || more >= self.in_flight_target(path, w, gain))
        } else if gain < 1.0 {
            full_length || before <= self.in_flight_target(path, w, 1.0)
        } else {
            full_length
        };
        if over {
            self.phase = (self.phase + 1) % PHASES;
            self.phase_at = path.now;
        }
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        let drawn = libm::floor(self.draw * DRAWN_PHASES) as u64;
        self.phase = (PHASES - drawn) % PHASES;
        self.phase_at = now;
    }

    /// The draft's BBRCheckFullPipe.
    fn look_for_full_pipe(&mut self, rate: &RateSample) {
        if self.full || !self.round_start || self.is_limited(rate) {
            return;
        }
        if self.max_bw.get() >= self.full_bw * FULL_GROWTH {
            (self.full_bw, self.full_rounds) = (self.max_bw.get(), 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// The draft's BBRCheckDrain.
    fn drain(&mut self, path: &Path, w: &mut Window) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            w.ssthresh = self.in_flight_target(path, w, 1.0);
        }
        if self.mode == Mode::Drain && path.in_flight <= self.in_flight_target(path, w, 1.0) {
            self.enter_probe_bw(path.now);
        }
    }

    /// The draft's BBRUpdateRTprop and BBRCheckProbeRTT.
    fn follow_round_trip(&mut self, path: &Path, rtt: Option<Duration>, delivered: bool, w: &mut Window) {
        let expired = path.now > self.min_rtt_at + self.min_rtt_window;
        if let Some(rtt) = rtt
            && (rtt <= self.min_rtt || expired)
        {
            (self.min_rtt, self.min_rtt_at) = (rtt, path.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt && !self.probe_rtt_time.is_zero() {
            self.save_window(w);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.hold_down(path);
            match self.probe_rtt_until {
                None if path.in_flight <= self.min_window => {
                    self.probe_rtt_until = Some(path.now + self.probe_rtt_time);
                    self.probe_rtt_round = false;
                    self.start_round(path);
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round |= self.round_start;
                    if self.probe_rtt_round {
                        self.end_probe_rtt(path, w);
                    }
                }
            }
        }
        if delivered {
            self.idle_restart = false;
        }
    }

    fn hold_down(&mut self, path: &Path) {
        let until = path.delivered + path.in_flight as u64;
        let from = if path.delivered > self.held_down.1 { path.delivered } else { self.held_down.0 };
        self.held_down = (from, until);
    }

    fn end_probe_rtt(&mut self, path: &Path, w: &mut Window) {
        if self.probe_rtt_until.is_none_or(|until| path.now <= until) {
            return;
        }
        self.min_rtt_at = path.now; // the next probe is due one full interval from now
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        if self.full {
            self.enter_probe_bw(path.now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_window(&mut self, w: &Window) {
        let good = !self.in_recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    /// The pacing rate is `gain` times the bandwidth. Until the pipe is full it only rises.
    fn set_pace(&mut self, path: &Path, gain: f64, w: &mut Window) {
        if !self.paced_by_rtt && !path.srtt.is_zero() {
            self.paced_by_rtt = true;
            self.set_initial_pace(path, w);
        }
        let rate = self.rate_of(path, gain * self.bw());
        if self.full || w.pacing.is_none_or(|pacing| rate.bps() > pacing.bps()) {
            w.pacing = Some(rate);
        }
    }

    /// The draft's BBRInitPacingRate: the initial window per round-trip time, or per millisecond if that is
    /// not known.
    fn set_initial_pace(&self, path: &Path, w: &mut Window) {
        let rtt = if path.srtt.is_zero() { Duration::from_millis(1) } else { path.srtt };
        w.pacing = Some(self.rate_of(path, self.startup_gain * w.cwnd.max(1.0) / rtt.as_secs_f64()));
    }

    fn rate_of(&self, path: &Path, segments_per_second: f64) -> Rate {
        let bits = segments_per_second * (1.0 - self.margin) * f64::from(path.segment_bytes) * 8.0;
        Rate::from_bps((bits as u64).max(1))
    }

    /// The draft's BBRSetCwnd: the window grows towards the target by what is acknowledged.
    fn set_window(&mut self, path: &Path, acked: f64, lost: u64, w: &mut Window) {
        if acked > 0.0 && !self.conserve(path, acked, lost, w) {
            let bdp = self.bdp(self.bw(), self.window_gain());
            let target = self.with_quanta(path, w, bdp + self.aggregation_window());
            if self.full {
                w.cwnd = (w.cwnd + acked).min(target);
            } else if w.cwnd < target || (path.delivered as f64) < self.initial_window {
                w.cwnd += acked;
            }
            w.cwnd = w.cwnd.max(self.min_window);
        }
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.min(self.min_window);
        }
    }

    /// The draft's BBRModulateCwndForRecovery. Losses reduce the window. In the first round trip of a
    /// recovery, only as much is sent as is acknowledged (packet conservation). True during that round trip.
    fn conserve(&mut self, path: &Path, acked: f64, lost: u64, w: &mut Window) -> bool {
        w.cwnd = (w.cwnd - lost as f64).max(1.0);
        if std::mem::take(&mut self.recovery_begins) {
            self.conserving = true;
            self.start_round(path);
            w.cwnd = path.in_flight + acked;
        }
        if self.conserving {
            w.cwnd = w.cwnd.max(path.in_flight + acked);
        }
        self.conserving
    }
}

impl Controller for Bbr {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        self.draw = ack.draw;
        self.round_start = false;
        let acked = ack.rate.map_or(0, |rate| rate.acked);
        if let Some(rate) = ack.rate.filter(|rate| !rate.interval.is_zero()) {
            self.follow_bandwidth(path, &rate, ack.lost);
            self.aggregation.on_ack(path.now, self.bw(), acked as f64, w.cwnd, self.round_start);
        }
        self.advance_phase(path, w, acked, ack.lost);
        if let Some(rate) = &ack.rate {
            self.look_for_full_pipe(rate);
        }
        self.drain(path, w);
        let rtt = ack.rate.and_then(|rate| rate.rtt).or(ack.rtt);
        self.follow_round_trip(path, rtt, ack.rate.is_some_and(|rate| rate.delivered > 0), w);
        self.set_pace(path, self.pacing_gain(), w);
        self.set_window(path, acked as f64, ack.lost, w);
    }

    fn on_lost(&mut self, _path: &Path, _lost: &Lost, _w: &Window) {
        self.lost += 1;
    }

    fn grow(&mut self, _path: &Path, _ack: &Ack, _w: &mut Window) {}

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        if why == Signal::Mark {
            return None;
        }
        self.save_window(w);
        self.recovery_begins = why == Signal::Loss;
        self.in_recovery = true;
        if why == Signal::Loss {
            return None;
        }
        self.conserving = false;
        self.full_bw = 0.0;
        self.round_start = true; // a timeout is the end of a round trip
        self.watch_policer(path, 1, false);
        Some(w.cwnd) // ssthresh is not used
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        match event {
            Event::Start => {
                self.initial_window = w.cwnd;
                self.min_rtt_at = path.now;
                self.aggregation.restart(path.now);
                self.set_initial_pace(path, w);
            }
            Event::Recovered => {
                w.cwnd = w.cwnd.max(self.prior_cwnd);
                (self.in_recovery, self.recovery_begins, self.conserving) = (false, false, false);
            }
            Event::Spurious => {
                (self.full_bw, self.full_rounds) = (0.0, 0);
                if let Some(policer) = &mut self.policer {
                    *policer = Policer::default();
                }
            }
            Event::Idle => {
                self.idle_restart = true;
                self.aggregation.restart(path.now);
                match self.mode {
                    Mode::ProbeBw => self.set_pace(path, 1.0, w),
                    Mode::ProbeRtt => self.end_probe_rtt(path, w),
                    Mode::Startup | Mode::Drain => {}
                }
            }
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bandwidth_segments_per_s", self.bw());
        let min_rtt = if self.min_rtt == Duration::MAX { 0.0 } else { self.min_rtt.as_millis_f64() };
        see("min_rtt_ms", min_rtt);
        see("pacing_gain", self.pacing_gain());
        see("mode", f64::from(self.mode as u8));
    }
}

#[cfg(test)]
mod tests;
