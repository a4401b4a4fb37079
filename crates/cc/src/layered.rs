//! Layered TCP (LTCP): a flow behaves like several TCP flows. Their number is the layer that the window has
//! reached. Layers begin at fixed thresholds, and growth is scaled with the round-trip time.
//!
//! Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks" (dissertation, Texas
//! A&M University, 2006), chapter III: section III.A for the fixed decrease, III.B for the variable one.
//!
//! What differs: the pseudocode of III.A.3.f raises K by at most one per ACK, and lowers it by at most one
//! per loss. Here K is always the layer of the window (W_K <= cwnd < W_(K+1), section III.A.2), because the
//! host may set the window as well. A reduction then costs at most one layer as long as equation 3.14 holds
//! (fixed 0.15: up to layer 18, and exactly at 19; variable decrease: always). Where the source is open there
//! is a switch: the reference round-trip time, the behaviour below W_T, a loss in slow start, the samples for
//! the smallest round-trip time, and the interpolation of beta_K.
//!
//! Below W_T the text wants TCP's behaviour, while the pseudocode has one rule for all windows. A jump from
//! TCP's growth and halving to those of layer 2 keeps flows on either side of W_T apart: with fifty flows or
//! more on 1 Gbit/s the source's fairness is out of reach. So the default is the pseudocode.

use crate::{Ack, Controller, Needs, Parameter, Path, Scheme, Settings, Signal, Window, reno, slow_start};
use ackclock_units::Duration;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "layered",
    title: "Layered TCP",
    source: "Bhandarkar 2006, chapter III (LTCP)",
    summary: "Grows by K segments per round trip in layer K. Loses about one layer on loss.",
    equations: &[
        "layer K while W_K <= cwnd < W_(K+1), W_K = K (K+1) (K-1) / 6 * w_t (3.11)",
        "per segment acknowledged: cwnd += K_R * (K + (cwnd - W_K) / (W_(K+1) - W_K)) / cwnd",
        "on loss, mark or timeout: ssthresh = (1 - beta) * cwnd; variable: beta_K = 1 / (K + 1) (3.41)",
        "K_R = (smallest RTT / rtt_reference)^rtt_exponent",
        "average window at loss rate p: C * (K_R / p)^(3/5) (3.20)",
        "C = (6 / w_t)^(1/5) * (1 - beta/2) / (beta * (1 - beta/2))^(3/5) = 1.980 (3.17, 3.19)",
    ],
    notes: &[
        "rtt_reference: the source says only that K_R is proportional to RTT^(1/3); with K_R = 1 at 8 ms it \
         is 2.466 at 120 ms, and the published loss rates of Tables II, XI and XV need 2.46",
        "below_threshold: the pseudocode, which is the default, has one rule for all windows; the text says \
         that behaviour differs from TCP above w_t. With \"tcp\" growth and decrease jump at w_t, and many \
         flows do not share as fairly as published: 200 flows of ldp-fig-68 have a Jain index of 0.5, and \
         0.99 with the default",
        "slow_start_cut: the source leaves slow start as it is, and its implementation is a change of ns-2's \
         Sack1, which halves after slow start whatever the decrease is. After an overshot slow start the \
         window is twice what the path holds; the fixed decrease then takes seven losses, with a timeout \
         among them",
        "min_rtt: the text says the lowest sample, the pseudocode names a smoothed value",
        "interpolation: the source says only that beta_K is scaled continuously",
        "timeout: not in the source; slow start from layer 1, the threshold follows from the scheme's own \
         decrease",
        "the printed C has beta * (1 - beta) in its denominator; this does not follow from 3.17 and 3.19 \
         (5.2 % more)",
    ],
    parameters: &[
        Parameter::number(
            "w_t",
            50.0,
            "segments",
            1.0..=1e6,
            "III.A.3.f: W_T, the window at which the second layer begins",
        ),
        Parameter::choice(
            "decrease",
            "fixed",
            &[("fixed", "beta of the window (III.A)"), ("variable", "1 / (K + 1) of the window (III.B)")],
            "the share that a loss takes",
        ),
        Parameter::number(
            "beta",
            0.15,
            "share of the window",
            0.01..=0.9,
            "III.A.3: the fixed decrease; at most one layer is lost while beta < 3 / (K + 1) (3.14)",
        ),
        Parameter::choice(
            "interpolation",
            "linear",
            &[("linear", "between beta_K and beta_(K+1)"), ("reciprocal", "1 / (K + fraction + 1)")],
            "the variable decrease between two layers (III.B.1)",
        ),
        Parameter::choice(
            "layers",
            "fractional",
            &[
                ("fractional", "linear between layers, as in the pseudocode of III.A.3.f"),
                ("integer", "whole layers only, as in the framework of III.A.2 and Table I"),
            ],
            "the value of K between two thresholds",
        ),
        Parameter::number(
            "rtt_exponent",
            1.0 / 3.0,
            "",
            0.0..=1.0,
            "III.A.3.d chooses 1/3, which is as unfair to long RTTs as TCP; 0 is no compensation",
        ),
        Parameter::number(
            "rtt_reference",
            0.008,
            "s",
            1e-6..=10.0,
            "the RTT at which K_R = 1; not in the source, fitted to its Tables II, XI and XV",
        ),
        Parameter::choice(
            "min_rtt",
            "raw",
            &[("raw", "smallest raw sample"), ("smoothed", "smallest smoothed value")],
            "the round-trip time that gives K_R",
        ),
        Parameter::choice(
            "below_threshold",
            "layered",
            &[
                ("layered", "the layered equations with K = 1, and their decrease (III.A.3.f)"),
                ("tcp", "one segment per round trip and halving"),
            ],
            "behaviour in the first layer",
        ),
        Parameter::choice(
            "slow_start_cut",
            "half",
            &[
                ("half", "ssthresh = cwnd / 2, as in ns-2"),
                ("law", "the layered decrease, as in congestion avoidance"),
            ],
            "how a loss during slow start reduces the window",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Layered::new(settings)),
    response: Some(|settings, p, rtt_s| {
        let w_t = settings.number("w_t");
        let k_r = compensation(rtt_s, settings.number("rtt_reference"), settings.number("rtt_exponent"));
        let window = if settings.choice("decrease") == "variable" {
            response_variable(w_t, k_r, p)
        } else {
            response(w_t, settings.number("beta"), k_r, p)
        };
        let reverts = settings.choice("below_threshold") == "tcp" && window < w_t;
        if reverts { reno::response(1.0, 0.5, p) } else { window }
    }),
};

/// The share of the window that a loss takes.
#[derive(Clone)]
enum Decrease {
    Fixed(f64),
    Linear,
    Reciprocal,
}

/// The controller.
#[derive(Clone)]
pub struct Layered {
    w_t: f64,
    decrease: Decrease,
    fractional: bool,
    tcp_below: bool,
    halve_in_slow_start: bool,
    smoothed: bool,
    rtt_exponent: f64,
    rtt_reference: f64,
    min_rtt: Duration,
    k_r: f64,
    /// The last window, its layer K, and the thresholds W_K and W_(K+1).
    window: f64,
    layer: f64,
    floor: f64,
    ceiling: f64,
}

impl Layered {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Layered {
        let w_t = settings.number("w_t");
        Layered {
            w_t,
            decrease: match (settings.choice("decrease"), settings.choice("interpolation")) {
                ("variable", "linear") => Decrease::Linear,
                ("variable", _) => Decrease::Reciprocal,
                _ => Decrease::Fixed(settings.number("beta")),
            },
            fractional: settings.choice("layers") == "fractional",
            tcp_below: settings.choice("below_threshold") == "tcp",
            halve_in_slow_start: settings.choice("slow_start_cut") == "half",
            smoothed: settings.choice("min_rtt") == "smoothed",
            rtt_exponent: settings.number("rtt_exponent"),
            rtt_reference: settings.number("rtt_reference"),
            min_rtt: Duration::MAX,
            k_r: 1.0,
            window: 0.0,
            layer: 1.0,
            floor: 0.0,
            ceiling: w_t,
        }
    }

    /// Finds the layer of `cwnd`. Costs two comparisons while the layer does not change.
    #[inline]
    fn follow(&mut self, cwnd: f64) {
        self.window = cwnd;
        if cwnd < self.floor || cwnd >= self.ceiling {
            self.layer = layer_at(self.w_t, cwnd);
            self.floor = threshold(self.w_t, self.layer);
            self.ceiling = threshold(self.w_t, self.layer + 1.0);
        }
    }

    /// K_fract of III.A.3.f, 0 to 1; 0 with whole layers.
    fn fraction(&self) -> f64 {
        if self.fractional { (self.window - self.floor) / (self.ceiling - self.floor) } else { 0.0 }
    }

    fn like_tcp(&self) -> bool {
        self.tcp_below && self.layer < 2.0
    }

    /// The growth per round trip, segments.
    fn increase(&self) -> f64 {
        if self.like_tcp() { 1.0 } else { self.k_r * (self.layer + self.fraction()) } // III.A.3.f
    }

    /// The decrease, as a share of the window.
    fn beta(&self) -> f64 {
        if self.like_tcp() {
            return 0.5;
        }
        match self.decrease {
            Decrease::Fixed(beta) => beta, // equation 3.4
            Decrease::Linear => {
                let (here, next) = (variable_beta(self.layer), variable_beta(self.layer + 1.0));
                here + (next - here) * self.fraction()
            }
            Decrease::Reciprocal => variable_beta(self.layer + self.fraction()),
        }
    }
}

impl Controller for Layered {
    fn on_sample(&mut self, path: &Path, _ack: &Ack, _w: &mut Window) {
        // III.A.3.f: K_R changes only when the smallest round-trip time does.
        let rtt = if self.smoothed { path.srtt } else { path.rtt_min };
        if rtt < self.min_rtt && !rtt.is_zero() {
            self.min_rtt = rtt;
            self.k_r = compensation(rtt.as_secs_f64(), self.rtt_reference, self.rtt_exponent);
        }
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        if acked > 0.0 {
            self.follow(w.cwnd);
            w.cwnd += self.increase() * acked / w.cwnd;
        }
        self.follow(w.cwnd);
    }

    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        self.follow(w.cwnd);
        let beta = if self.halve_in_slow_start && w.in_slow_start() { 0.5 } else { self.beta() };
        let after = w.cwnd * (1.0 - beta);
        self.follow(after);
        Some(after)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("layer", self.layer + self.fraction());
        see("k_r", self.k_r);
        see("beta", self.beta());
    }
}

/// W_K, segments: the window at which layer `k` begins. `w_t` is W_T = W_2 (equation 3.11).
pub fn threshold(w_t: f64, k: f64) -> f64 {
    k * (k + 1.0) * (k - 1.0) / 6.0 * w_t
}

/// delta_K = W_(K+1) - W_K, segments (equation 3.12).
pub fn step(w_t: f64, k: f64) -> f64 {
    k * (k + 1.0) / 2.0 * w_t
}

/// The layer of a window of `window` segments: the K with W_K <= window < W_(K+1), at least 1.
pub fn layer_at(w_t: f64, window: f64) -> f64 {
    // K^3 - K = 6 W / W_T: the floor of the cube root is the layer, or one below it.
    let below = libm::floor(libm::cbrt(6.0 * window / w_t)).max(1.0);
    if threshold(w_t, below + 1.0) <= window { below + 1.0 } else { below }
}

/// beta_K = 1 / (K + 1): the share of the window that a loss takes in layer `k`, with the variable decrease
/// (equation 3.41).
pub fn variable_beta(k: f64) -> f64 {
    1.0 / (k + 1.0)
}

/// K_R for a round-trip time of `rtt_s` seconds, 1 at `reference_s` seconds (section III.A.3.d).
pub fn compensation(rtt_s: f64, reference_s: f64, exponent: f64) -> f64 {
    libm::pow(rtt_s / reference_s, exponent)
}

/// W'' of equation 3.19, segments: the window just before a loss, at loss rate `p`, with a fixed `beta`.
pub fn peak(w_t: f64, beta: f64, k_r: f64, p: f64) -> f64 {
    libm::pow(k_r * libm::cbrt(6.0 / w_t) / (beta * (1.0 - beta / 2.0) * p), 0.6)
}

/// The average window, segments, at loss rate `p`, with a fixed `beta`: equation 3.17 with equation 3.19.
/// Valid where it exceeds `w_t`.
pub fn response(w_t: f64, beta: f64, k_r: f64, p: f64) -> f64 {
    peak(w_t, beta, k_r, p) * (1.0 - beta / 2.0)
}

/// The average window, segments, at loss rate `p`, with beta_K = 1 / (K + 1).
///
/// Not in the source. Equation 3.18 with that beta is W''^2 = K_R K (K + 1) / (p (1 - beta/2)). It is solved
/// here with K = (6 W'' / W_T)^(1/3) as in equation 3.19. For large windows it tends to (6 / W_T)^(1/2) (K_R
/// / p)^(3/4).
pub fn response_variable(w_t: f64, k_r: f64, p: f64) -> f64 {
    let (mut peak, mut beta) = (w_t, 0.5);
    for _ in 0..60 {
        // The right-hand side grows with W''^(1/3), so each step divides the error by three.
        let k = libm::cbrt(6.0 * peak / w_t);
        beta = variable_beta(k);
        peak = libm::sqrt(k_r * k * (k + 1.0) / (p * (1.0 - beta / 2.0)));
    }
    peak * (1.0 - beta / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme};

    fn layered(words: &[(&str, &str)], numbers: &[(&str, f64)]) -> Layered {
        let mut settings = Settings::defaults(scheme("layered").expect("layered is there"));
        for &(name, word) in words {
            settings.set(name, Given::Word(word)).expect("a known word");
        }
        for &(name, number) in numbers {
            settings.set(name, Given::Number(number)).expect("in range");
        }
        Layered::new(&settings)
    }

    fn after_one_ack(controller: &mut Layered, cwnd: f64) -> f64 {
        let mut w = Window { cwnd, ssthresh: 1.0, pacing: None };
        controller.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        w.cwnd
    }

    fn after_cut(controller: &mut Layered, cwnd: f64) -> f64 {
        let w = Window { cwnd, ssthresh: 1.0, pacing: None };
        controller.cut(&Path::default(), &w, Signal::Loss).expect("it reacts")
    }

    #[test]
    fn layers_meet_their_thresholds() {
        for k in 1..2000 {
            let k = f64::from(k);
            let at = threshold(50.0, k);
            assert_eq!(layer_at(50.0, at), k);
            if k > 1.0 {
                assert_eq!(layer_at(50.0, at * (1.0 - 1e-15)), k - 1.0);
            }
            assert_eq!(threshold(50.0, k + 1.0), at + step(50.0, k));
        }
        assert_eq!(layer_at(50.0, 0.0), 1.0);
        assert!(layer_at(50.0, 1e300).is_finite());
    }

    #[test]
    fn a_2_4_gbit_path_of_150_ms_is_in_layer_15() {
        assert_eq!(layer_at(50.0, 30_000.0), 15.0); // section III.A.3.b
        assert_eq!(layer_at(50.0, 19_000.0), 13.0); // section III.B.2.a
    }

    #[test]
    fn growth_is_the_layer_per_round_trip() {
        // Half-way through layer 3 (200 to 500): 3.5 segments per round trip.
        assert_eq!(after_one_ack(&mut layered(&[], &[]), 350.0), 350.0 + 3.5 / 350.0);
        assert_eq!(after_one_ack(&mut layered(&[("layers", "integer")], &[]), 350.0), 350.0 + 3.0 / 350.0);
    }

    #[test]
    fn the_first_layer_is_tcp_or_layered() {
        let from_the_start = &mut layered(&[], &[]);
        assert_eq!(after_one_ack(from_the_start, 25.0), 25.0 + 1.5 / 25.0);
        assert_eq!(after_cut(from_the_start, 25.0), 25.0 * 0.85);
        let like_tcp = &mut layered(&[("below_threshold", "tcp")], &[]);
        assert_eq!(after_one_ack(like_tcp, 25.0), 25.04);
        assert_eq!(after_cut(like_tcp, 25.0), 12.5);
    }

    #[test]
    fn a_cut_in_slow_start_halves_unless_the_law_is_wanted() {
        let at_once = |word| {
            let w = Window { cwnd: 1000.0, ssthresh: 2000.0, pacing: None };
            layered(&[("slow_start_cut", word)], &[]).cut(&Path::default(), &w, Signal::Loss)
        };
        assert_eq!((at_once("half"), at_once("law")), (Some(500.0), Some(850.0)));
        // At the threshold slow start is over.
        let w = Window { cwnd: 1000.0, ssthresh: 1000.0, pacing: None };
        assert_eq!(layered(&[], &[]).cut(&Path::default(), &w, Signal::Loss), Some(850.0));
    }

    #[test]
    fn decreases() {
        assert_eq!(after_cut(&mut layered(&[], &[]), 1000.0), 850.0);
        let variable = &[("decrease", "variable")];
        assert!((after_cut(&mut layered(variable, &[]), 8250.0) - 7500.0).abs() < 1e-9); // 1/11
        // Half-way through layer 3: (1/4 + 1/5) / 2 against 1 / 4.5.
        assert!((after_cut(&mut layered(variable, &[]), 350.0) - 350.0 * 0.775).abs() < 1e-9);
        let reciprocal = &[("decrease", "variable"), ("interpolation", "reciprocal")];
        assert!((after_cut(&mut layered(reciprocal, &[]), 350.0) - 350.0 * 3.5 / 4.5).abs() < 1e-9);
    }

    #[test]
    fn at_most_one_layer_is_lost_where_equation_3_14_holds() {
        for (words, last) in [(&[("decrease", "fixed")], 18), (&[("decrease", "variable")], 500)] {
            let mut controller = layered(words, &[]);
            for k in 2..=last {
                let k = f64::from(k);
                let left = layer_at(50.0, after_cut(&mut controller, threshold(50.0, k)));
                assert!(left >= k - 1.0, "{k} to {left}");
            }
        }
        // In a higher layer the fixed decrease costs two: 66,500 to 56,525, which is below W_19 = 57,000.
        assert_eq!(layer_at(50.0, after_cut(&mut layered(&[], &[]), threshold(50.0, 20.0))), 18.0);
    }

    #[test]
    fn compensation_follows_the_smallest_round_trip_time() {
        let mut controller = layered(&[], &[]);
        let mut w = Window { cwnd: 1000.0, ssthresh: 1.0, pacing: None };
        for (ms, k_r) in [(120, 2.466), (64, 2.0), (120, 2.0), (8, 1.0)] {
            let path = Path { rtt_min: Duration::from_millis(ms), ..Path::default() };
            controller.on_sample(&path, &Ack::default(), &mut w);
            assert!((controller.k_r - k_r).abs() < 5e-4, "{ms} ms: {}", controller.k_r);
        }
        let mut off = layered(&[], &[("rtt_exponent", 0.0)]);
        off.on_sample(
            &Path { rtt_min: Duration::from_millis(120), ..Path::default() },
            &Ack::default(),
            &mut w,
        );
        assert_eq!(off.k_r, 1.0);
        let mut smoothed = layered(&[("min_rtt", "smoothed")], &[]);
        let path =
            Path { rtt_min: Duration::from_millis(1), srtt: Duration::from_millis(8), ..Path::default() };
        smoothed.on_sample(&path, &Ack::default(), &mut w);
        assert_eq!(smoothed.k_r, 1.0);
    }

    #[test]
    fn a_timeout_goes_back_to_the_first_layer_and_slow_start_finds_the_layer_again() {
        let mut controller = layered(&[], &[]);
        let mut w = Window { cwnd: 1000.0, ssthresh: 1.0, pacing: None };
        w.ssthresh = controller.cut(&Path::default(), &w, Signal::Timeout).expect("it reacts");
        w.cwnd = 1.0;
        controller.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        assert_eq!((w.cwnd, controller.layer), (2.0, 1.0));
        controller.grow(&Path::default(), &Ack { acked: 900.0, ..Ack::default() }, &mut w);
        assert_eq!(controller.layer, 4.0);
    }
}
