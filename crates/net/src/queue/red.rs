//! RED: random early detection, with its gentle and adaptive forms.
//!
//! Sources: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", ToN 1993
//! (classic); S. Floyd, "Recommendation on using the gentle variant of RED", 2000 (gentle); S. Floyd, R.
//! Gummadi and S. Shenker, "Adaptive RED", 2001 (adaptive, and the automatic weight and thresholds).
//!
//! What differs: the average counts packets, not bytes, and probabilities are not scaled by packet size. Two
//! details follow ns-2, whose RED is by the same authors. Nothing is dropped early while fewer than two
//! packets wait, however high the average still is; otherwise a link could idle and drop at the same time.
//! The packet with which the average crosses the lower threshold is admitted.

use super::discipline::{Contradiction, Discipline, Scale};
use super::droptail::LIMIT;
use super::sampled::MARK;
use super::{Backlog, Limit, Queue, Verdict};
use crate::Rng;
use ackclock_registry::{Entry, Parameter, Settings};
use ackclock_units::{Duration, Room, Time};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "red",
        title: "RED",
        source: "Floyd and Jacobson 1993; Floyd 2000; Floyd, Gummadi and Shenker 2001",
        summary: "random early detection: classic, gentle or adaptive; drops or marks",
        equations: &[
            "average += weight (queue - average) at each arrival",
            "p = probability (average - min) / (max - min) between the thresholds",
            "gentle: from probability at max to 1 at 2 max; otherwise 1 above max",
        ],
        notes: &[
            "The average counts packets, and probabilities are not scaled by packet size.",
            "As in ns-2, nothing is dropped early while fewer than two packets wait, and the packet with which the average crosses min is let in.",
            "Equal thresholds are a step: with weight = 1 all packets are marked above a momentary queue, which is the queue that DCTCP wants.",
        ],
        parameters: &[
            LIMIT,
            Parameter::room(
                "min",
                Room::Packets(5.0),
                "the average queue below which nothing is dropped early; min and max go together",
            )
            .otherwise("what the link sends in 2.5 ms, at least 5 packets"),
            Parameter::room(
                "max",
                Room::Packets(15.0),
                "the average queue at which the probability is reached",
            )
            .otherwise("three times min"),
            Parameter::number(
                "probability",
                MAX_PROBABILITY,
                "",
                1e-6..=1.0,
                "the probability at max (Adaptive RED section 5)",
            ),
            Parameter::number(
                "weight",
                0.002,
                "",
                1e-9..=1.0,
                "the weight of an arrival in the average queue (Adaptive RED section 5)",
            )
            .otherwise("1 - exp(-1 / packets that the link sends in a second)"),
            Parameter::flag(
                "gentle",
                true,
                "between max and 2 max the probability rises to 1 instead of jumping there",
            ),
            Parameter::flag(
                "wait",
                true,
                "early drops are 1/p to 2/p packets apart, as in ns-2; false: 1 to 1/p, as in the paper",
            ),
            Parameter::flag(
                "adaptive",
                false,
                "the probability follows the load, so that the average stays midway between the thresholds",
            ),
            MARK,
        ],
    },
    example: "{ red = { limit = \"1 bdp\" } }",
    dequeue_driven: false,
    check,
    build: |settings, scale, stream| {
        let transmission = scale.rate.time_for(u64::from(scale.segment));
        let automatic = RedConfig::automatic(transmission, scale.limit(settings.get("limit")));
        let packets =
            |name: &str, automatic: f64| settings.given(name).map_or(automatic, |room| scale.packets(room));
        let config = RedConfig {
            min_threshold: packets("min", automatic.min_threshold),
            max_threshold: packets("max", automatic.max_threshold),
            max_probability: settings.get("probability"),
            weight: settings.given("weight").unwrap_or(automatic.weight),
            gentle: settings.get("gentle"),
            wait: settings.get("wait"),
            adaptive: settings.get("adaptive"),
            mark: settings.get("mark"),
            limit: automatic.limit,
        };
        Queue::Red(Box::new(Red::new(config, stream())))
    },
};

fn check(settings: &Settings, scale: &Scale) -> Result<(), Contradiction> {
    let threshold = |name: &str| settings.given::<Room>(name).map(|room| scale.packets(room));
    match (threshold("min"), threshold("max")) {
        (None, None) => Ok(()),
        (Some(min), Some(max)) if min <= max => Ok(()),
        (Some(min), Some(max)) => Err(Contradiction {
            problem: format!("RED's thresholds are {min:.1} and {max:.1} packets here"),
            remedy: "min must be below max, or equal to it for a step",
        }),
        _ => Err(Contradiction {
            problem: "RED takes both thresholds, min and max, or neither".to_owned(),
            remedy: "without them they are chosen automatically",
        }),
    }
}

/// "Adaptive RED" section 5, and ns-2's `linterm_`: the probability at the upper threshold.
const MAX_PROBABILITY: f64 = 0.1;

/// RED's parameters. Queue lengths are in packets.
#[derive(Clone, Debug)]
pub struct RedConfig {
    /// The average queue below which nothing is dropped early.
    pub min_threshold: f64,
    /// The average queue at which the probability reaches `max_probability`. If it equals `min_threshold`,
    /// the probability is a step from 0 to 1. With a `weight` of 1 that is DCTCP's queue.
    pub max_threshold: f64,
    /// The probability at the upper threshold, in [0, 1].
    pub max_probability: f64,
    /// The weight of one arrival in the average queue, in (0, 1].
    pub weight: f64,
    /// True: between one and two upper thresholds the probability rises to 1 instead of jumping to 1.
    pub gentle: bool,
    /// True: early drops are 1/p to 2/p packets apart, as in ns-2 (`wait_`). False: 1 to 1/p packets (the
    /// paper's section 7).
    pub wait: bool,
    /// True: `max_probability` adapts so that the average stays midway between the thresholds.
    pub adaptive: bool,
    /// True: ECN-capable packets are marked instead of dropped early.
    pub mark: bool,
    /// The capacity.
    pub limit: Limit,
}

impl RedConfig {
    /// The automatic choice of "Adaptive RED" section 5, for a link on which one packet takes `transmission`.
    /// The lower threshold is a delay of 5 ms, at least 5 packets. The upper threshold is three times the
    /// lower one. The weight averages over ten typical round trips of 100 ms.
    pub fn automatic(transmission: Duration, limit: Limit) -> RedConfig {
        let per_packet = transmission.as_secs_f64().max(1e-12);
        let min_threshold = (0.005 / per_packet / 2.0).max(5.0);
        RedConfig {
            min_threshold,
            max_threshold: 3.0 * min_threshold,
            max_probability: MAX_PROBABILITY,
            weight: 1.0 - libm::exp(-per_packet),
            gentle: true,
            wait: true,
            adaptive: false,
            mark: false,
            limit,
        }
    }
}

/// The least number of waiting packets for an early drop.
const MIN_WAITING: u32 = 2;
/// The time between two adaptations ("Adaptive RED" figure 1: every 0.5 s).
const INTERVAL: Duration = Duration::from_millis(500);
/// The range of an adaptive `max_probability` ("Adaptive RED" section 4.1).
const PROBABILITY_RANGE: (f64, f64) = (0.01, 0.5);
/// The factor of the multiplicative decrease of an adaptive `max_probability`.
const ADAPTIVE_DECREASE: f64 = 0.9;

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    stream: Rng,
    average: f64,
    max_probability: f64,
    /// Packets since the last early drop; -1 while the average is below the lower threshold.
    since_last: i64,
    adapted_at: Time,
}

impl Red {
    /// An empty queue that draws from `stream`.
    pub fn new(config: RedConfig, stream: Rng) -> Red {
        let max_probability = config.max_probability;
        Red { config, stream, average: 0.0, max_probability, since_last: -1, adapted_at: Time::ZERO }
    }

    /// The parameters.
    pub fn config(&self) -> &RedConfig {
        &self.config
    }

    /// The average queue in packets.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The capacity.
    pub fn limit(&self) -> Limit {
        self.config.limit
    }

    pub(crate) fn judge(&mut self, now: Time, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        self.update_average(now, backlog);
        if self.config.adaptive && now.since(self.adapted_at) >= INTERVAL {
            self.adapt(now);
        }
        let early = self.strikes(backlog.packets);
        if backlog.verdict(self.config.limit, bytes) == Verdict::Overflow {
            return Verdict::Overflow;
        }
        match early {
            Strike::None => Verdict::Enqueue,
            // ECN-capable packets are marked only while the average is below the region in which every packet
            // is dropped. RFC 3168 section 7 leaves this open. With "gentle" that region begins at twice the
            // upper threshold.
            Strike::Random | Strike::Step if self.config.mark && markable => Verdict::Mark,
            Strike::Random | Strike::Step | Strike::Certain => Verdict::Early,
        }
    }

    /// Floyd and Jacobson, section 4: an idle time counts as if that many small packets had found the queue
    /// empty.
    fn update_average(&mut self, now: Time, backlog: &Backlog) {
        let weight = self.config.weight;
        if let Some(since) = backlog.idle_since {
            let missed = now.since(since).as_secs_f64() / backlog.transmission.as_secs_f64().max(1e-12);
            self.average *= libm::pow(1.0 - weight, missed);
        }
        self.average += weight * (f64::from(backlog.packets) - self.average);
    }

    fn strikes(&mut self, waiting: u32) -> Strike {
        let RedConfig { min_threshold, max_threshold, gentle, wait, .. } = self.config;
        if self.average < min_threshold || waiting < MIN_WAITING {
            self.since_last = -1;
            return Strike::None;
        }
        if min_threshold == max_threshold {
            return Strike::Step;
        }
        let base = if self.average < max_threshold {
            self.max_probability * (self.average - min_threshold) / (max_threshold - min_threshold)
        } else if gentle && self.average < 2.0 * max_threshold {
            self.max_probability
                + (1.0 - self.max_probability) * (self.average - max_threshold) / max_threshold
        } else {
            self.since_last = 0;
            return Strike::Certain;
        };
        self.since_last += 1;
        if self.since_last == 0 {
            self.since_last = 1; // the average has just crossed the threshold
            return Strike::None;
        }
        let expected = self.since_last as f64 * base;
        let probability = match wait {
            true if expected < 1.0 => 0.0,
            true => base / (2.0 - expected).max(0.0),
            // Floyd and Jacobson, section 7: p / (1 - count p).
            false => base / (1.0 - expected).max(0.0),
        };
        if self.stream.uniform() < probability {
            self.since_last = 0;
            return Strike::Random;
        }
        Strike::None
    }

    /// "Adaptive RED" figure 1: additive increase, multiplicative decrease of the probability.
    fn adapt(&mut self, now: Time) {
        self.adapted_at = now;
        let span = self.config.max_threshold - self.config.min_threshold;
        let target = (self.config.min_threshold + 0.4 * span, self.config.min_threshold + 0.6 * span);
        let (lowest, highest) = PROBABILITY_RANGE;
        if self.average > target.1 && self.max_probability <= highest {
            self.max_probability += (self.max_probability / 4.0).min(0.01);
        } else if self.average < target.0 && self.max_probability >= lowest {
            self.max_probability *= ADAPTIVE_DECREASE;
        }
    }
}

enum Strike {
    None,
    Random,
    /// Both thresholds are equal, and the average reached them. RFC 8257 section 3.1: every packet is marked.
    Step,
    Certain,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(gentle: bool, adaptive: bool) -> Red {
        let config = RedConfig {
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: 0.1,
            weight: 1.0, // the average is the queue itself
            gentle,
            wait: false,
            adaptive,
            mark: false,
            limit: Limit::Packets(100),
        };
        Red::new(config, Rng::new(1, "red"))
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        let mut red = red(false, false);
        (red.config.min_threshold, red.config.max_threshold, red.config.mark) = (20.0, 20.0, true);
        let mut judge = |packets, markable| {
            let backlog = Backlog {
                packets,
                bytes: u64::from(packets) * 1000,
                idle_since: None,
                transmission: Duration::from_micros(10),
            };
            red.judge(Time::ZERO, 1000, markable, &backlog)
        };
        assert_eq!(judge(19, true), Verdict::Enqueue);
        for _ in 0..3 {
            assert_eq!((judge(20, true), judge(99, true)), (Verdict::Mark, Verdict::Mark));
            assert_eq!(judge(20, false), Verdict::Early);
        }
        assert_eq!(judge(100, true), Verdict::Overflow);
    }

    fn share_dropped(red: &mut Red, queue: u32) -> f64 {
        let backlog = Backlog {
            packets: queue,
            bytes: u64::from(queue) * 1000,
            idle_since: None,
            transmission: Duration::from_micros(10),
        };
        let mut dropped = 0;
        for n in 0..100_000_u64 {
            let verdict = red.judge(Time::from_nanos(n * 10_000), 1000, false, &backlog);
            dropped += u32::from(verdict != Verdict::Enqueue);
        }
        f64::from(dropped) / 1e5
    }

    #[test]
    fn probability_follows_the_average() {
        assert_eq!(share_dropped(&mut red(false, false), 4), 0.0);
        // Uniform spacing gives a share of 2p/(1+p), which is between p and 2p.
        let middle = share_dropped(&mut red(false, false), 10);
        assert!((0.085..0.105).contains(&middle), "{middle}");
        assert_eq!(share_dropped(&mut red(false, false), 15), 1.0);
    }

    #[test]
    fn waiting_spaces_early_drops_and_short_queues_are_spared() {
        let mut red = red(false, false);
        red.config.wait = true;
        // Between 1/p and 2/p packets, with p = 0.05: 30 on average.
        let share = share_dropped(&mut red, 10);
        assert!((0.031..0.035).contains(&share), "{share}");
        red.config.weight = 1e-9;
        red.average = 10.0;
        assert_eq!(share_dropped(&mut red, 1), 0.0);
        assert!(share_dropped(&mut red, 2) > 0.03);
    }

    #[test]
    fn gentle_rises_where_classic_jumps() {
        let gentle = share_dropped(&mut red(true, false), 20);
        assert!((0.4..0.75).contains(&gentle), "{gentle}");
        assert_eq!(share_dropped(&mut red(true, false), 30), 1.0);
    }

    #[test]
    fn adaptive_raises_the_probability_while_the_average_is_high() {
        let mut adaptive = red(true, true);
        share_dropped(&mut adaptive, 14);
        assert!(adaptive.max_probability > 0.1, "{}", adaptive.max_probability);
    }

    #[test]
    fn the_average_decays_while_idle() {
        let mut red = red(false, false);
        red.config.weight = 0.002;
        red.average = 10.0;
        let idle = Backlog {
            packets: 0,
            bytes: 0,
            idle_since: Some(Time::ZERO),
            transmission: Duration::from_millis(1),
        };
        red.judge(Time::from_nanos(1_000_000_000), 1000, false, &idle);
        assert!((red.average - 10.0 * 0.998_f64.powi(1001)).abs() < 1e-9, "{}", red.average);
    }
}
