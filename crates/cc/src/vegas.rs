//! Vegas: keeps a few segments in the queue. It compares the round-trip time with the smallest one so far.
//!
//! Source: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE
//! JSAC 13(8), 1995.
//!
//! What differs: alpha = 1 and beta = 3 are the defaults of ns-2 and one of the paper's two pairs; the other
//! pair, 2 and 4, is Linux's. The host detects losses (there is no fine-grained retransmission timer). A loss
//! halves the window as in Reno; the Arizona code and ns-2 reduce it by a quarter. The window of a round is
//! the one at its start, because the samples belong to that window. A round without samples changes nothing.
//! At the end of slow start the window falls by an eighth, as in the Arizona code and ns-2; the paper gives
//! no number.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::Duration;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "vegas",
    title: "Vegas",
    source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
    summary: "Adds or removes one segment per round trip, so that a few segments stay in the queue. Halves \
              the window on loss.",
    equations: &[
        "once per round trip: diff = (cwnd / rtt_min - cwnd / rtt) * rtt_min, the segments in the queue",
        "diff < alpha: one more segment over the next round trip; diff > beta: one less at once; else no \
         change",
        "slow start: doubles every other round trip; ends when diff > gamma, and reduces the window by \
         exit_decrease",
        "on loss, mark or timeout: ssthresh = (1 - decrease) * cwnd",
    ],
    notes: &[
        "a decrease also lowers ssthresh, so that slow start does not begin again",
        "the Arizona code and ns-2 have decrease = 0.25 on a fast retransmit",
    ],
    parameters: &[
        Parameter::number("alpha", 1.0, "segments", 0.0..=1e5, "the paper's Vegas-1,3 and ns-2; 2 in Linux"),
        Parameter::number("beta", 3.0, "segments", 0.0..=1e5, "the paper's Vegas-1,3 and ns-2; 4 in Linux"),
        Parameter::number(
            "gamma",
            1.0,
            "segments",
            0.0..=1e5,
            "the paper, ns-2 and Linux: slow start ends above this",
        ),
        Parameter::number(
            "exit_decrease",
            0.125,
            "share of the window",
            0.0..=0.9,
            "ns-2: the reduction at the end of slow start",
        ),
        Parameter::number("decrease", 0.5, "share of the window", 0.01..=1.0, "RFC 5681 equation 4: as Reno"),
        Parameter::choice(
            "rtt",
            "mean",
            &[
                ("mean", "the mean of the round's samples (the paper, ns-2)"),
                ("min", "the smallest of the round's samples (Linux): blind to delayed acknowledgements"),
            ],
            "the round-trip time of a round",
        ),
        Parameter::choice(
            "slow_start",
            "every-other",
            &[
                ("every-other", "doubles in one round trip and measures in the next (the paper, ns-2)"),
                ("every", "doubles in each round trip (Linux)"),
            ],
            "the round trips in which slow start doubles",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Vegas::new(settings)),
    response: None,
};

/// ns-2 and Linux: the scheme's own reductions stop at two segments.
const MIN_WINDOW: f64 = 2.0;

/// The controller.
#[derive(Clone)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    exit_decrease: f64,
    decrease: f64,
    mean: bool,
    every_other: bool,
    /// True if the window grows in this round: it doubles in slow start, and adds one segment after it.
    growing: bool,
    round: Option<Round>,
    /// The segments in the queue at the last decision.
    diff: f64,
}

/// A round trip. It starts when segment `ends` is the next to send, and is over when that segment is
/// acknowledged.
#[derive(Clone, Copy)]
struct Round {
    ends: u64,
    /// The window at the start, segments.
    window: f64,
    samples: u32,
    sum: Duration,
    min: Duration,
}

impl Round {
    fn begin(path: &Path, w: &Window) -> Round {
        Round { ends: path.nxt, window: w.cwnd, samples: 0, sum: Duration::ZERO, min: Duration::MAX }
    }
}

impl Vegas {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Vegas {
        Vegas {
            alpha: settings.number("alpha"),
            beta: settings.number("beta"),
            gamma: settings.number("gamma"),
            exit_decrease: settings.number("exit_decrease"),
            decrease: settings.number("decrease"),
            mean: settings.choice("rtt") == "mean",
            every_other: settings.choice("slow_start") == "every-other",
            growing: true,
            round: None,
            diff: 0.0,
        }
    }

    /// The decision at the end of `round`.
    fn decide(&mut self, path: &Path, round: &Round, w: &mut Window) {
        let rtt_s = if self.mean {
            round.sum.as_secs_f64() / f64::from(round.samples)
        } else {
            round.min.as_secs_f64()
        };
        let base_s = path.rtt_min.min(round.min).as_secs_f64();
        if rtt_s <= 0.0 {
            return;
        }
        self.diff = round.window * (1.0 - base_s / rtt_s); // (expected - actual) * base, JSAC section III-B
        if w.in_slow_start() {
            if self.every_other && self.growing {
                self.growing = false; // keeps the window for one round trip, for a valid comparison
            } else if self.diff > self.gamma {
                self.shrink_to(w, w.cwnd * (1.0 - self.exit_decrease));
            } else {
                self.growing = true;
            }
        } else if self.diff > self.beta {
            self.shrink_to(w, w.cwnd - 1.0);
        } else {
            self.growing = self.diff < self.alpha;
        }
    }

    fn shrink_to(&mut self, w: &mut Window, cwnd: f64) {
        w.cwnd = cwnd.max(MIN_WINDOW).min(w.cwnd);
        w.ssthresh = w.ssthresh.min(w.cwnd);
        self.growing = false;
    }
}

impl Controller for Vegas {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        if path.recovering {
            // During recovery the window says nothing about the queue. The next round begins after it. Until
            // then the growth after a timeout is Reno's.
            self.round = None;
            self.growing = true;
            return;
        }
        let round = self.round.get_or_insert_with(|| Round::begin(path, w));
        if let Some(rtt) = ack.rtt {
            round.samples += 1;
            round.sum = round.sum + rtt;
            round.min = round.min.min(rtt);
        }
        if path.una > round.ends {
            let done = *round;
            if done.samples > 0 {
                self.decide(path, &done, w);
            }
            self.round = Some(Round::begin(path, w));
        }
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        if self.growing {
            let acked = slow_start(ack.acked, w);
            w.cwnd += acked / w.cwnd;
        }
    }

    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        self.round = None;
        self.growing = true;
        Some((w.cwnd * (1.0 - self.decrease)).max(MIN_WINDOW))
    }

    fn on_event(&mut self, _path: &Path, event: Event, _w: &mut Window) {
        if event == Event::Idle {
            self.round = None; // the samples before the idle time are stale
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("diff", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::{Given, scheme};

    fn with(set: &[(&str, Given<'_>)]) -> Vegas {
        let mut settings = Settings::defaults(scheme("vegas").expect("vegas is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        Vegas::new(&settings)
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    /// One round with these samples (ms) over a base of 100 ms, and the decision at its end.
    fn round(v: &mut Vegas, w: &mut Window, samples_ms: &[u64]) {
        let mut path = Path { rtt_min: Duration::from_millis(100), ..Path::default() };
        v.round = Some(Round::begin(&path, w));
        for (at, &ms) in samples_ms.iter().enumerate() {
            path.una = if at + 1 == samples_ms.len() { 1 } else { 0 };
            let ack = Ack { acked: 1.0, rtt: Some(Duration::from_millis(ms)), ..Ack::default() };
            v.on_sample(&path, &ack, w);
        }
    }

    #[test]
    fn a_round_decides_by_what_is_queued() {
        let mut v = with(&[]);
        let mut w = at(20.0);
        round(&mut v, &mut w, &[104, 104]); // 20 * 4 / 104 = 0.77 queued
        assert!((v.diff - 20.0 * 4.0 / 104.0).abs() < 1e-12);
        assert!(v.growing && w.cwnd == 20.0);
        v.grow(&Path::default(), &Ack { acked: 20.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 21.0);
        round(&mut v, &mut w, &[110, 110]); // 1.9
        assert!(!v.growing && w.cwnd == 21.0);
        v.grow(&Path::default(), &Ack { acked: 20.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 21.0);
        round(&mut v, &mut w, &[125, 125]); // 4.2
        assert_eq!((w.cwnd, w.ssthresh), (20.0, 20.0));
    }

    #[test]
    fn a_rounds_time_is_the_mean_or_the_smallest() {
        let mut w = at(20.0);
        let mut mean = with(&[]);
        round(&mut mean, &mut w, &[100, 150]);
        assert!((mean.diff - 4.0).abs() < 1e-9, "{}", mean.diff);
        let mut min = with(&[("rtt", Given::Word("min"))]);
        round(&mut min, &mut w, &[100, 150]);
        assert_eq!(min.diff, 0.0);
    }

    #[test]
    fn slow_start_doubles_every_other_round_and_leaves_at_gamma() {
        let mut v = with(&[]);
        let mut w = Window::starting_at(16.0);
        let ack = |acked: f64| Ack { acked, ..Ack::default() };
        v.grow(&Path::default(), &ack(16.0), &mut w);
        assert_eq!(w.cwnd, 32.0);
        round(&mut v, &mut w, &[200]); // no decision after the round that doubled
        v.grow(&Path::default(), &ack(32.0), &mut w);
        assert_eq!(w.cwnd, 32.0);
        round(&mut v, &mut w, &[102]); // 0.6 queued: double again
        v.grow(&Path::default(), &ack(32.0), &mut w);
        assert_eq!(w.cwnd, 64.0);
        round(&mut v, &mut w, &[102]);
        round(&mut v, &mut w, &[102]); // 1.25 queued
        assert_eq!((w.cwnd, w.ssthresh), (56.0, 56.0));
    }

    #[test]
    fn a_loss_halves() {
        let mut v = with(&[]);
        assert_eq!(v.cut(&Path::default(), &at(40.0), Signal::Loss), Some(20.0));
        assert_eq!(v.cut(&Path::default(), &at(3.0), Signal::Timeout), Some(2.0));
    }

    #[test]
    fn alone_on_a_link_it_keeps_between_alpha_and_beta_queued() {
        for (alpha, beta, start) in
            [(1.0, 3.0, "every-other"), (2.0, 4.0, "every-other"), (1.0, 3.0, "every")]
        {
            for rtt in ["mean", "min"] {
                let mut v = with(&[
                    ("alpha", Given::Number(alpha)),
                    ("beta", Given::Number(beta)),
                    ("slow_start", Given::Word(start)),
                    ("rtt", Given::Word(rtt)),
                ]);
                let mut flow = OneFlow::new(1000.0, 0.05, Window::starting_at(2.0));
                flow.run(&mut v, 10.0);
                for _ in 0..50 {
                    flow.run(&mut v, 0.1);
                    let queued = flow.w.cwnd - 50.0;
                    assert!((alpha..=beta + 1.0).contains(&queued), "{alpha} {beta} {start} {rtt}: {queued}");
                }
            }
        }
    }
}
