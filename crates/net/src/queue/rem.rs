//! REM: a price that rises while more arrives than leaves or more waits than should, and a probability from it.
//!
//! Source: S. Athuraliya, S. Low, V. Li, Q. Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001:
//! price = max(0, price + gamma (alpha (b - b*) + x - c)), probability = 1 - phi^(-price); defaults from there.
//!
//! Intervals are those of ns-2, whose REM is its authors': 2 ms, and the input rate of each as it is; `weight` smooths it over
//! several. Packets are counted, not bytes.

use super::sampled::Sampled;
use super::{Backlog, Limit, Verdict};
use crate::Stream;
use ackclock_units::Duration;

/// REM's parameters.
#[derive(Clone, Debug)]
pub struct RemConfig {
    /// Step size of the price.
    pub gamma: f64,
    /// Weight of the queue's mismatch beside the rate's.
    pub alpha: f64,
    /// Base of the probability's exponential, above 1.
    pub phi: f64,
    /// Target queue b*, packets.
    pub target: f64,
    /// Share of the newest interval in the average input rate.
    pub weight: f64,
    /// Length of an interval.
    pub period: Duration,
    /// Packets that can leave in an interval.
    pub capacity: f64,
    /// Packets that may be marked are marked where others are dropped.
    pub mark: bool,
    /// What the queue can hold at most.
    pub limit: Limit,
}

impl RemConfig {
    /// The source's and ns-2's values, for a link on which one packet takes `transmission`.
    pub fn usual(transmission: Duration, limit: Limit) -> RemConfig {
        let period = Duration::from_millis(2);
        RemConfig {
            gamma: 0.001,
            alpha: 0.1,
            phi: 1.001,
            target: 20.0,
            weight: 1.0,
            period,
            capacity: period.as_secs_f64() / transmission.as_secs_f64().max(1e-12),
            mark: false,
            limit,
        }
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Rem {
    config: RemConfig,
    sampled: Sampled,
    /// Arrivals in this interval.
    arrivals: u64,
    /// Average arrivals in an interval.
    input: f64,
    price: f64,
}

impl Rem {
    /// A queue that draws from `stream`.
    pub fn new(config: RemConfig, stream: Stream) -> Rem {
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

    /// The end of an interval. Would further ones without arrivals change nothing?
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
        Rem::new(RemConfig { mark: true, ..config }, Stream::new(1, "rem"))
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
