//! FAST: moves the window towards the one that keeps `alpha` segments in the queue. Far from that window the
//! steps are large.
//!
//! Source: C. Jin, D. Wei, S. Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", INFOCOM
//! 2004; for the behaviour of the prototype, the ns-2 module of T. Cui and L. Andrew (University of
//! Melbourne).
//!
//! What differs: alpha is a constant. Its default of 200 segments fits paths of 1 Gbit/s (1.6 ms of queueing
//! with 1000-byte segments). The bottleneck's buffer must hold alpha segments of every flow. In the second
//! term of the equation, the window is the one at the start of the round whose samples are used, as in the
//! ns-2 module, because that window caused the delay; the paper writes one w. An increase is spread over the
//! acknowledgements of the next round trip. The paper's burstiness control is left to pacing. The
//! multiplicative increase happens in slow start only. The ns-2 module returns to it whenever the queueing
//! delay is under the threshold; on fast links that lets the queue grow beyond alpha.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "fast",
    title: "FAST TCP",
    source: "Jin, Wei and Low, INFOCOM 2004",
    summary: "Keeps alpha segments in the queue, measured by the queueing delay. Halves the window on loss.",
    equations: &[
        "every period: cwnd = min(2 cwnd, (1 - gamma) cwnd + gamma (rtt_min / rtt_avg * w + alpha))",
        "w: the window at the start of the round trip in which rtt_avg was measured",
        "per sample: rtt_avg += min(averaging / cwnd, averaging_limit) * (rtt - rtt_avg)",
        "slow start: doubles every round trip while rtt_avg - rtt_min < start_threshold",
        "on loss, mark or timeout: ssthresh = (1 - decrease) * cwnd",
        "equilibrium: cwnd (1 - rtt_min / rtt) = alpha, so alpha segments are in the queue",
    ],
    notes: &[
        "an increase is spread over the acknowledgements of the next round trip; a decrease happens at once",
        "the multiplicative increase happens in slow start only",
        "a decrease also lowers ssthresh, so that slow start does not begin again",
    ],
    parameters: &[
        Parameter::number(
            "alpha",
            200.0,
            "segments",
            1.0..=1e6,
            "segments kept in the queue, for 1 Gbit/s; 20 for 100 Mbit/s, 8 for 10 Mbit/s",
        ),
        Parameter::number(
            "gamma",
            0.5,
            "",
            0.01..=1.0,
            "the size of the step towards the target; the value of the ns-2 module",
        ),
        Parameter::choice(
            "period",
            "every",
            &[
                ("every", "every round trip (the equation)"),
                ("every-other", "every other round trip (the prototype)"),
            ],
            "how often the window is updated",
        ),
        Parameter::number(
            "averaging",
            3.0,
            "samples",
            0.1..=1000.0,
            "INFOCOM 2004: the weight of a sample is averaging / cwnd",
        ),
        Parameter::number(
            "averaging_limit",
            0.25,
            "",
            0.001..=1.0,
            "INFOCOM 2004: the largest weight of a sample",
        ),
        Parameter::number(
            "start_threshold",
            0.00075,
            "s",
            0.0..=10.0,
            "mi_threshold of the ns-2 module: the queueing delay that ends the multiplicative increase",
        ),
        Parameter::number(
            "decrease",
            0.5,
            "share of the window",
            0.01..=1.0,
            "INFOCOM 2004: halving on loss",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Fast::new(settings)),
    response: None,
};

/// The ns-2 module: the scheme's own reductions stop at two segments.
const MIN_WINDOW: f64 = 2.0;

/// The controller.
#[derive(Clone)]
pub struct Fast {
    alpha: f64,
    gamma: f64,
    every_other: bool,
    averaging: f64,
    averaging_limit: f64,
    start_threshold: f64,
    decrease: f64,
    /// The smoothed round-trip time, seconds; zero before the first sample.
    rtt_avg: f64,
    round: Option<Round>,
    /// True if the window does not change in this round. With period "every-other" every second round is like
    /// that.
    holding: bool,
    /// The growth per acknowledged segment in this round, segments.
    slope: f64,
    /// The window at which the growth of this round ends, segments.
    target: f64,
}

/// A round trip. It starts when segment `ends` is the next to send, and is over when that segment is
/// acknowledged.
#[derive(Clone, Copy)]
struct Round {
    ends: u64,
    /// The window at the start, segments.
    window: f64,
}

impl Fast {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Fast {
        Fast {
            alpha: settings.number("alpha"),
            gamma: settings.number("gamma"),
            every_other: settings.choice("period") == "every-other",
            averaging: settings.number("averaging"),
            averaging_limit: settings.number("averaging_limit"),
            start_threshold: settings.number("start_threshold"),
            decrease: settings.number("decrease"),
            rtt_avg: 0.0,
            round: None,
            holding: false,
            slope: 0.0,
            target: 0.0,
        }
    }

    /// The window update of INFOCOM 2004, at the end of `round`.
    fn update(&mut self, rtt_min_s: f64, round: &Round, w: &mut Window) {
        let aim = rtt_min_s / self.rtt_avg * round.window + self.alpha;
        let next = (2.0 * w.cwnd).min((1.0 - self.gamma) * w.cwnd + self.gamma * aim);
        if next > w.cwnd {
            self.target = next;
            self.slope = (next - w.cwnd) / w.cwnd;
        } else {
            self.rest();
            w.cwnd = next.max(MIN_WINDOW).min(w.cwnd);
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    /// No growth until the next update.
    fn rest(&mut self) {
        (self.slope, self.target) = (0.0, 0.0);
    }
}

impl Controller for Fast {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        if path.recovering {
            self.round = None;
            self.rest();
            return;
        }
        if let Some(rtt) = ack.rtt {
            let rtt_s = rtt.as_secs_f64();
            let weight = (self.averaging / w.cwnd).min(self.averaging_limit);
            self.rtt_avg =
                if self.rtt_avg > 0.0 { self.rtt_avg + weight * (rtt_s - self.rtt_avg) } else { rtt_s };
        }
        let begun = Round { ends: path.nxt, window: w.cwnd };
        let round = *self.round.get_or_insert(begun);
        if self.rtt_avg <= 0.0 {
            return;
        }
        let rtt_min_s = path.rtt_min.as_secs_f64().min(self.rtt_avg);
        if w.in_slow_start() && self.rtt_avg - rtt_min_s >= self.start_threshold {
            w.ssthresh = w.cwnd;
            self.round = Some(begun);
            self.holding = true; // the first update follows a round trip with a constant window
        } else if path.una > round.ends {
            if w.in_slow_start() || self.holding {
                self.holding = false;
                self.rest();
            } else {
                self.update(rtt_min_s, &round, w);
                self.holding = self.every_other;
            }
            self.round = Some(Round { ends: path.nxt, window: w.cwnd });
        }
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        if w.cwnd < self.target {
            w.cwnd = (w.cwnd + self.slope * acked).min(self.target);
        }
    }

    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        self.round = None;
        self.holding = false;
        self.rest();
        Some((w.cwnd * (1.0 - self.decrease)).max(MIN_WINDOW))
    }

    fn on_event(&mut self, _path: &Path, event: Event, _w: &mut Window) {
        if event == Event::Idle {
            self.round = None; // the samples before the idle time are stale
            self.rtt_avg = 0.0;
            self.rest();
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rtt_avg_s", self.rtt_avg);
        see("target", self.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::{Given, scheme};
    use ackclock_units::Duration;

    fn with(set: &[(&str, Given<'_>)]) -> Fast {
        let mut settings = Settings::defaults(scheme("fast").expect("fast is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        Fast::new(&settings)
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    #[test]
    fn the_update_is_the_papers() {
        let mut f = with(&[]);
        let mut w = at(1000.0);
        f.rtt_avg = 0.125;
        // 0.5 * 1000 + 0.5 * (0.8 * 1000 + 200) = 1000: the equilibrium.
        f.update(0.1, &Round { ends: 0, window: 1000.0 }, &mut w);
        assert_eq!((w.cwnd, f.slope), (1000.0, 0.0));
        // 0.5 * 1000 + 0.5 * (0.5 * 1000 + 200) = 850, in one step.
        f.rtt_avg = 0.2;
        f.update(0.1, &Round { ends: 0, window: 1000.0 }, &mut w);
        assert_eq!((w.cwnd, w.ssthresh), (850.0, 850.0));
        // 0.5 * 850 + 0.5 * (850 + 200) = 950, spread over one window of acknowledgements.
        f.rtt_avg = 0.1;
        f.update(0.1, &Round { ends: 0, window: 850.0 }, &mut w);
        f.grow(&Path::default(), &Ack { acked: 425.0, ..Ack::default() }, &mut w);
        assert!((w.cwnd - 900.0).abs() < 1e-9, "{}", w.cwnd);
        f.grow(&Path::default(), &Ack { acked: 900.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 950.0);
    }

    #[test]
    fn an_update_at_most_doubles() {
        let mut f = with(&[]);
        let mut w = at(10.0);
        f.rtt_avg = 0.1;
        f.update(0.1, &Round { ends: 0, window: 10.0 }, &mut w);
        assert_eq!((f.target, f.slope), (20.0, 1.0));
    }

    #[test]
    fn a_sample_weighs_three_windowths() {
        let mut f = with(&[]);
        let sample = |ms| Ack { rtt: Some(Duration::from_millis(ms)), ..Ack::default() };
        let path = Path { rtt_min: Duration::from_millis(100), ..Path::default() };
        f.on_sample(&path, &sample(100), &mut at(300.0));
        f.on_sample(&path, &sample(200), &mut at(300.0));
        assert!((f.rtt_avg - 0.101).abs() < 1e-12, "{}", f.rtt_avg);
        f.on_sample(&path, &sample(201), &mut at(4.0));
        assert!((f.rtt_avg - 0.126).abs() < 1e-12, "{}", f.rtt_avg);
    }

    #[test]
    fn a_loss_halves() {
        assert_eq!(with(&[]).cut(&Path::default(), &at(1000.0), Signal::Loss), Some(500.0));
    }

    #[test]
    fn the_start_ends_when_the_queue_builds() {
        let mut f = with(&[]);
        let mut flow = OneFlow::new(100_000.0, 0.05, Window::starting_at(2.0));
        // The bursts of slow start queue half of its window: 0.75 ms are 75 segments here.
        flow.run(&mut f, 0.3);
        assert!(flow.w.in_slow_start() && flow.w.cwnd > 64.0, "{:?}", flow.w);
        flow.run(&mut f, 0.3);
        assert!(!flow.w.in_slow_start() && flow.w.ssthresh < 1200.0, "{:?}", flow.w);
    }

    #[test]
    fn alone_on_a_link_it_keeps_alpha_queued() {
        // 100,000 segments per second for 50 ms: 5000 in flight without a queue.
        for (period, alpha) in [("every", 200.0), ("every-other", 200.0), ("every", 50.0)] {
            let mut f = with(&[("period", Given::Word(period)), ("alpha", Given::Number(alpha))]);
            let mut flow = OneFlow::new(100_000.0, 0.05, Window::starting_at(2.0));
            flow.run(&mut f, 15.0);
            for _ in 0..20 {
                flow.run(&mut f, 0.05);
                assert!((flow.queue() - alpha).abs() < 3.0, "{period} {alpha}: {}", flow.queue());
            }
        }
    }
}
