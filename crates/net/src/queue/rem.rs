//! REM: a price that rises while the arrival rate exceeds the capacity or the queue exceeds its target. The
//! marking probability follows from the price.
//!
//! Source: S. Athuraliya, S. Low, V. Li, Q. Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001:
//! price = max(0, price + gamma (alpha (b - b*) + x - c)), probability = 1 - phi^(-price). The defaults are
//! the source's.
//!
//! The intervals follow ns-2, whose REM is by the same authors: 2 ms, with the input rate of each interval
//! alone. `weight` can smooth the rate over several intervals. The queue counts packets, not bytes.

use super::discipline::{Discipline, always};
use super::droptail::LIMIT;
use super::sampled::{MARK, MIN_PERIOD, Sampled};
use super::{Backlog, Limit, Queue, Verdict};
use crate::Rng;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Room};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "rem",
        title: "REM",
        source: "Athuraliya, Low, Li and Yin 2001",
        summary: "a price from queue and rate, and a probability from the price; drops or marks",
        equations: &[
            "price = max(0, price + gamma (alpha (queue - target) + arrivals - capacity)) once a period",
            "p = 1 - phi^(-price)",
        ],
        notes: &[
            "Intervals follow ns-2, whose REM is by the same authors: 2 ms, with the input rate of each alone; weight smooths it over several.",
            "Packets are counted, not bytes.",
        ],
        parameters: &[
            LIMIT,
            Parameter::room("target", Room::Packets(TARGET), "the target queue b*"),
            Parameter::number("gamma", GAMMA, "", 0.0..=1e3, "the step size of the price"),
            Parameter::number(
                "alpha",
                ALPHA,
                "",
                0.0..=1e3,
                "the weight of the queue's mismatch beside the rate's",
            ),
            Parameter::number("phi", PHI, "", 1.0..=10.0, "the base of the probability's exponential"),
            Parameter::number(
                "weight",
                WEIGHT,
                "",
                1e-9..=1.0,
                "the weight of the newest interval in the average input rate",
            ),
            Parameter::time("period", PERIOD, MIN_PERIOD, "the length of an interval (ns-2)"),
            MARK,
        ],
    },
    example: "{ rem = { limit = \"1 bdp\" } }",
    dequeue_driven: false,
    check: always,
    build: |settings, scale, stream| {
        let transmission = scale.rate.time_for(u64::from(scale.segment));
        let usual = RemConfig::usual(transmission, scale.limit(settings.get("limit")));
        let period: Duration = settings.get("period");
        let config = RemConfig {
            gamma: settings.get("gamma"),
            alpha: settings.get("alpha"),
            phi: settings.get("phi"),
            target: scale.packets(settings.get("target")),
            weight: settings.get("weight"),
            capacity: usual.capacity * period.as_secs_f64() / usual.period.as_secs_f64(),
            period,
            mark: settings.get("mark"),
            limit: usual.limit,
        };
        Queue::Rem(Box::new(Rem::new(config, stream())))
    },
};

// The values of the source and of ns-2.
const GAMMA: f64 = 0.001;
const ALPHA: f64 = 0.1;
const PHI: f64 = 1.001;
/// Packets.
const TARGET: f64 = 20.0;
const WEIGHT: f64 = 1.0;
const PERIOD: Duration = Duration::from_millis(2);

/// REM's parameters.
#[derive(Clone, Debug)]
pub struct RemConfig {
    /// The step size of the price.
    pub gamma: f64,
    /// The weight of the queue mismatch relative to the rate mismatch.
    pub alpha: f64,
    /// The base of the probability's exponential, above 1.
    pub phi: f64,
    /// b*: the target queue length, packets.
    pub target: f64,
    /// The weight of the newest interval in the average input rate, in (0, 1].
    pub weight: f64,
    /// The length of an interval.
    pub period: Duration,
    /// c: the number of packets that can leave in an interval.
    pub capacity: f64,
    /// True: ECN-capable packets are marked instead of dropped.
    pub mark: bool,
    /// The capacity.
    pub limit: Limit,
}

impl RemConfig {
    /// The values of the source and of ns-2, for a link on which one packet takes `transmission`.
    pub fn usual(transmission: Duration, limit: Limit) -> RemConfig {
        let period = PERIOD;
        RemConfig {
            gamma: GAMMA,
            alpha: ALPHA,
            phi: PHI,
            target: TARGET,
            weight: WEIGHT,
            period,
            capacity: period.as_secs_f64() / transmission.as_secs_f64().max(1e-12),
            mark: false,
            limit,
        }
    }
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct Rem {
    config: RemConfig,
    sampled: Sampled,
    /// The number of arrivals in this interval.
    arrivals: u64,
    /// x: the average number of arrivals in an interval.
    input: f64,
    price: f64,
}

impl Rem {
    /// An empty queue that draws from `stream`.
    pub fn new(config: RemConfig, stream: Rng) -> Rem {
        let sampled = Sampled::new(config.period, config.limit, config.mark, stream);
        Rem { config, sampled, arrivals: 0, input: 0.0, price: 0.0 }
    }

    /// The price.
    pub fn price(&self) -> f64 {
        self.price
    }

    pub(super) fn sampled(&self) -> &Sampled {
        &self.sampled
    }

    pub(super) fn sampled_mut(&mut self) -> &mut Sampled {
        &mut self.sampled
    }

    /// The end of an interval. True if further ones would change nothing without arrivals.
    pub(super) fn renew(&mut self, backlog: &Backlog) -> bool {
        let RemConfig { gamma, alpha, phi, target, weight, capacity, .. } = self.config;
        self.sampled.clock_mut().advance();
        let arrivals = std::mem::take(&mut self.arrivals) as f64;
        self.input += weight * (arrivals - self.input);
        let mismatch = alpha * (f64::from(backlog.packets) - target) + self.input - capacity;
        self.price = (self.price + gamma * mismatch).max(0.0);
        self.sampled.probability = 1.0 - libm::pow(phi, -self.price);
        backlog.idle_since.is_some() && self.price == 0.0 && self.input < 1e-9
    }

    pub(super) fn judge(&mut self, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        self.arrivals += 1;
        self.sampled.judge(bytes, markable, backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rem() -> Rem {
        let config = RemConfig::usual(Duration::from_millis(1), Limit::Packets(100));
        Rem::new(RemConfig { mark: true, ..config }, Rng::new(1, "rem"))
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog {
            packets,
            bytes: u64::from(packets) * 1000,
            idle_since: None,
            transmission: Duration::from_millis(1),
        }
    }

    #[test]
    fn the_price_follows_its_equation() {
        for weight in [1.0, 0.1] {
            let mut rem = rem();
            rem.config.weight = weight;
            let (mut input, mut price) = (0.0, 0.0f64);
            for interval in 0..50u32 {
                for _ in 0..interval {
                    rem.judge(1000, true, &backlog(30));
                }
                rem.renew(&backlog(30));
                input += weight * (f64::from(interval) - input);
                price = (price + 0.001 * (0.1 * 10.0 + input - 2.0)).max(0.0);
                assert!((rem.price() - price).abs() < 1e-12, "{interval}");
            }
            assert!(price > 0.0);
        }
    }
}
