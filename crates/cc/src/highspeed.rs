//! HighSpeed TCP: increase and decrease depend on the window. A window of 83,000 segments needs a loss rate
//! of 1e-7 instead of 2e-10.
//!
//! Source: RFC 3649 (S. Floyd, 2003), sections 5 and 6; limited slow start from RFC 3742.
//!
//! What differs: the RFC prints its functions with rounded constants (p(w) = 0.078 / w^1.2, w = 0.12 /
//! p^0.835). Here they follow from the two points (38, 1e-3) and (83000, 1e-7) that define them; a(w) changes
//! by up to 2.5 %. Above the high window b(w) keeps its lowest value; the RFC's line would reach zero at
//! 567,000 segments. A loss in slow start halves the window, although the RFC's text has no such exception
//! from b(w). ns-2 (by the author of the RFC) halves in every slow start and Linux in the first, because the
//! window is then about twice what the path holds. `slow_start_cut = "law"` follows the text. a(w) is never
//! below Reno's one segment (the formula gives 0.96 at the low window). a(w) is computed at whole segments
//! and kept until the window passes the next one, so that no ACK costs a logarithm.

use crate::{Ack, Controller, Needs, Parameter, Path, Scheme, Settings, Signal, Window, reno, slow_start};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "highspeed",
    title: "HighSpeed TCP",
    source: "RFC 3649; limited slow start: RFC 3742",
    summary: "Like Reno, but the larger the window, the larger the increase and the smaller the decrease.",
    equations: &[
        "per segment acknowledged: cwnd += a(cwnd) / cwnd",
        "on loss, mark or timeout: ssthresh = (1 - b(cwnd)) * cwnd",
        "b(w) = (high_decrease - 0.5) * ln(w / low_window) / ln(high_window / low_window) + 0.5",
        "p(w) = low_p * (w / low_window)^(1/S), S = ln(high_window / low_window) / ln(high_p / low_p)",
        "a(w) = w^2 * p(w) * 2 * b(w) / (2 - b(w))",
        "up to low_window: a = 1, b = 0.5",
        "average window at loss rate p: low_window * (p / low_p)^S, about 0.12 / p^0.835",
    ],
    notes: &[
        "p(w) follows from the two defining points, not from the RFC's rounded 0.078 / w^1.2",
        "above high_window b(w) stays at high_decrease; the RFC defines nothing there",
        "a loss in slow start halves the window, as in ns-2",
        "a(w) is at least 1",
    ],
    parameters: &[
        Parameter::number(
            "low_window",
            38.0,
            "segments",
            1.0..=999.0,
            "RFC 3649: up to this window it is \
                                                                        Reno",
        ),
        Parameter::number("high_window", 83_000.0, "segments", 1000.0..=1e9, "RFC 3649 section 5: W_1"),
        Parameter::number("low_p", 1e-3, "loss rate", 1e-5..=0.1, "RFC 3649: Reno's loss rate at low_window"),
        Parameter::number(
            "high_p",
            1e-7,
            "loss rate",
            1e-12..=9e-6,
            "RFC 3649 section 5: P_1 at high_window",
        ),
        Parameter::number(
            "high_decrease",
            0.1,
            "share of the window",
            0.01..=0.5,
            "RFC 3649 section 5: the decrease at high_window",
        ),
        Parameter::number(
            "max_ssthresh",
            0.0,
            "segments",
            0.0..=1e9,
            "RFC 3742 (100 there): above this window slow start adds at most half of it per round trip; 0 is \
             off",
        ),
        Parameter::choice(
            "slow_start_cut",
            "half",
            &[
                ("half", "ssthresh = cwnd / 2, as in ns-2"),
                ("law", "1 - b(cwnd), as in congestion avoidance"),
            ],
            "how a loss during slow start reduces the window",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(HighSpeed::new(settings)),
    response: Some(|settings, p, _rtt_s| Law::new(settings).window(p)),
};

/// The controller.
#[derive(Clone)]
pub struct HighSpeed {
    law: Law,
    max_ssthresh: f64,
    halve_in_slow_start: bool,
    /// The window, in whole segments, for which `a` was computed.
    at: f64,
    a: f64,
}

impl HighSpeed {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> HighSpeed {
        HighSpeed {
            law: Law::new(settings),
            max_ssthresh: settings.number("max_ssthresh"),
            halve_in_slow_start: settings.choice("slow_start_cut") == "half",
            at: 0.0,
            a: 1.0, // a(0), as a(w) is 1 up to low_window
        }
    }

    /// a(w) at whole segments. Computed again only when the window passes one.
    fn increase(&mut self, cwnd: f64) -> f64 {
        let whole = libm::floor(cwnd);
        if whole != self.at {
            self.at = whole;
            self.a = self.law.increase(whole);
        }
        self.a
    }
}

impl Controller for HighSpeed {
    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = limited_slow_start(ack.acked, self.max_ssthresh, w);
        if acked > 0.0 {
            w.cwnd += self.increase(w.cwnd) * acked / w.cwnd; // RFC 3649 section 3
        }
    }

    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        if self.halve_in_slow_start && w.in_slow_start() {
            return Some(w.cwnd / 2.0);
        }
        Some(w.cwnd * (1.0 - self.law.decrease(w.cwnd))) // RFC 3649 section 3
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("a", self.a);
        see("b", self.law.decrease(self.at));
    }
}

/// RFC 3742: above `max_ssthresh` segments slow start adds 1/K per acknowledged segment, K = floor(cwnd /
/// (max_ssthresh / 2)). Returns the rest of `acked` for congestion avoidance.
fn limited_slow_start(acked: f64, max_ssthresh: f64, w: &mut Window) -> f64 {
    if max_ssthresh <= 0.0 {
        return slow_start(acked, w);
    }
    let mut left = acked;
    if w.cwnd < max_ssthresh {
        let used = left.min(w.ssthresh.min(max_ssthresh) - w.cwnd).max(0.0);
        w.cwnd += used;
        left -= used;
    }
    if left > 0.0 && w.in_slow_start() {
        let k = libm::floor(w.cwnd / (0.5 * max_ssthresh)).max(1.0);
        let used = left.min((w.ssthresh - w.cwnd) * k);
        w.cwnd += used / k;
        left -= used;
    }
    left
}

/// The functions of RFC 3649 through two points: `low_p` at `low_window` and `high_p` at `high_window`.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    low_window: f64,
    high_window: f64,
    low_p: f64,
    high_decrease: f64,
    /// ln(high_window / low_window).
    span: f64,
    /// S: the window is proportional to p^S. S is negative.
    slope: f64,
}

impl Law {
    /// The functions for checked `settings` of the scheme "highspeed".
    pub fn new(settings: &Settings) -> Law {
        let (low_window, high_window) = (settings.number("low_window"), settings.number("high_window"));
        let (low_p, high_p) = (settings.number("low_p"), settings.number("high_p"));
        let span = libm::log(high_window / low_window);
        Law {
            low_window,
            high_window,
            low_p,
            high_decrease: settings.number("high_decrease"),
            span,
            slope: span / libm::log(high_p / low_p),
        }
    }

    /// b(w), a share of the window, at window `w` in segments: linear in ln w (RFC 3649 section 5).
    pub fn decrease(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 0.5;
        }
        let w = w.min(self.high_window);
        (self.high_decrease - 0.5) * libm::log(w / self.low_window) / self.span + 0.5
    }

    /// p(w): the loss rate at which the average window is `w` segments (RFC 3649 section 5).
    pub fn loss_rate(&self, w: f64) -> f64 {
        self.low_p * libm::pow(w / self.low_window, 1.0 / self.slope)
    }

    /// a(w), the growth per round trip in segments, at window `w` in segments (RFC 3649 section 5).
    pub fn increase(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let b = self.decrease(w);
        (w * w * self.loss_rate(w) * 2.0 * b / (2.0 - b)).max(1.0)
    }

    /// The average window in segments at loss rate `p`. At `low_p` and above it is Reno's square-root law.
    pub fn window(&self, p: f64) -> f64 {
        if p >= self.low_p {
            return reno::response(1.0, 0.5, p);
        }
        self.low_window * libm::pow(p / self.low_p, self.slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme};

    fn settings() -> Settings {
        Settings::defaults(scheme("highspeed").expect("highspeed is there"))
    }

    #[test]
    fn the_laws_of_rfc_3649() {
        let law = Law::new(&settings());
        // Section 5: p(w) = 0.078 / w^1.2 and w = 0.12 / p^0.835, as rounded there.
        assert!((1.0 / law.slope + 1.198).abs() < 1e-3);
        assert!((law.loss_rate(1.0) - 0.078).abs() < 5e-4);
        assert!((law.slope + 0.835).abs() < 5e-4);
        assert!((law.low_window * libm::pow(law.low_p, -law.slope) - 0.119).abs() < 5e-4);
        // The defining points.
        assert!((law.window(1e-7) - 83_000.0).abs() < 1e-6);
        assert!((law.loss_rate(83_000.0) - 1e-7).abs() < 1e-18);
        assert_eq!(law.decrease(38.0), 0.5);
        assert!((law.decrease(83_000.0) - 0.1).abs() < 1e-12);
        assert_eq!(law.decrease(1e6), law.decrease(83_000.0));
    }

    #[test]
    fn rows_of_the_rfcs_table() {
        // RFC 3649 appendix B (w, a, b), computed there with the rounded p(w).
        let law = Law::new(&settings());
        for (w, a, b) in [(118.0, 2.0, 0.44), (221.0, 3.0, 0.41), (1058.0, 8.0, 0.33)] {
            assert!((law.increase(w) / a - 1.0).abs() < 0.025, "a({w}) = {}", law.increase(w));
            assert!((law.decrease(w) - b).abs() <= 0.005, "b({w}) = {}", law.decrease(w));
        }
    }

    #[test]
    fn the_response_values_of_the_ctcp_paper() {
        // Tan et al. 2006, figure 5, from 0.12 / p^0.835: equal within that rounding.
        let law = Law::new(&settings());
        for (p, w) in [(1e-3, 38.4), (1e-4, 262.5), (1e-5, 1795.0), (1e-6, 12280.0), (1e-7, 83981.0)] {
            assert!((law.window(p) / w - 1.0).abs() < 0.013, "{p}: {}", law.window(p));
        }
    }

    #[test]
    fn reno_up_to_the_low_window() {
        let mut hstcp = HighSpeed::new(&settings());
        let mut w = Window { cwnd: 20.0, ssthresh: 10.0, pacing: None };
        hstcp.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 20.05);
        w.cwnd = 38.0;
        assert_eq!(hstcp.cut(&Path::default(), &w, Signal::Loss), Some(19.0));
    }

    #[test]
    fn a_cut_in_slow_start_halves_unless_the_law_is_wanted() {
        let cut = |settings: &Settings, ssthresh| {
            let w = Window { cwnd: 30_000.0, ssthresh, pacing: None };
            HighSpeed::new(settings).cut(&Path::default(), &w, Signal::Loss).expect("it reacts")
        };
        let mut lawful = settings();
        lawful.set("slow_start_cut", Given::Word("law")).expect("a word that there is");
        assert_eq!(cut(&settings(), f64::INFINITY), 15_000.0);
        assert!(cut(&settings(), 10_000.0) > 25_000.0);
        assert_eq!(cut(&lawful, f64::INFINITY), cut(&settings(), 10_000.0));
    }

    #[test]
    fn the_kept_increase_is_the_one_of_the_whole_window() {
        let mut hstcp = HighSpeed::new(&settings());
        for cwnd in [1000.2, 1000.9, 1001.0, 50_000.5, 12.0, 1000.9] {
            let mut w = Window { cwnd, ssthresh: 1.0, pacing: None };
            hstcp.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
            let a = hstcp.law.increase(libm::floor(cwnd));
            assert_eq!(w.cwnd, cwnd + a / cwnd);
        }
    }

    #[test]
    fn limited_slow_start_adds_about_half_the_limit_per_round() {
        let mut limited = settings();
        limited.set("max_ssthresh", Given::Number(100.0)).expect("in range");
        let mut hstcp = HighSpeed::new(&limited);
        let mut w = Window::starting_at(64.0);
        for _ in 0..36 {
            hstcp.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        }
        assert_eq!(w.cwnd, 100.0);
        for _ in 0..40 {
            let before = w.cwnd;
            for _ in 0..before as u64 {
                hstcp.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
            }
            assert!((48.0..=76.0).contains(&(w.cwnd - before)), "{before} to {}", w.cwnd);
        }
        w.ssthresh = w.cwnd + 1.0;
        hstcp.grow(&Path::default(), &Ack { acked: 1e4, ..Ack::default() }, &mut w);
        assert!(!w.in_slow_start());
    }
}
