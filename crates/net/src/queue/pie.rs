//! PIE: proportional integral controller enhanced, a controller of the queue delay.
//!
//! Source: RFC 8033, sections 4 and 5 and appendix A. The delay is the backlog divided by the rate of the
//! link, which is known here; section 5.2 estimates it. ECN-capable packets are marked while the probability
//! is at most 10 % (section 5.1).

use super::discipline::{Discipline, always};
use super::droptail::LIMIT;
use super::sampled::{MARK, MIN_PERIOD, Sampled};
use super::{Backlog, Limit, Queue, Verdict};
use crate::Rng;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Rate};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "pie",
        title: "PIE",
        source: "RFC 8033",
        summary: "a proportional-integral controller steers the delay to a target, with room for bursts; drops or marks",
        equations: &[
            "p += alpha (delay - target) + beta (delay - delay one period ago) once a period",
            "the step is divided by 2 to 2048 while p is small (section 4.2)",
        ],
        notes: &[
            "The delay is what waits over the link's rate, which is known here (section 5.2 estimates it).",
            "ECN-capable packets are marked while p is at most 10 % (section 5.1).",
        ],
        parameters: &[
            LIMIT,
            Parameter::time("target", TARGET, MIN_PERIOD, "QDELAY_REF: the target delay"),
            Parameter::time("period", PERIOD, MIN_PERIOD, "T_UPDATE: the time between two updates"),
            Parameter::number(
                "alpha",
                ALPHA,
                "1/s",
                0.0..=1e3,
                "the weight of the delay's distance from the target",
            ),
            Parameter::number("beta", BETA, "1/s", 0.0..=1e3, "the weight of the delay's change"),
            Parameter::time("burst", BURST, Duration::ZERO, "MAX_BURST: how long a burst is let through"),
            MARK,
        ],
    },
    example: "{ pie = { limit = \"1 bdp\" } }",
    dequeue_driven: false,
    check: always,
    build: |settings, scale, stream| {
        let usual = PieConfig::usual(scale.rate, scale.segment, scale.limit(settings.get("limit")));
        let config = PieConfig {
            target: settings.get("target"),
            period: settings.get("period"),
            alpha: settings.get("alpha"),
            beta: settings.get("beta"),
            burst: settings.get("burst"),
            mark: settings.get("mark"),
            ..usual
        };
        Queue::Pie(Box::new(Pie::new(config, stream())))
    },
};

// RFC 8033 sections 4.2 and 4.4.
const TARGET: Duration = Duration::from_millis(15);
const PERIOD: Duration = Duration::from_millis(15);
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
const BURST: Duration = Duration::from_millis(150);

/// PIE's parameters.
#[derive(Clone, Debug)]
pub struct PieConfig {
    /// QDELAY_REF: the target queue delay.
    pub target: Duration,
    /// T_UPDATE: the time between two updates.
    pub period: Duration,
    /// The weight of the difference between delay and target, 1/s.
    pub alpha: f64,
    /// The weight of the change of the delay, 1/s.
    pub beta: f64,
    /// MAX_BURST: how long a burst gets through without drops.
    pub burst: Duration,
    /// The rate of the link.
    pub rate: Rate,
    /// MEAN_PKTSIZE, bytes: nothing is dropped while at most two packets of this size wait.
    pub packet: u32,
    /// True: ECN-capable packets are marked instead of dropped.
    pub mark: bool,
    /// The capacity.
    pub limit: Limit,
}

impl PieConfig {
    /// The RFC's values, for a link of `rate` and packets of `packet` bytes.
    pub fn usual(rate: Rate, packet: u32, limit: Limit) -> PieConfig {
        PieConfig {
            target: TARGET,
            period: PERIOD,
            alpha: ALPHA,
            beta: BETA,
            burst: BURST,
            rate,
            packet,
            mark: false,
            limit,
        }
    }
}

/// Section 5.1: MARK_ECNTH.
const MAX_TO_MARK: f64 = 0.1;
/// Section 4.1: below this probability nothing is dropped while the delay is under half the target.
const MIN_TO_DROP: f64 = 0.2;
/// Section 5.4 (appendix A): the bounds of the accumulated probability between two drops.
const ACCUMULATED: (f64, f64) = (0.85, 8.5);
/// Section 4.2: below each of these probabilities the step is divided by the second number.
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// Section 5.5: the largest step at a probability of 10 % and above.
const LARGEST_STEP: f64 = 0.02;
/// Section 4.2: the factor by which the probability decays while nothing waits.
const DECAY: f64 = 0.98;

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    sampled: Sampled,
    /// The delay at the last update, s.
    delay: f64,
    burst: Duration,
    accumulated: f64,
}

impl Pie {
    /// An empty queue that draws from `stream`.
    pub fn new(config: PieConfig, stream: Rng) -> Pie {
        let sampled = Sampled::new(config.period, config.limit, config.mark, stream);
        let burst = config.burst;
        Pie { config, sampled, delay: 0.0, burst, accumulated: 0.0 }
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

    /// The update of sections 4.2 and 4.4 (burst). True if further ones would change nothing without
    /// arrivals.
    pub(super) fn renew(&mut self, backlog: &Backlog) -> bool {
        let PieConfig { alpha, beta, period, .. } = self.config;
        let target = self.config.target.as_secs_f64();
        self.sampled.clock_mut().advance();
        let delay = backlog.bytes as f64 * 8.0 / self.config.rate.bps() as f64;
        let scale = SCALES.iter().find(|(below, _)| self.sampled.probability < *below).map_or(1.0, |it| it.1);
        let mut step = (alpha * (delay - target) + beta * (delay - self.delay)) / scale;
        if self.sampled.probability >= 0.1 {
            step = step.min(LARGEST_STEP);
        }
        self.sampled.probability += step;
        if delay == 0.0 && self.delay == 0.0 {
            self.sampled.probability *= DECAY;
        }
        self.sampled.probability = self.sampled.probability.clamp(0.0, 1.0);
        let calm = self.sampled.probability == 0.0 && delay < target / 2.0 && self.delay < target / 2.0;
        self.burst = if calm { self.config.burst } else { self.burst - period };
        self.delay = delay;
        calm && backlog.idle_since.is_some() && delay == 0.0
    }

    pub(super) fn judge(&mut self, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        if backlog.verdict(self.sampled.limit(), bytes) == Verdict::Overflow {
            return Verdict::Overflow;
        }
        if !self.strikes(backlog) {
            return Verdict::Enqueue;
        }
        self.sampled.hit(markable && self.sampled.probability <= MAX_TO_MARK)
    }

    /// Section 4.1, with the spacing of section 5.4: true if an arriving packet is dropped or marked.
    fn strikes(&mut self, backlog: &Backlog) -> bool {
        let calm =
            self.delay < 0.5 * self.config.target.as_secs_f64() && self.sampled.probability < MIN_TO_DROP;
        let short = backlog.bytes <= 2 * u64::from(self.config.packet);
        if !self.burst.is_zero() || calm || short {
            return false;
        }
        if self.sampled.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.sampled.probability;
        let (least, most) = ACCUMULATED;
        if self.accumulated < least || self.accumulated < most && !self.sampled.strikes() {
            return false;
        }
        self.accumulated = 0.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Time;

    /// A queue on 8 Mbit/s: 1000 bytes take 1 ms.
    fn pie() -> Pie {
        let config = PieConfig::usual(Rate::from_bps(8_000_000), 1000, Limit::Packets(500));
        Pie::new(PieConfig { mark: true, ..config }, Rng::new(1, "pie"))
    }

    fn backlog(packets: u32) -> Backlog {
        let idle_since = (packets == 0).then_some(Time::ZERO);
        Backlog {
            packets,
            bytes: u64::from(packets) * 1000,
            idle_since,
            transmission: Duration::from_millis(1),
        }
    }

    #[test]
    fn small_probabilities_change_in_small_steps() {
        let mut pie = pie();
        pie.renew(&backlog(30)); // 30 ms, twice the target
        let first = (0.125 * 0.015 + 1.25 * 0.030) / 2048.0;
        assert!((pie.probability() - first).abs() < 1e-15);
        pie.renew(&backlog(30));
        let second = first + 0.125 * 0.015 / 128.0;
        assert!((pie.probability() - second).abs() < 1e-15);
        pie.sampled.probability = 0.2;
        pie.renew(&backlog(300));
        assert!((pie.probability() - 0.22).abs() < 1e-12); // section 5.5
    }

    #[test]
    fn bursts_pass_and_short_queues_too() {
        let mut pie = pie();
        pie.sampled.probability = 1.0;
        pie.delay = 0.1;
        assert_eq!(pie.judge(1000, false, &backlog(100)), Verdict::Enqueue);
        for _ in 0..10 {
            pie.renew(&backlog(100));
        }
        pie.sampled.probability = 1.0;
        assert_eq!(pie.judge(1000, true, &backlog(100)), Verdict::Early); // beyond MARK_ECNTH
        assert_eq!(pie.judge(1000, false, &backlog(2)), Verdict::Enqueue);
    }

    #[test]
    fn drops_are_spaced() {
        let mut pie = pie();
        (pie.sampled.probability, pie.delay, pie.burst) = (0.01, 0.1, Duration::ZERO);
        let mut gaps = Vec::new();
        let mut since = 0;
        for _ in 0..100_000 {
            since += 1;
            if pie.judge(1000, true, &backlog(100)) == Verdict::Mark {
                gaps.push(since);
                since = 0;
            }
        }
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        assert!(gaps.iter().all(|gap| (85..=850).contains(gap)), "{gaps:?}");
        // 84 packets that cannot be dropped, then one in a hundred
        assert!((mean - 184.0).abs() < 10.0, "{mean}");
    }

    #[test]
    fn an_idle_queue_forgets() {
        let mut pie = pie();
        (pie.sampled.probability, pie.burst) = (0.5, Duration::ZERO);
        let updates = (0..10_000).take_while(|_| !pie.renew(&backlog(0))).count();
        assert!(updates < 9_999 && pie.sampled.probability == 0.0 && pie.burst == pie.config.burst);
    }
}
