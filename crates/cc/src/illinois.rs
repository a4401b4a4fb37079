//! TCP-Illinois: losses decide whether the window grows, and the queueing delay decides how fast, and how
//! much a loss takes.
//!
//! Source: S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm
//! for high-speed networks", Performance Evaluation 65(6-7), 2008; Linux, `net/ipv4/tcp_illinois.c`, for
//! default values.
//!
//! What differs: the maximum delay is that of single samples, as in Linux. Rounds below the low threshold
//! must follow each other before the increase is the largest again; Linux counts them in all.

use crate::{Ack, Controller, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::Duration;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "illinois",
    title: "TCP-Illinois",
    source: "Liu, Basar and Srikant, Performance Evaluation 2008",
    summary: "Like Reno, but the longer the queue, the slower the growth and the larger the decrease.",
    equations: &[
        "per round trip: d_a = mean RTT - smallest RTT; d_m = largest RTT - smallest RTT",
        "alpha = alpha_max for d_a <= d_1 = eta_1 d_m; else k_1 / (k_2 + d_a), which is alpha_min at d_m",
        "k_1 = (d_m - d_1) alpha_min alpha_max / (alpha_max - alpha_min)",
        "k_2 = (d_m - d_1) alpha_min / (alpha_max - alpha_min) - d_1",
        "beta = beta_min for d_a <= d_2 = eta_2 d_m, beta_max for d_a >= d_3 = eta_3 d_m, linear in between",
        "per segment acknowledged: cwnd += alpha / cwnd",
        "on loss, mark or timeout: ssthresh = (1 - beta) cwnd",
        "below window_threshold: alpha = 1, beta = 1/2",
    ],
    notes: &[
        "after a round above d_1, alpha is alpha_max again only after theta rounds in a row at or below it; \
         Linux does not ask for a row",
        "the largest delay is that of a single sample, as in Linux",
        "a timeout starts with alpha = 1 and beta = 1/2 again, as in Linux",
    ],
    parameters: &[
        Parameter::number("alpha_max", 10.0, "segments per round trip", 1.0..=1e3, "Linux: ALPHA_MAX"),
        Parameter::number("alpha_min", 0.3, "segments per round trip", 0.01..=1.0, "Linux: ALPHA_MIN"),
        Parameter::number("beta_min", 0.125, "share of the window", 0.01..=0.5, "Linux: BETA_MIN"),
        Parameter::number("beta_max", 0.5, "share of the window", 0.5..=0.9, "Linux: BETA_MAX"),
        Parameter::number("eta_1", 0.01, "", 0.0..=1.0, "d_1 / d_m; Linux: 1/100"),
        Parameter::number("eta_2", 0.1, "", 0.0..=1.0, "d_2 / d_m; Linux: 1/10"),
        Parameter::number("eta_3", 0.8, "", 0.0..=1.0, "d_3 / d_m; Linux: 8/10"),
        Parameter::number("theta", 5.0, "rounds", 1.0..=1e3, "Linux: theta"),
        Parameter::number("window_threshold", 15.0, "segments", 1.0..=1e6, "Linux: win_thresh"),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Illinois::new(settings)),
    response: None,
};

/// Reno's increase and decrease: below the threshold, and after a timeout.
const RENO: (f64, f64) = (1.0, 0.5);
/// RFC 5681 (4): no threshold is below two segments.
const MIN_WINDOW: f64 = 2.0;

/// The controller.
#[derive(Clone)]
pub struct Illinois {
    alphas: (f64, f64),
    betas: (f64, f64),
    etas: (f64, f64, f64),
    theta: f64,
    window_threshold: f64,
    /// The largest round-trip time of the connection.
    rtt_max: Duration,
    /// SND.NXT at the start of the round. The round ends when this segment is acknowledged.
    ends: u64,
    /// The sum of the round's samples, seconds, and their number.
    sum_s: f64,
    samples: f64,
    /// True after a round above the low threshold, until `theta` rounds in a row were not.
    above: bool,
    /// Rounds in a row at or below the low threshold.
    low: f64,
    alpha: f64,
    beta: f64,
}

impl Illinois {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Illinois {
        let number = |name| settings.number(name);
        Illinois {
            alphas: (number("alpha_min"), number("alpha_max")),
            betas: (number("beta_min"), number("beta_max")),
            etas: (number("eta_1"), number("eta_2"), number("eta_3")),
            theta: number("theta"),
            window_threshold: number("window_threshold"),
            rtt_max: Duration::ZERO,
            ends: 0,
            sum_s: 0.0,
            samples: 0.0,
            above: false,
            low: 0.0,
            alpha: number("alpha_max"),
            beta: RENO.1,
        }
    }

    /// The end of a round with mean queueing delay `d_a`, of at most `d_m`, seconds.
    fn decide(&mut self, d_a: f64, d_m: f64) {
        let d_1 = self.etas.0 * d_m;
        if d_a > d_1 {
            (self.above, self.low) = (true, 0.0);
            self.alpha = increase(self.alphas, d_a - d_1, d_m - d_1);
        } else {
            self.low += 1.0;
            if !self.above || self.low >= self.theta {
                self.above = false;
                self.alpha = self.alphas.1;
            }
        }
        self.beta = decrease(self.betas, d_a, self.etas.1 * d_m, self.etas.2 * d_m);
    }
}

/// k_1 / (k_2 + d_a) of the paper's section 3.2, with both delays counted from d_1: `alphas.1` at 0, and
/// `alphas.0` at `most`, segments per round trip.
fn increase((least, largest): (f64, f64), delay: f64, most: f64) -> f64 {
    most * largest / (most + delay * (largest - least) / least)
}

/// The share of the window that a loss takes, linear between the delays `d_2` and `d_3`.
fn decrease((least, largest): (f64, f64), d_a: f64, d_2: f64, d_3: f64) -> f64 {
    if d_a <= d_2 {
        least
    } else if d_a >= d_3 {
        largest
    } else {
        least + (largest - least) * (d_a - d_2) / (d_3 - d_2)
    }
}

impl Controller for Illinois {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rtt_max = self.rtt_max.max(rtt);
            self.sum_s += rtt.as_secs_f64();
            self.samples += 1.0;
        }
        if path.una <= self.ends {
            return;
        }
        if w.cwnd < self.window_threshold {
            (self.alpha, self.beta) = RENO;
        } else if self.samples > 0.0 {
            let least_s = path.rtt_min.as_secs_f64();
            let d_a = (self.sum_s / self.samples - least_s).max(0.0);
            self.decide(d_a, (self.rtt_max.as_secs_f64() - least_s).max(0.0));
        }
        (self.ends, self.sum_s, self.samples) = (path.nxt, 0.0, 0.0);
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        w.cwnd += self.alpha * acked / w.cwnd;
    }

    fn cut(&mut self, _path: &Path, w: &Window, why: Signal) -> Option<f64> {
        let after = (w.cwnd * (1.0 - self.beta)).max(MIN_WINDOW);
        if why == Signal::Timeout {
            (self.alpha, self.beta) = RENO;
            (self.above, self.low) = (false, 0.0);
        }
        Some(after)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
        see("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::scheme;

    fn illinois() -> Illinois {
        Illinois::new(&Settings::defaults(scheme("illinois").expect("illinois is there")))
    }

    /// A largest delay of 100 ms: d_1 = 1 ms, d_2 = 10 ms, d_3 = 80 ms.
    #[test]
    fn increase_and_decrease_at_known_delays() {
        let mut flow = illinois();
        for (d_a_ms, alpha, beta) in [
            (0.5, 10.0, 0.125),
            (1.0, 10.0, 0.125),
            (10.0, 2.538_461_538_461_538, 0.125), // 990 / (99 + 9 * 9.7 / 0.3)
            (45.0, 0.650_602_409_638_554_3, 0.3125), // 990 / (99 + 44 * 9.7 / 0.3); 1/8 + 3/8 / 2
            (80.0, 0.373_115_577_889_447_2, 0.5),
            (100.0, 0.3, 0.5),
        ] {
            (flow.above, flow.low) = (false, 0.0);
            flow.decide(d_a_ms * 1e-3, 0.1);
            assert!((flow.alpha - alpha).abs() < 1e-9, "{d_a_ms} ms: {}", flow.alpha);
            assert!((flow.beta - beta).abs() < 1e-9, "{d_a_ms} ms: {}", flow.beta);
        }
    }

    #[test]
    fn five_rounds_in_a_row_lead_back_to_the_largest_increase() {
        let mut flow = illinois();
        flow.decide(0.1, 0.1);
        for _ in 0..4 {
            flow.decide(0.0, 0.1);
        }
        flow.decide(0.1, 0.1);
        for round in 1..=5 {
            assert!((flow.alpha - 0.3).abs() < 1e-9, "before round {round}");
            flow.decide(0.0, 0.1);
        }
        assert_eq!(flow.alpha, 10.0);
    }

    #[test]
    fn a_loss_takes_beta_and_a_timeout_forgets() {
        let mut flow = illinois();
        flow.decide(0.005, 0.1);
        let w = Window { cwnd: 80.0, ssthresh: 40.0, pacing: None };
        assert_eq!(flow.cut(&Path::default(), &w, Signal::Loss), Some(70.0));
        assert_eq!(flow.cut(&Path::default(), &w, Signal::Timeout), Some(70.0));
        assert_eq!((flow.alpha, flow.beta), RENO);
    }

    /// A window of acknowledgements, each after `rtt_ms`.
    fn round(controller: &mut Illinois, path: &mut Path, w: &mut Window, rtt_ms: u64) {
        let rtt = Duration::from_millis(rtt_ms);
        path.rtt_min = path.rtt_min.min(rtt);
        for _ in 0..w.cwnd as u64 {
            path.una += 1;
            path.nxt = path.una + w.cwnd as u64;
            let ack = Ack { acked: 1.0, rtt: Some(rtt), ..Ack::default() };
            controller.on_sample(path, &ack, w);
            controller.grow(path, &ack, w);
        }
    }

    /// About ten segments per round trip while there is no queue, and 0.3 at the largest delay so far.
    #[test]
    fn growth_is_fast_without_a_queue_and_slow_with_one() {
        let (mut controller, mut path) = (illinois(), Path::default());
        let mut w = Window { cwnd: 100.0, ssthresh: 100.0, pacing: None };
        for _ in 0..5 {
            round(&mut controller, &mut path, &mut w, 100);
        }
        assert!((147.0..150.0).contains(&w.cwnd), "{}", w.cwnd);
        for _ in 0..2 {
            round(&mut controller, &mut path, &mut w, 150);
        }
        let before = w.cwnd;
        round(&mut controller, &mut path, &mut w, 150);
        assert!((0.29..0.31).contains(&(w.cwnd - before)), "{}", w.cwnd - before);
        assert_eq!(controller.cut(&path, &w, Signal::Loss), Some(w.cwnd / 2.0));
    }

    #[test]
    fn small_windows_are_renos() {
        let mut controller = illinois();
        let mut flow = OneFlow::new(1000.0, 0.1, Window { cwnd: 5.0, ssthresh: 5.0, pacing: None });
        flow.run(&mut controller, 0.55);
        assert!((flow.w.cwnd - 10.0).abs() < 1.0, "{}", flow.w.cwnd);
    }
}
