//! CUBIC: the window follows a cubic function of the time since the last reduction.
//!
//! Source: RFC 9438, CUBIC for Fast and Long-Distance Networks.
//!
//! What differs: by default the reduction applies to the congestion window. Section 4.6 of the RFC uses the
//! flight size and allows both; `reduce = "flight"` selects it. If the Reno-friendly estimate is below the
//! present window, the window does not change. Section 4.3 would set it to the estimate; Linux keeps it. Each
//! acknowledged segment counts as one of the RFC's ACKs, so delayed acknowledgements do not slow the growth.
//! An epoch begins with the first growth in congestion avoidance after a reduction. Time in which the window
//! did not limit the sender does not count (section 5.8). Linux (`net/ipv4/tcp_cubic.c`) departs from the
//! RFC in two rules more, which are switches: `without_w_max` and `reno_growth`.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::Time;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "cubic",
    title: "CUBIC",
    source: "RFC 9438",
    summary: "Grows along a cubic curve in time, which is flat around the window of the last loss. At least \
              as fast as Reno.",
    equations: &[
        "K = cbrt((W_max - cwnd_epoch) / c)",
        "W_cubic(t) = c (t - K)^3 + W_max, t in seconds since the epoch began",
        "target = W_cubic(t + srtt), limited to the range from cwnd to target_limit * cwnd",
        "per segment acknowledged: cwnd += (target - cwnd) / cwnd",
        "W_est += alpha / cwnd per segment; alpha = 3 (1 - beta) / (1 + beta), or 1 from the window before \
         the loss on",
        "while W_cubic(t) < W_est: cwnd = max(cwnd, W_est)",
        "on loss, mark or timeout: ssthresh = beta * cwnd; W_max = cwnd, or cwnd (1 + beta) / 2 if below the \
         last W_max",
        "after a timeout: K = 0, and W_max = cwnd at the start of congestion avoidance",
        "average window at loss rate p: (c (3 + beta) / (4 (1 - beta)))^(1/4) * (rtt / p)^(3/4), or Reno's if larger",
    ],
    notes: &[
        "Linux differs in two ways: without_w_max = \"twentieth\", and reno_growth = \"alpha\"",
        "reduce = \"window\" uses cwnd; RFC 9438 section 4.6 uses the flight size",
        "the Reno-friendly region never lowers the window",
        "an epoch begins with the first growth in congestion avoidance; time not limited by cwnd does not \
         count",
        "section 4.10 recommends HyStart++ for slow start; RACK-TLP (RFC 8985) and PRR (RFC 9937) are the \
         standards for senders with SACK that it is run with",
    ],
    parameters: &[
        Parameter::number(
            "c",
            0.4,
            "segments per second cubed",
            1e-4..=100.0,
            "RFC 9438 section 5: how aggressive the cubic is",
        ),
        Parameter::number(
            "beta",
            0.7,
            "share of the window that a loss leaves",
            0.1..=0.99,
            "RFC 9438 section 4.6: beta_cubic",
        ),
        Parameter::number(
            "target_limit",
            1.5,
            "windows",
            1.01..=10.0,
            "RFC 9438 section 4.2: the limit of the target, so that one round trip adds at most half a \
             window",
        ),
        Parameter::flag(
            "fast_convergence",
            true,
            "RFC 9438 section 4.7: lower W_max further if the window falls from loss to loss",
        ),
        Parameter::flag("reno_friendly", true, "RFC 9438 section 4.3: grow at least as Reno would"),
        Parameter::choice(
            "reduce",
            "window",
            &[("window", "the congestion window"), ("flight", "the flight size (RFC 9438 section 4.6)")],
            "the base of the decrease",
        ),
        Parameter::choice(
            "reno_growth",
            "rises",
            &[
                ("rises", "alpha below the window before the loss, 1 from there on (RFC 9438 section 4.3)"),
                ("alpha", "always alpha (Linux)"),
            ],
            "how much the Reno-friendly estimate grows per round trip, segments",
        ),
        Parameter::choice(
            "without_w_max",
            "curve",
            &[
                ("curve", "the curve with K = 0 (RFC 9438 sections 4.8 and 4.10)"),
                ("twentieth", "at least cwnd / 20 per round trip (Linux: cnt = 20 without last_max_cwnd)"),
            ],
            "the growth before the first loss, and after a timeout",
        ),
    ],
    endpoint: &[
        ("detection", "\"rack\""),
        ("recovery", "{ sack = { proportional_rate = true } }"),
        ("slow_start", "\"hystart++\""),
    ],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Cubic::new(settings)),
    response: Some(|settings, p, rtt_s| {
        let cubic = response(settings.number("c"), settings.number("beta"), p, rtt_s);
        if settings.flag("reno_friendly") { cubic.max(libm::sqrt(1.5 / p)) } else { cubic }
    }),
};

/// RFC 9438 section 4.6, figure 5: ssthresh is at least two segments.
const MIN_SSTHRESH: f64 = 2.0;

/// The controller.
#[derive(Clone)]
pub struct Cubic {
    c: f64,
    beta: f64,
    alpha: f64,
    target_limit: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// What the estimate grows by per round trip from the window before the loss on, segments.
    alpha_beyond: f64,
    reduce_flight: bool,
    /// The least growth per acknowledged segment while there is no W_max, segments.
    least_growth: f64,
    epoch: Epoch,
    /// The epoch before the last reduction. It is restored if that reduction was spurious.
    undo: Epoch,
    /// The time of the last acknowledgement.
    seen: Time,
}

/// One congestion avoidance stage, and the values that the next one inherits.
#[derive(Clone, Copy)]
struct Epoch {
    /// True in congestion avoidance.
    running: bool,
    /// The start of the stage, shifted by the time that does not count.
    since: Time,
    /// W_max: the window at which the cubic is flat, segments; zero if there is none.
    w_max: f64,
    /// True if it comes from a loss, and not from the start of this stage.
    lost: bool,
    /// K: the time from the start to W_max, seconds.
    k: f64,
    /// W_est: the window that Reno would have, segments.
    w_est: f64,
    /// The window before the last reduction, segments.
    cwnd_prior: f64,
}

impl Cubic {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Cubic {
        let beta = settings.number("beta");
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta); // RFC 9438 section 4.3
        let epoch = Epoch {
            running: false,
            since: Time::ZERO,
            w_max: 0.0,
            lost: false,
            k: 0.0,
            w_est: 0.0,
            cwnd_prior: 0.0,
        };
        Cubic {
            c: settings.number("c"),
            beta,
            alpha,
            target_limit: settings.number("target_limit"),
            fast_convergence: settings.flag("fast_convergence"),
            reno_friendly: settings.flag("reno_friendly"),
            alpha_beyond: if settings.choice("reno_growth") == "rises" { 1.0 } else { alpha },
            reduce_flight: settings.choice("reduce") == "flight",
            least_growth: if settings.choice("without_w_max") == "twentieth" { 0.05 } else { 0.0 },
            epoch,
            undo: epoch,
            seen: Time::ZERO,
        }
    }

    /// Starts an epoch. This is the only place that computes a cube root, so it is computed once per epoch.
    fn begin(&mut self, now: Time, cwnd: f64) {
        let e = &mut self.epoch;
        e.running = true;
        e.since = now;
        e.w_est = cwnd;
        if e.w_max > cwnd {
            e.k = libm::cbrt((e.w_max - cwnd) / self.c); // RFC 9438 figure 2
        } else {
            // Sections 4.8 and 4.10: no W_max after a timeout or after the first slow start.
            e.k = 0.0;
            e.w_max = cwnd;
        }
    }
}

impl Controller for Cubic {
    fn on_sample(&mut self, path: &Path, _ack: &Ack, _w: &mut Window) {
        let gap = path.now.since(self.seen);
        self.seen = path.now;
        if self.epoch.running && !path.cwnd_limited {
            self.epoch.since += gap; // section 5.8
        }
    }

    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        if w.in_slow_start() {
            self.epoch.running = false;
            return;
        }
        if !self.epoch.running {
            self.begin(path.now, w.cwnd);
        }
        let e = &mut self.epoch;
        let before = w.cwnd;
        let alpha = if e.w_est >= e.cwnd_prior { self.alpha_beyond } else { self.alpha }; // section 4.3
        e.w_est += alpha * acked / w.cwnd; // figure 4
        let from_k = path.now.since(e.since).as_secs_f64() - e.k;
        let w_cubic = self.c * from_k * from_k * from_k + e.w_max; // figure 1
        if self.reno_friendly && w_cubic < e.w_est {
            w.cwnd = w.cwnd.max(e.w_est); // section 4.3
        } else {
            let ahead = from_k + path.srtt.as_secs_f64();
            let target = self.c * ahead * ahead * ahead + e.w_max;
            let target = target.max(w.cwnd).min(self.target_limit * w.cwnd); // section 4.2
            w.cwnd += (target - w.cwnd) * acked / w.cwnd; // sections 4.4 and 4.5
        }
        if !e.lost {
            w.cwnd = w.cwnd.max(before + self.least_growth * acked);
        }
    }

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        self.undo = self.epoch;
        let e = &mut self.epoch;
        e.running = false;
        e.lost = why != Signal::Timeout;
        e.w_max = match why {
            Signal::Timeout => 0.0, // section 4.8: no W_max
            _ if self.fast_convergence && w.cwnd < e.w_max => w.cwnd * (1.0 + self.beta) / 2.0, // section 4.7
            _ => w.cwnd,
        };
        e.cwnd_prior = w.cwnd;
        let base = if self.reduce_flight { path.in_flight } else { w.cwnd };
        Some((base * self.beta).max(MIN_SSTHRESH)) // figure 5
    }

    fn on_event(&mut self, path: &Path, event: Event, _w: &mut Window) {
        match event {
            Event::Spurious => self.epoch = self.undo, // section 4.9
            Event::Idle => {
                self.epoch.since += path.now.since(self.seen); // section 5.8
                self.seen = path.now;
            }
            Event::Start | Event::Recovered => {}
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max", self.epoch.w_max);
        see("w_est", self.epoch.w_est);
        see("k_s", self.epoch.k);
    }
}

/// The average window (segments) of the cubic alone, at loss probability `p` and round-trip time `rtt_s`
/// seconds: RFC 9438 section 5.1, figure 6.
pub fn response(c: f64, beta: f64, p: f64, rtt_s: f64) -> f64 {
    let ratio = rtt_s / p;
    let constant = libm::sqrt(libm::sqrt(c * (3.0 + beta) / (4.0 * (1.0 - beta))));
    constant * libm::sqrt(ratio * libm::sqrt(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme;
    use ackclock_units::Duration;

    fn cubic() -> Cubic {
        Cubic::new(&Settings::defaults(scheme("cubic").expect("cubic is there")))
    }

    /// Congestion avoidance at `cwnd`.
    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    fn one() -> Ack {
        Ack { acked: 1.0, ..Ack::default() }
    }

    /// Rounds of `rtt` seconds from `start` to `end`. Each acknowledges one window, segment by segment.
    fn rounds(cubic: &mut Cubic, w: &mut Window, rtt: f64, start: f64, end: f64) {
        let mut now = start;
        let mut path = Path { srtt: Duration::from_secs_f64(rtt), ..Path::default() };
        while now < end {
            let acks = w.cwnd.floor();
            for _ in 0..acks as u64 {
                now += rtt / acks;
                path.now = Time::from_nanos((now * 1e9) as u64);
                cubic.on_sample(&path, &one(), w);
                cubic.grow(&path, &one(), w);
            }
        }
    }

    #[test]
    fn a_loss_keeps_seven_tenths_and_aims_at_the_window_before() {
        let mut c = cubic();
        let mut w = at(100.0);
        assert_eq!(c.cut(&Path::default(), &w, Signal::Loss), Some(70.0));
        w = at(70.0);
        c.grow(&Path::default(), &one(), &mut w);
        assert_eq!(c.epoch.w_max, 100.0);
        assert!((c.epoch.k - 4.217163).abs() < 1e-6, "cbrt(75) = {}", c.epoch.k);
        // W_cubic(0) = 70 < W_est = 70 + 0.529412 / 70: Reno-friendly.
        assert!((w.cwnd - (70.0 + 0.529411764 / 70.0)).abs() < 1e-9, "{}", w.cwnd);
    }

    #[test]
    fn reaches_w_max_at_k() {
        // 30,000 segments to regain: K = cbrt(30000 / 0.4) = 42.17 s; Reno would need 100 s and more.
        let mut c = cubic();
        c.cut(&Path::default(), &at(100_000.0), Signal::Loss);
        let mut w = at(70_000.0);
        rounds(&mut c, &mut w, 0.1, 0.0, 21.0);
        // After half of that time the window has made 7/8 of the way.
        assert!((w.cwnd - 96_250.0).abs() < 200.0, "{}", w.cwnd);
        rounds(&mut c, &mut w, 0.1, 21.0, 42.17);
        assert!((w.cwnd - 100_000.0).abs() < 1.0, "{}", w.cwnd);
        rounds(&mut c, &mut w, 0.1, 42.17, 84.34);
        assert!((w.cwnd - 130_000.0).abs() < 300.0, "convex beyond: {}", w.cwnd);
    }

    #[test]
    fn short_round_trips_are_reno_friendly() {
        // At 10 ms Reno regains 30 segments in 57 rounds of 0.53; the cubic needs 4.2 s.
        let mut c = cubic();
        c.cut(&Path::default(), &at(100.0), Signal::Loss);
        let mut w = at(70.0);
        rounds(&mut c, &mut w, 0.01, 0.0, 0.565);
        assert!((w.cwnd - 100.0).abs() < 0.5, "{}", w.cwnd);
        let before = w.cwnd;
        rounds(&mut c, &mut w, 0.01, 0.57, 0.665);
        // Above the window before the loss: one segment per round.
        assert!((w.cwnd - before - 10.0).abs() < 1.0, "{}", w.cwnd - before);
    }

    #[test]
    fn fast_convergence_gives_way() {
        let mut c = cubic();
        c.cut(&Path::default(), &at(100.0), Signal::Loss);
        c.cut(&Path::default(), &at(90.0), Signal::Loss);
        assert_eq!(c.epoch.w_max, 76.5); // 90 * 1.7 / 2
        c.cut(&Path::default(), &at(80.0), Signal::Loss);
        assert_eq!(c.epoch.w_max, 80.0);
    }

    #[test]
    fn one_round_trip_adds_at_most_half_a_window() {
        let mut c = cubic();
        c.cut(&Path::default(), &at(10_000.0), Signal::Loss);
        let mut w = at(100.0);
        c.grow(&Path::default(), &one(), &mut w);
        let path = Path { now: Time::from_nanos(60_000_000_000), ..Path::default() };
        let before = w.cwnd;
        c.grow(&path, &one(), &mut w);
        assert!((w.cwnd - before - 0.5).abs() < 1e-12, "{}", w.cwnd - before);
    }

    #[test]
    fn after_a_timeout_the_curve_starts_where_slow_start_ends() {
        let mut c = cubic();
        assert_eq!(c.cut(&Path::default(), &at(100.0), Signal::Timeout), Some(70.0));
        let mut w = Window { cwnd: 1.0, ssthresh: 70.0, pacing: None };
        c.grow(&Path::default(), &Ack { acked: 68.0, ..Ack::default() }, &mut w);
        assert_eq!((w.cwnd, c.epoch.running), (69.0, false));
        c.grow(&Path::default(), &one(), &mut w);
        assert_eq!((c.epoch.w_max, c.epoch.k, c.epoch.cwnd_prior), (70.0, 0.0, 100.0));
    }

    /// 100 segments and no loss yet: the curve gives 0.4 in the first second, Linux 5 % in each round trip.
    #[test]
    fn growth_without_w_max_is_the_curves_or_a_twentieth() {
        let mut settings = Settings::defaults(scheme("cubic").expect("cubic is there"));
        let grown = |settings: &Settings| {
            let (mut c, mut w) = (Cubic::new(settings), at(100.0));
            c.reno_friendly = false;
            rounds(&mut c, &mut w, 0.1, 0.0, 0.95);
            (w.cwnd, c)
        };
        assert!((grown(&settings).0 - 100.4).abs() < 0.2);
        settings.set("without_w_max", crate::Given::Word("twentieth")).expect("a choice");
        let (cwnd, mut c) = grown(&settings);
        assert!((cwnd / 100.0 / 1.05f64.powi(10) - 1.0).abs() < 0.02, "{cwnd}");
        c.cut(&Path::default(), &at(cwnd), Signal::Loss);
        let mut w = at(0.7 * cwnd);
        c.grow(&Path::default(), &one(), &mut w);
        assert!(w.cwnd < 0.7 * cwnd + 0.02, "W_max is known");
        c.cut(&Path::default(), &at(cwnd), Signal::Timeout);
        let mut w = at(0.7 * cwnd);
        c.grow(&Path::default(), &one(), &mut w);
        assert_eq!(w.cwnd, 0.7 * cwnd + 0.05);
    }

    #[test]
    fn time_without_need_for_the_window_does_not_count() {
        let mut c = cubic();
        c.cut(&Path::default(), &at(1000.0), Signal::Loss);
        let mut w = at(700.0);
        c.grow(&Path::default(), &one(), &mut w);
        let idle = Path { now: Time::from_nanos(5_000_000_000), cwnd_limited: false, ..Path::default() };
        c.on_sample(&idle, &one(), &mut w);
        assert_eq!(c.epoch.since, idle.now);
        let later = Path { now: Time::from_nanos(9_000_000_000), ..Path::default() };
        c.on_event(&later, Event::Idle, &mut w);
        assert_eq!(c.epoch.since, later.now);
    }

    #[test]
    fn a_spurious_cut_is_forgotten() {
        let mut c = cubic();
        c.cut(&Path::default(), &at(100.0), Signal::Loss);
        c.grow(&Path::default(), &one(), &mut at(70.0));
        c.cut(&Path::default(), &at(90.0), Signal::Timeout);
        c.on_event(&Path::default(), Event::Spurious, &mut at(90.0));
        assert_eq!((c.epoch.w_max, c.epoch.running), (100.0, true));
    }

    #[test]
    fn the_response_function_of_the_rfc() {
        // RFC 9438 section 5.1: 1.054 (rtt / p)^(3/4); table 1 at 100 ms, C = 0.4.
        let settings = Settings::defaults(scheme("cubic").expect("cubic is there"));
        let response = SCHEME.response.expect("cubic has one");
        for (p, window) in [(1e-2, 12.0), (1e-3, 38.0), (1e-4, 187.0), (1e-8, 187_400.0)] {
            let ours = response(&settings, p, 0.1);
            assert!((ours / window - 1.0).abs() < 0.025, "{p}: {ours}");
        }
    }
}
