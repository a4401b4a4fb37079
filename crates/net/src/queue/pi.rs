//! PI: a proportional-integral controller that holds the queue length at a target.
//!
//! Source: C. Hollot, V. Misra, D. Towsley, W. Gong, "On Designing Improved Controllers for AQM Routers
//! Supporting TCP Flows", INFOCOM 2001: p += a (q - q_ref) - b (q_old - q_ref) at 170 Hz. The default is the
//! source's design for 3750 packets/s.

use super::discipline::{Discipline, always};
use super::droptail::LIMIT;
use super::sampled::{MARK, MIN_PERIOD, Sampled};
use super::{Backlog, Limit, Queue, Verdict};
use crate::Rng;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Room};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "pi",
        title: "PI",
        source: "Hollot, Misra, Towsley and Gong 2001",
        summary: "a proportional-integral controller steers the queue to a target; drops or marks",
        equations: &["p += a (queue - target) - b (queue one period ago - target) once a period"],
        notes: &[
            "The gains are the source's design for 3750 packets/s; the target is ns-2's.",
            "Packets are counted, not bytes.",
        ],
        parameters: &[
            LIMIT,
            Parameter::room("target", Room::Packets(TARGET), "the target queue (ns-2)"),
            Parameter::number("a", A, "per packet", 0.0..=1.0, "the gain of the queue now"),
            Parameter::number("b", B, "per packet", 0.0..=1.0, "the gain of the queue one period ago"),
            Parameter::time(
                "period",
                PERIOD,
                MIN_PERIOD,
                "the time between two samples of the queue: 170 Hz",
            ),
            MARK,
        ],
    },
    example: "{ pi = { limit = \"1 bdp\" } }",
    dequeue_driven: false,
    check: always,
    build: |settings, scale, stream| {
        let config = PiConfig {
            a: settings.get("a"),
            b: settings.get("b"),
            target: scale.packets(settings.get("target")),
            period: settings.get("period"),
            mark: settings.get("mark"),
            limit: scale.limit(settings.get("limit")),
        };
        Queue::Pi(Box::new(Pi::new(config, stream())))
    },
};

// The values of the source, and of ns-2.
const A: f64 = 1.822e-5;
const B: f64 = 1.816e-5;
/// Packets.
const TARGET: f64 = 50.0;
/// 1/170 s.
const PERIOD: Duration = Duration::from_nanos(5_882_353);

/// PI's parameters. Queue lengths are in packets.
#[derive(Clone, Debug)]
pub struct PiConfig {
    /// The gain of the present queue length, per packet.
    pub a: f64,
    /// The gain of the queue length one period ago, per packet.
    pub b: f64,
    /// The target queue length.
    pub target: f64,
    /// The time between two samples of the queue length.
    pub period: Duration,
    /// True: ECN-capable packets are marked instead of dropped.
    pub mark: bool,
    /// The capacity.
    pub limit: Limit,
}

impl PiConfig {
    /// The source's gains and sampling rate, and a target of 50 packets as in ns-2.
    pub fn usual(limit: Limit) -> PiConfig {
        PiConfig { a: A, b: B, target: TARGET, period: PERIOD, mark: false, limit }
    }
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct Pi {
    config: PiConfig,
    sampled: Sampled,
    /// The queue length one period ago.
    last: f64,
}

impl Pi {
    /// An empty queue that draws from `stream`.
    pub fn new(config: PiConfig, stream: Rng) -> Pi {
        let sampled = Sampled::new(config.period, config.limit, config.mark, stream);
        Pi { config, sampled, last: 0.0 }
    }

    /// The probability with which an arriving packet is dropped or marked.
    pub fn probability(&self) -> f64 {
        self.sampled.probability
    }

    pub(super) fn sampled(&self) -> &Sampled {
        &self.sampled
    }

    pub(super) fn sampled_mut(&mut self) -> &mut Sampled {
        &mut self.sampled
    }

    /// The end of a period. True if further ones would change nothing without arrivals.
    pub(super) fn renew(&mut self, backlog: &Backlog) -> bool {
        let PiConfig { a, b, target, .. } = self.config;
        self.sampled.clock_mut().advance();
        let queue = f64::from(backlog.packets);
        let change = a * (queue - target) - b * (self.last - target);
        let probability = &mut self.sampled.probability;
        *probability = (*probability + change).clamp(0.0, 1.0);
        self.last = queue;
        backlog.idle_since.is_some() && *probability == 0.0
    }

    pub(super) fn judge(&mut self, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        self.sampled.judge(bytes, markable, backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Time;

    fn pi() -> Pi {
        Pi::new(PiConfig { mark: true, ..PiConfig::usual(Limit::Packets(500)) }, Rng::new(1, "pi"))
    }

    fn backlog(packets: u32) -> Backlog {
        let idle_since = (packets == 0).then_some(Time::ZERO);
        Backlog {
            packets,
            bytes: u64::from(packets) * 1000,
            idle_since,
            transmission: Duration::from_micros(267),
        }
    }

    #[test]
    fn the_probability_follows_its_equation() {
        let (mut pi, mut p, mut last) = (pi(), 0.0f64, 0.0);
        for (at, queue) in [0, 100, 200, 150, 60, 50, 50, 300, 0, 0].into_iter().enumerate() {
            pi.renew(&backlog(queue));
            let q = f64::from(queue);
            p = (p + 1.822e-5 * (q - 50.0) - 1.816e-5 * (last - 50.0)).clamp(0.0, 1.0);
            last = q;
            assert!((pi.probability() - p).abs() < 1e-15, "{at}");
        }
    }

    #[test]
    fn at_the_target_the_probability_rests_and_an_empty_queue_brings_it_to_zero() {
        let mut pi = pi();
        for _ in 0..1000 {
            pi.renew(&backlog(200));
        }
        pi.renew(&backlog(50));
        let at = pi.probability();
        for _ in 0..1000 {
            pi.renew(&backlog(50));
        }
        assert!((pi.probability() - at).abs() < 1e-12 && at > 0.0);
        let intervals = (0..1_000_000).take_while(|_| !pi.renew(&backlog(0))).count();
        assert!(intervals < 999_999 && pi.probability() == 0.0);
    }
}
