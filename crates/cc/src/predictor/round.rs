//! Predictors with one sample per round trip: CARD, Tri-S, DUAL and Vegas.
//!
//! The sample is the first one of a round. Between two samples the last conclusion holds. It also holds if
//! the window has not changed, because a gradient over the window has no value then.

use super::{Predictor, Reading};
use ackclock_units::Duration;

/// A sample and its window.
#[derive(Clone, Copy)]
struct Sample {
    rtt_s: f64,
    window: f64,
}

/// The first sample of each round. A round starts when segment `ends` is the next to send, and is over when
/// it is acknowledged.
#[derive(Default)]
struct Rounds {
    ends: Option<u64>,
    congested: bool,
}

impl Rounds {
    /// Calls `decide` for the first sample of a round. Returns the present conclusion.
    fn sense(&mut self, at: &Reading, decide: impl FnOnce(Sample) -> Option<bool>) -> bool {
        if self.ends.is_none_or(|ends| at.una > ends) {
            self.ends = Some(at.nxt);
            let sample = Sample { rtt_s: at.rtt.as_secs_f64(), window: at.window };
            self.congested = decide(sample).unwrap_or(self.congested);
        }
        self.congested
    }
}

/// Jain: beyond the knee, the normalised gradient of the delay over the window is positive.
#[derive(Default)]
pub(super) struct Card {
    rounds: Rounds,
    last: Option<Sample>,
}

impl Predictor for Card {
    fn sense(&mut self, at: &Reading) -> bool {
        self.rounds.sense(at, |now| {
            let old = self.last.replace(now)?;
            let step = now.window - old.window;
            let gradient =
                (now.rtt_s - old.rtt_s) / (now.rtt_s + old.rtt_s) * (now.window + old.window) / step;
            (step != 0.0).then_some(gradient > 0.0)
        })
    }
}

/// Wang and Crowcroft: the gradient of the throughput over the window, as a share of that of the first
/// segments.
#[derive(Default)]
pub(super) struct TriS {
    rounds: Rounds,
    last: Option<Sample>,
    /// The throughput per segment of window without a queue: 1 / RTT of the first sample, 1/s.
    first: f64,
}

/// Below this share there is congestion.
const MIN_GAIN: f64 = 0.5;

impl Predictor for TriS {
    fn sense(&mut self, at: &Reading) -> bool {
        self.rounds.sense(at, |now| {
            let Some(old) = self.last.replace(now) else {
                self.first = 1.0 / now.rtt_s;
                return None;
            };
            let step = now.window - old.window;
            let gradient = (now.window / now.rtt_s - old.window / old.rtt_s) / step / self.first;
            (step != 0.0).then_some(gradient < MIN_GAIN)
        })
    }
}

/// Wang and Crowcroft: the queue is more than half full.
pub(super) struct Dual {
    rounds: Rounds,
    smallest: Duration,
    largest: Duration,
}

impl Default for Dual {
    fn default() -> Dual {
        Dual { rounds: Rounds::default(), smallest: Duration::MAX, largest: Duration::ZERO }
    }
}

impl Predictor for Dual {
    fn sense(&mut self, at: &Reading) -> bool {
        self.smallest = self.smallest.min(at.rtt);
        self.largest = self.largest.max(at.rtt);
        let middle = 0.5 * (self.smallest.as_secs_f64() + self.largest.as_secs_f64());
        self.rounds.sense(at, |now| Some(now.rtt_s > middle))
    }
}

/// Brakmo and Peterson: the number of this flow's segments in the queue.
pub(super) struct Vegas {
    rounds: Rounds,
    smallest: Duration,
}

/// Vegas' beta, segments.
const MAX_QUEUED: f64 = 3.0;

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas { rounds: Rounds::default(), smallest: Duration::MAX }
    }
}

impl Predictor for Vegas {
    fn sense(&mut self, at: &Reading) -> bool {
        self.smallest = self.smallest.min(at.rtt);
        let base = self.smallest.as_secs_f64();
        self.rounds.sense(at, |now| Some(now.window * (1.0 - base / now.rtt_s) > MAX_QUEUED))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;

    #[test]
    fn card_follows_the_sign_of_the_gradient() {
        let samples = [(60, 10.0), (60, 11.0), (62, 12.0), (62, 12.0), (64, 11.0), (60, 10.0)];
        assert_eq!(says(&mut Card::default(), &samples), [false, false, true, true, false, true]);
    }

    #[test]
    fn tri_s_wants_half_of_the_first_gain() {
        // 100 ms: 1 segment more is 10/s. With the queue growing a segment more brings 2/s, and then 8/s.
        let samples = [(100, 10.0), (100, 11.0), (107, 12.0), (100, 12.0), (102, 13.0)];
        assert_eq!(says(&mut TriS::default(), &samples), [false, false, true, true, false]);
    }

    #[test]
    fn dual_and_vegas_know_the_extremes() {
        let samples = [(60, 100.0), (80, 100.0), (69, 100.0), (71, 100.0), (61, 100.0)];
        assert_eq!(says(&mut Dual::default(), &samples), [false, true, false, true, false]);
        // 100 (1 - 60/61) is 1.6 segments; 13 and more for the others.
        assert_eq!(says(&mut Vegas::default(), &samples), [false, true, true, true, false]);
    }

    #[test]
    fn only_the_first_sample_of_a_round_counts() {
        let mut vegas = Vegas::default();
        let at = |una, ms| Reading {
            now: ackclock_units::Time::ZERO,
            rtt: Duration::from_millis(ms),
            una,
            nxt: una + 10,
            window: 100.0,
        };
        assert!(!vegas.sense(&at(0, 60)));
        assert!(!vegas.sense(&at(5, 90)));
        assert!(vegas.sense(&at(11, 90)));
        assert!(vegas.sense(&at(15, 60)));
    }
}
