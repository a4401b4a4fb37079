//! Compound TCP (CTCP): Reno's loss window plus a delay window. The delay window grows fast while there is no
//! queue, and shrinks when there is one.
//!
//! Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-speed and Long Distance
//! Networks", INFOCOM 2006, sections III and V. CTCP-NWR, without the reduction on delay, is its section
//! VI.B.6.
//!
//! `Window::cwnd` is the whole window: the loss window (the paper's cwnd) plus dwnd. This file stores dwnd
//! only. The loss window is the rest, so the parts stay consistent when the host sets the window by itself. A
//! round ends when the segment that was next to send at its start is acknowledged.
//!
//! What differs: nothing that the paper defines. Where the paper is open, there is a switch or a parameter,
//! named in the notes below.

use crate::{
    Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, reno, slow_start,
};
use ackclock_units::Duration;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "compound",
    title: "Compound TCP",
    source: "Tan, Song, Zhang, Sridharan, INFOCOM 2006",
    summary: "Reno plus a delay window, which grows while capacity is free and shrinks when a queue builds.",
    equations: &[
        "win = min(loss_window + dwnd, receiver's window)",
        "per segment acknowledged: loss_window += 1 / (loss_window + dwnd) (2)",
        "per round: diff = win * (1 - base_rtt / rtt)",
        "per round, diff < gamma: dwnd += max(alpha * win^k - 1, 0) (5)",
        "per round, diff >= gamma: dwnd = max(dwnd - zeta * diff, 0) (5)",
        "on loss or mark: dwnd = max(win * (1 - beta) - loss_window / 2, 0); loss_window /= 2 (5)",
        "average window at loss rate p, no queue: 0.25528 / p^0.8 with the defaults (17, line 1)",
    ],
    notes: &[
        "zeta: the paper gives no value; 1 is equation 5 without a weight",
        "gate: the text compares lowwnd with the loss window, but derives it from the whole window (41 = (2 \
         / alpha)^(1/k)); with gate = \"loss_window\" and below_lowwnd = \"clear\" CTCP is below HSTCP at p \
         = 1e-4, unlike figures 5 and 8",
        "below_lowwnd: the paper does not say what happens to dwnd there; it is kept",
        "mean: section V averages the samples of the round, section III names the smoothed RTT; section V is \
         more specific",
        "CTCP-NWR (window_reduction = false): dwnd does not change while diff >= gamma",
        "the slow-start threshold after a loss is the whole window after the reduction; a timeout has the \
         same threshold and sets dwnd to 0",
        "dwnd does not change in slow start, in recovery, and in rounds that cwnd did not limit",
        "with delta = 1 ms, paths below 6 ms give at most 5 samples per round, so they behave like Reno",
    ],
    parameters: &[
        Parameter::number("alpha", 0.125, "", 1e-4..=10.0, "section IV.A: growth of the delay part"),
        Parameter::number("beta", 0.5, "share of the window", 0.01..=0.95, "section IV.A: decrease on loss"),
        Parameter::number("k", 0.75, "", 0.0..=0.95, "section IV.A: exponent of the growth"),
        Parameter::number(
            "gamma",
            30.0,
            "segments",
            0.1..=1e6,
            "section VI.B.4: backlog that counts as a queue",
        ),
        Parameter::number(
            "zeta",
            1.0,
            "",
            0.0..=100.0,
            "decrease per segment of backlog; no value in the paper",
        ),
        Parameter::number(
            "lowwnd",
            41.0,
            "segments",
            0.0..=1e6,
            "section V: the delay part is active from this window on; there it adds at least one segment per \
             round",
        ),
        Parameter::number(
            "samples",
            5.0,
            "",
            0.0..=1000.0,
            "section V: N; a round needs more samples than this",
        ),
        Parameter::number(
            "delta",
            0.001,
            "s",
            0.0..=1.0,
            "section V: at most RTT / delta samples per round, evenly spread; 0 takes every sample",
        ),
        Parameter::choice(
            "mean",
            "round",
            &[("round", "the average of the round's raw samples"), ("smoothed", "the host's smoothed RTT")],
            "the RTT in the equation of diff",
        ),
        Parameter::choice(
            "gate",
            "window",
            &[("window", "the whole window"), ("loss_window", "the loss window alone")],
            "the window that is compared with lowwnd",
        ),
        Parameter::choice(
            "below_lowwnd",
            "keep",
            &[("keep", "dwnd does not change"), ("clear", "dwnd becomes 0")],
            "what happens to dwnd below lowwnd",
        ),
        Parameter::flag("window_reduction", true, "reduce dwnd on delay; off is CTCP-NWR (section VI.B.6)"),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Compound::new(settings)),
    response: Some(|settings, p, _rtt_s| {
        let [alpha, beta, k] = ["alpha", "beta", "k"].map(|name| settings.number(name));
        let window = response(alpha, beta, k, p);
        if window < settings.number("lowwnd") { reno::response(1.0, 0.5, p) } else { window }
    }),
};

/// The controller.
#[derive(Clone)]
pub struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    gamma: f64,
    zeta: f64,
    lowwnd: f64,
    samples: u64,
    delta: Duration,
    smoothed: bool,
    gate_loss_window: bool,
    clear_below: bool,
    window_reduction: bool,
    /// The delay window, segments.
    dwnd: f64,
    /// dwnd before the last reduction. It is restored if that reduction was spurious.
    dwnd_before: f64,
    /// The loss window at the last update, segments.
    loss_window: f64,
    /// The smallest raw round-trip time outside recovery.
    base_rtt: Duration,
    /// The backlog at the end of the last round, segments.
    diff: f64,
    round: Round,
}

/// The raw round-trip times of one round.
#[derive(Clone, Default)]
struct Round {
    /// True while a round is in progress. False in recovery.
    open: bool,
    /// The round ends when this segment is acknowledged.
    last: u64,
    /// The next sample is taken when this segment is acknowledged, or later.
    next: u64,
    /// The distance between two samples, segments.
    spacing: u64,
    /// The largest number of samples.
    most: u64,
    taken: u64,
    sum: Duration,
}

impl Round {
    /// Starts a round: M = RTT / delta samples, evenly spread over a window of `win` segments (section V).
    fn start(path: &Path, win: f64, delta: Duration) -> Round {
        let most = if delta.is_zero() { u64::MAX } else { (path.srtt.as_nanos() / delta.as_nanos()).max(1) };
        let spacing = if delta.is_zero() { 0 } else { (win / most as f64) as u64 };
        Round { open: true, last: path.nxt, next: path.una, spacing, most, taken: 0, sum: Duration::ZERO }
    }

    fn take(&mut self, una: u64, rtt: Duration) {
        if una >= self.next && self.taken < self.most {
            self.sum = self.sum + rtt;
            self.taken += 1;
            self.next = una.saturating_add(self.spacing);
        }
    }
}

impl Compound {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Compound {
        Compound {
            alpha: settings.number("alpha"),
            beta: settings.number("beta"),
            k: settings.number("k"),
            gamma: settings.number("gamma"),
            zeta: settings.number("zeta"),
            lowwnd: settings.number("lowwnd"),
            samples: settings.number("samples") as u64,
            delta: Duration::from_secs_f64(settings.number("delta")),
            smoothed: settings.choice("mean") == "smoothed",
            gate_loss_window: settings.choice("gate") == "loss_window",
            clear_below: settings.choice("below_lowwnd") == "clear",
            window_reduction: settings.flag("window_reduction"),
            dwnd: 0.0,
            dwnd_before: 0.0,
            loss_window: 0.0,
            base_rtt: Duration::MAX,
            diff: 0.0,
            round: Round::default(),
        }
    }

    /// Splits the host's window: the loss window is the window minus dwnd, and at least one segment.
    ///
    /// In slow start dwnd keeps its value. A host may end recovery below the threshold that `cut` returned,
    /// and grow back to it. Then both parts fit again.
    #[inline]
    fn split(&mut self, w: &Window) {
        self.loss_window = (w.cwnd - self.dwnd).max(1.0);
        if !w.in_slow_start() {
            self.dwnd = (w.cwnd - self.loss_window).max(0.0);
        }
    }

    /// Sets the delay window, and with it the whole window.
    fn set_dwnd(&mut self, dwnd: f64, w: &mut Window) {
        self.dwnd = dwnd;
        w.cwnd = self.loss_window + dwnd;
        // A reduction before a queue must not look like the slow start after a loss.
        w.ssthresh = w.ssthresh.min(w.cwnd);
    }

    fn end_of_round(&mut self, path: &Path, w: &mut Window) {
        if w.in_slow_start() {
            return; // section III: the delay part is off
        }
        self.split(w);
        let win = w.cwnd.min(path.peer_window);
        let gated = if self.gate_loss_window { self.loss_window } else { win };
        if gated < self.lowwnd {
            if self.clear_below {
                self.set_dwnd(0.0, w);
            }
            return;
        }
        if self.round.taken <= self.samples || !path.cwnd_limited {
            return;
        }
        let mean = self.round.sum.as_nanos() as f64 / self.round.taken as f64;
        let rtt = if self.smoothed { path.srtt.as_nanos() as f64 } else { mean };
        self.diff = backlog(win, self.base_rtt.as_nanos() as f64, rtt);
        // Equation 5, lines 1 and 2.
        if self.diff < self.gamma {
            let growth = (self.alpha * libm::pow(win, self.k) - 1.0).max(0.0);
            self.set_dwnd(self.dwnd + growth, w);
        } else if self.window_reduction {
            self.set_dwnd((self.dwnd - self.zeta * self.diff).max(0.0), w);
        }
    }
}

impl Controller for Compound {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        if path.recovering {
            self.round.open = false; // section V: no samples and no change of dwnd during recovery
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            if self.round.open {
                self.round.take(path.una, rtt);
            }
        }
        if self.round.open && path.una <= self.round.last {
            return;
        }
        if self.round.open {
            self.end_of_round(path, w);
        }
        self.round = Round::start(path, w.cwnd.min(path.peer_window), self.delta);
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        self.split(w);
        let acked = slow_start(ack.acked, w);
        w.cwnd += acked / w.cwnd; // equation 2: dwnd is constant, the loss window grows
        self.loss_window = (w.cwnd - self.dwnd).max(1.0);
    }

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        self.split(w);
        self.dwnd_before = self.dwnd;
        self.round.open = false;
        let win = w.cwnd.min(path.peer_window);
        let half = self.loss_window / 2.0; // RFC 5681 equation 4, for the loss part
        let dwnd = (win * (1.0 - self.beta) - half).max(0.0); // equation 5, line 3
        self.dwnd = if why == Signal::Timeout { 0.0 } else { dwnd }; // section III: off in slow start
        self.loss_window = half;
        Some(half + dwnd)
    }

    fn on_event(&mut self, _path: &Path, event: Event, w: &mut Window) {
        match event {
            Event::Start | Event::Recovered => self.split(w),
            Event::Spurious => {
                self.dwnd = self.dwnd_before;
                self.split(w);
            }
            Event::Idle => {
                // The delay window belonged to a queue that is gone. The host may already have reduced the
                // window further.
                w.cwnd = w.cwnd.min(self.loss_window.max(1.0));
                self.dwnd = 0.0;
                self.split(w);
            }
        }
        self.round.open = false;
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dwnd", self.dwnd);
        see("loss_window", self.loss_window);
        see("diff", self.diff);
        let known = self.base_rtt < Duration::MAX;
        see("base_rtt", if known { self.base_rtt.as_secs_f64() } else { f64::INFINITY });
    }
}

/// The backlog of the connection at the bottleneck, segments: diff = (win / base - win / rtt) * base (section
/// III). Both times have the same unit.
pub fn backlog(win: f64, base: f64, rtt: f64) -> f64 {
    win * (1.0 - base / rtt)
}

/// W_m, segments: the window just before a loss, at loss rate `p`, if no queue builds (equation 16).
pub fn peak(alpha: f64, beta: f64, k: f64, p: f64) -> f64 {
    let kept = libm::pow(1.0 - beta, 2.0 - k);
    libm::pow(alpha * (2.0 - k) / ((1.0 - kept) * p), 1.0 / (2.0 - k))
}

/// The average window, segments, at loss rate `p`, if no queue builds: equation 17, line 1, times the RTT.
///
/// The paper's second line does not follow from its first. It lacks the factor (1 - k), and has alpha^(2-k)
/// in the denominator where alpha^(1/(2-k)) belongs in the numerator. With the defaults the result is 284
/// times too large.
pub fn response(alpha: f64, beta: f64, k: f64, p: f64) -> f64 {
    let w_m = peak(alpha, beta, k, p);
    let rounds = libm::pow(w_m, 1.0 - k) * (1.0 - libm::pow(1.0 - beta, 1.0 - k)) / (alpha * (1.0 - k));
    1.0 / (p * rounds)
}

#[cfg(test)]
mod tests;
