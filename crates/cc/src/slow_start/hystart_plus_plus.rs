//! HyStart++: a round-trip time that rises ends slow start, after some rounds of slower growth in which it
//! may turn out to have been jitter.
//!
//! Source: RFC 9406.
//!
//! What differs: N, the segments that an acknowledgement counts for, is what the host counts (RFC 3465). So
//! the limit L of section 4.2 is the host's key `counting`. An ECN mark ends slow start if the controller
//! reduces the window for it.

use super::{Round, Scheme, Settings, SlowStart, threshold};
use crate::{Ack, Path, Window};
use ackclock_registry::{Entry, Parameter};
use ackclock_units::Duration;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "hystart++",
        title: "HyStart++",
        source: "RFC 9406",
        summary: "Leaves slow start when the round-trip time rises. Grows at a quarter of the speed for five \
                  rounds first, and goes back to slow start if it was only jitter.",
        equations: &[
            "a round ends when the segment is acknowledged that was SND.NXT at its start; minRTT: its \
             smallest sample",
            "RttThresh = max(min_rtt_thresh, min(lastRoundMinRTT / min_rtt_divisor, max_rtt_thresh))",
            "slow start -> CSS: n_rtt_sample samples, and minRTT >= lastRoundMinRTT + RttThresh; baseline = \
             minRTT",
            "in CSS per segment acknowledged: cwnd += 1 / css_growth_divisor",
            "CSS -> slow start: n_rtt_sample samples, and minRTT < baseline",
            "CSS -> congestion avoidance: after css_rounds rounds, a partial first one included; ssthresh = \
             cwnd",
        ],
        notes: &[
            "only the first slow start of a connection, as section 4.3 recommends",
            "the limit L is what acknowledgements count for: counting (L = 8 is { segments = 8 }); the RFC \
             sets none for a paced sender",
            "Linux has another one: see hystart",
        ],
        parameters: &[
            Parameter::time(
                "min_rtt_thresh",
                Duration::from_millis(4),
                Duration::ZERO,
                "section 4.3: MIN_RTT_THRESH",
            ),
            Parameter::time(
                "max_rtt_thresh",
                Duration::from_millis(16),
                Duration::ZERO,
                "section 4.3: MAX_RTT_THRESH",
            ),
            Parameter::number("min_rtt_divisor", 8.0, "", 1.0..=1e3, "section 4.3: MIN_RTT_DIVISOR"),
            Parameter::count("n_rtt_sample", 8, "samples", 1..=1_000, "section 4.3: N_RTT_SAMPLE"),
            Parameter::number("css_growth_divisor", 4.0, "", 1.0..=1e3, "section 4.3: CSS_GROWTH_DIVISOR"),
            Parameter::count("css_rounds", 5, "rounds", 1..=1_000, "section 4.3: CSS_ROUNDS"),
        ],
    },
    build: |settings| Some(Box::new(HyStartPlusPlus::new(settings))),
};

/// The state of section 4.2.
#[derive(Clone)]
pub(super) struct HyStartPlusPlus {
    min_rtt_thresh: Duration,
    max_rtt_thresh: Duration,
    min_rtt_divisor: f64,
    n_rtt_sample: u64,
    css_growth: f64,
    css_rounds: u64,
    /// The current round; `None` before the first acknowledgement.
    round: Option<Round>,
    /// lastRoundMinRTT; [`Duration::MAX`] before the end of the first round.
    last_least: Duration,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Rounds that have ended since it began.
    rounds: u64,
}

impl HyStartPlusPlus {
    pub(super) fn new(settings: &Settings) -> HyStartPlusPlus {
        HyStartPlusPlus {
            min_rtt_thresh: settings.get("min_rtt_thresh"),
            max_rtt_thresh: settings.get("max_rtt_thresh"),
            min_rtt_divisor: settings.get("min_rtt_divisor"),
            n_rtt_sample: settings.get("n_rtt_sample"),
            css_growth: 1.0 / settings.get::<f64>("css_growth_divisor"),
            css_rounds: settings.get("css_rounds"),
            round: None,
            last_least: Duration::MAX,
            css: None,
        }
    }

    /// The round that this acknowledgement belongs to. Counts the rounds of conservative slow start.
    fn follow(&mut self, path: &Path) -> Round {
        let Some(round) = self.round else { return Round::begin(path) };
        if !round.is_over(path) {
            return round;
        }
        self.last_least = round.least;
        if let Some(css) = &mut self.css {
            css.rounds += 1;
        }
        Round::begin(path)
    }

    /// Slow start becomes conservative, or the other way round.
    fn decide(&mut self, round: &Round) {
        if round.samples < self.n_rtt_sample {
            return;
        }
        match self.css {
            None if self.last_least != Duration::MAX => {
                let (least, most) = (self.min_rtt_thresh, self.max_rtt_thresh);
                let rise = threshold(self.last_least, self.min_rtt_divisor, least, most);
                if round.least >= self.last_least + rise {
                    self.css = Some(Css { baseline: round.least, rounds: 0 });
                }
            }
            Some(css) if round.least < css.baseline => self.css = None,
            _ => {}
        }
    }
}

impl SlowStart for HyStartPlusPlus {
    fn on_ack(&mut self, path: &Path, ack: &Ack, _paced: bool, w: &mut Window) -> f64 {
        let mut round = self.follow(path);
        if self.css.is_some_and(|css| css.rounds >= self.css_rounds) {
            w.ssthresh = w.cwnd;
            return 1.0;
        }
        round.sample(ack.rtt);
        self.round = Some(round);
        self.decide(&round);
        if self.css.is_some() { self.css_growth } else { 1.0 }
    }
}
