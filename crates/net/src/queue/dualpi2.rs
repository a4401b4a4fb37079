//! DualPI2: a shallow queue for scalable (L4S) flows beside one for classic flows, and one controller for
//! both.
//!
//! Source: RFC 9332, appendix A with its edge cases (figures 2, 3, 5, 7 and 8). Overload is handled by drops
//! ("drop on saturation"). Where the RFC leaves a choice:
//!
//! - The scheduler is weighted round robin by bytes. Its credit changes only while both queues hold packets,
//!   and is reset when the link is idle (as the RFC says of Linux).
//! - The delay of the L queue is the waiting time of the packet that leaves (note a).
//! - `floor` (`Th_len`) counts the packets that remain behind it, as in the pseudo-code.
//! - A likelihood above 1 counts as 1: no more than every packet can be marked.

use super::discipline::{Discipline, always};
use super::pool::{Chain, Pool};
use super::sampled::Clock;
use super::stepped::Scheme;
use super::{Limit, Queue, Sent};
use crate::Ecn;
use ackclock_registry::{Entry, Parameter, Settings};
use ackclock_units::{Duration, Room, Time};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "dualpi2",
        title: "DualPI2",
        source: "RFC 9332",
        summary: "a shallow queue for scalable (L4S) flows beside a classic one, and a controller that couples both; decides when the transmitter is free",
        equations: &[
            "p' += alpha (delay - target) + beta (delay - delay one period ago) once a period",
            "classic packets are dropped or marked with p'^2, L packets marked with coupling p' or by their own ramp, whichever is more",
        ],
        notes: &[
            "Packets that say ECT(1), or that another queue has marked, go to the L4S queue, all others to the classic one.",
            "It has no mark: it always marks what may be marked. Overload is met by drops (\"drop on saturation\").",
            "The scheduler is weighted round robin by bytes; its credit changes only while both queues hold packets.",
        ],
        parameters: &[
            Parameter::room("limit", Room::Bytes(0), "what both queues together may hold (figure 2)")
                .otherwise("what the link sends in 250 ms"),
            Parameter::time(
                "target",
                DualPi2Config::TARGET,
                MIN_TIME,
                "the target delay of the classic queue (figure 2)",
            ),
            Parameter::time(
                "rtt_max",
                DualPi2Config::RTT_MAX,
                MIN_TIME,
                "the longest round-trip time to be expected (figure 2)",
            ),
            Parameter::time(
                "period",
                DualPi2Config::TARGET,
                MIN_TIME,
                "Tupdate: the time between two updates of the probability",
            )
            .otherwise("target, at most a third of rtt_max"),
            Parameter::number("alpha", 0.15, "Hz", 0.0..=1e9, "the integral gain")
                .otherwise("0.1 period / rtt_max^2"),
            Parameter::number("beta", 3.0, "Hz", 0.0..=1e9, "the proportional gain")
                .otherwise("0.3 / rtt_max"),
            Parameter::number(
                "coupling",
                COUPLING,
                "",
                0.01..=100.0,
                "k: the L queue's probability is so many times the root of the classic one",
            ),
            Parameter::time(
                "threshold",
                THRESHOLD,
                Duration::ZERO,
                "minTh: the delay of the L queue at which its own marking begins",
            ),
            Parameter::time(
                "range",
                RANGE,
                Duration::ZERO,
                "by how much more delay it has become certain; 0 s makes it a step",
            ),
            Parameter::count(
                "floor",
                FLOOR,
                "packets",
                0..=1_000_000,
                "Th_len: how many packets must be left behind one that is marked by the L queue's own threshold",
            ),
            Parameter::number(
                "share",
                SHARE,
                "",
                0.001..=0.999,
                "what the classic queue gets of the link while both have packets",
            ),
        ],
    },
    example: "\"dualpi2\"",
    dequeue_driven: true,
    check: always,
    build: |settings, scale, _| {
        let room = settings.given("limit").map(|room| scale.limit(room));
        let limit = room.unwrap_or(Limit::Bytes(scale.rate.bytes_in(ROOM) as u64));
        let config = DualPi2Config::of(settings, DualPi2Config::usual(scale.segment, limit));
        Queue::from(Scheme::DualPi2(DualPi2::new(config)))
    },
};

const MIN_TIME: Duration = Duration::from_micros(1);
// RFC 9332 figure 2.
/// The capacity, as time at the link's rate.
const ROOM: Duration = Duration::from_millis(250);
const COUPLING: f64 = 2.0;
const THRESHOLD: Duration = Duration::from_micros(800);
const RANGE: Duration = Duration::from_micros(400);
/// Packets.
const FLOOR: u64 = 1;
const SHARE: f64 = 1.0 / 16.0;

/// DualPI2's parameters.
#[derive(Clone, Debug)]
pub struct DualPi2Config {
    /// The target delay of the classic queue.
    pub target: Duration,
    /// `Tupdate`: the time between two updates of the probability.
    pub period: Duration,
    /// The integral gain, Hz.
    pub alpha: f64,
    /// The proportional gain, Hz.
    pub beta: f64,
    /// k, the coupling factor: the L queue's marking probability is k times the base probability p'.
    pub coupling: f64,
    /// `minTh`: the delay of the L queue at which its own marking begins.
    pub threshold: Duration,
    /// The additional delay at which its own marking becomes certain. Zero makes it a step.
    pub range: Duration,
    /// `Th_len`, packets: the L queue does no marking of its own while at most this many packets remain
    /// behind.
    pub floor: u32,
    /// The share of the link that the scheduler gives to the classic queue while both queues hold packets.
    pub share: f64,
    /// The size of the largest packets, bytes.
    pub mtu: u32,
    /// The capacity of both queues together.
    pub limit: Limit,
}

impl DualPi2Config {
    /// The target delay of the classic queue on the public Internet (figure 2, line 8).
    pub const TARGET: Duration = Duration::from_millis(15);
    /// The longest expected round-trip time on the public Internet (line 9).
    pub const RTT_MAX: Duration = Duration::from_millis(100);

    /// The RFC's values (figure 2) for packets of up to `mtu` bytes.
    pub fn usual(mtu: u32, limit: Limit) -> DualPi2Config {
        let config = DualPi2Config {
            target: Duration::ZERO,
            period: Duration::ZERO,
            alpha: 0.0,
            beta: 0.0,
            coupling: COUPLING,
            threshold: THRESHOLD,
            range: RANGE,
            floor: FLOOR as u32,
            share: SHARE,
            mtu,
            limit,
        };
        config.on_paths(DualPi2Config::TARGET, DualPi2Config::RTT_MAX)
    }

    /// The same configuration with gains for this target delay and this longest round-trip time (figure 2,
    /// lines 12 to 14).
    #[must_use]
    pub fn on_paths(self, target: Duration, rtt_max: Duration) -> DualPi2Config {
        let period = target.min(Duration::from_nanos(rtt_max.as_nanos() / 3));
        let longest = rtt_max.as_secs_f64();
        DualPi2Config {
            target,
            period,
            alpha: 0.1 * period.as_secs_f64() / (longest * longest),
            beta: 0.3 / longest,
            ..self
        }
    }

    /// These settings; `usual` says what depends on the link.
    fn of(settings: &Settings, usual: DualPi2Config) -> DualPi2Config {
        let paths = usual.on_paths(settings.get("target"), settings.get("rtt_max"));
        DualPi2Config {
            period: settings.given("period").unwrap_or(paths.period),
            alpha: settings.given("alpha").unwrap_or(paths.alpha),
            beta: settings.given("beta").unwrap_or(paths.beta),
            coupling: settings.get("coupling"),
            threshold: settings.get("threshold"),
            range: settings.get("range"),
            floor: settings.get::<u64>("floor") as u32,
            share: settings.get("share"),
            ..paths
        }
    }
}

/// `p_Lmax`: from this coupled probability on, the L queue is overloaded.
const MAX_COUPLED: f64 = 1.0;

/// One of the two queues.
#[derive(Clone, Debug)]
struct Half {
    chain: Chain,
    /// The sum of the likelihoods of packets that were not chosen. It makes marks regular instead of random.
    count: f64,
}

impl Half {
    fn new() -> Half {
        Half { chain: Chain::new(), count: 0.0 }
    }

    /// Figure 4, `recur`: true if the next packet is marked or dropped.
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood.min(1.0);
        let due = self.count > 1.0;
        self.count -= f64::from(u8::from(due));
        due
    }

    /// The time that the first packet has waited, s.
    fn delay(&self, now: Time, pool: &Pool) -> f64 {
        self.chain.first(pool).map_or(0.0, |first| now.since(first.since).as_secs_f64())
    }
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    clock: Clock,
    low_latency: Half,
    classic: Half,
    /// p', the base probability.
    base: f64,
    /// The larger of the two queues' delays at the last update, s.
    delay: f64,
    /// Positive: the L queue goes first. Bytes, weighted by the shares.
    credit: f64,
}

impl DualPi2 {
    /// Two empty queues.
    pub fn new(config: DualPi2Config) -> DualPi2 {
        let (clock, credit) = (Clock::new(config.period), full_credit(&config));
        let (low_latency, classic) = (Half::new(), Half::new());
        DualPi2 { config, clock, low_latency, classic, base: 0.0, delay: 0.0, credit }
    }

    /// p_C: the probability with which a classic packet is dropped or marked (figure 8, line 5).
    pub fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// p_CL: the probability with which the classic queue's load marks an L packet (line 4). Above 1 in
    /// overload.
    pub fn coupled_probability(&self) -> f64 {
        self.base * self.config.coupling
    }

    pub(super) fn limit(&self) -> Limit {
        self.config.limit
    }

    /// Figure 3, `enqueue`.
    pub(super) fn enqueue(&mut self, place: u32, idle: bool, pool: &mut Pool, dropped: &mut Vec<u32>) {
        self.follow_clock(pool[place].since, pool);
        if !idle && !self.config.limit.admits(self.config.mtu, pool.packets(), pool.bytes()) {
            dropped.push(place);
            return;
        }
        let half = match pool[place].ecn {
            Ecn::Ect1 | Ecn::Ce => &mut self.low_latency,
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic,
        };
        half.chain.push(pool, place);
    }

    /// Figure 7, `dequeue`.
    pub(super) fn dequeue(&mut self, now: Time, pool: &mut Pool, dropped: &mut Vec<u32>) -> Option<Sent> {
        self.follow_clock(now, pool);
        while pool.packets() > 0 {
            let sent = if self.schedules_low_latency(pool) {
                self.next_low_latency(now, pool, dropped)
            } else {
                self.next_classic(pool, dropped)
            };
            if sent.is_some() {
                return sent;
            }
        }
        self.credit = full_credit(&self.config);
        None
    }

    /// Figure 7, lines 4 to 8: a packet from the L queue, unless it is dropped.
    fn next_low_latency(&mut self, now: Time, pool: &mut Pool, dropped: &mut Vec<u32>) -> Option<Sent> {
        let (coupled, classic) = (self.coupled_probability(), self.classic_probability());
        let half = &mut self.low_latency;
        let place = half.chain.pop(pool)?;
        if coupled >= MAX_COUPLED {
            if half.recurs(classic) {
                dropped.push(place);
                return None;
            }
            return Some(Sent { place, marked: half.recurs(coupled) });
        }
        let native = if half.chain.packets() > self.config.floor {
            self.config.native(now.since(pool[place].since))
        } else {
            0.0
        };
        Some(Sent { place, marked: half.recurs(native.max(coupled)) })
    }

    /// Figure 7, lines 10 to 17: a packet from the classic queue, unless it is dropped.
    fn next_classic(&mut self, pool: &mut Pool, dropped: &mut Vec<u32>) -> Option<Sent> {
        let probability = self.classic_probability();
        let place = self.classic.chain.pop(pool)?;
        let marked = self.classic.recurs(probability);
        if marked && (!pool[place].ecn.is_capable() || probability >= self.config.most_marked()) {
            dropped.push(place);
            return None;
        }
        Some(Sent { place, marked })
    }

    /// True if the next packet comes from the L queue. At least one packet waits.
    fn schedules_low_latency(&mut self, pool: &Pool) -> bool {
        let DualPi2 { config, low_latency, classic, credit, .. } = self;
        let (Some(low), Some(high)) = (low_latency.chain.first(pool), classic.chain.first(pool)) else {
            return low_latency.chain.packets() > 0;
        };
        let chosen = *credit > 0.0;
        *credit += if chosen {
            -config.share * f64::from(low.bytes)
        } else {
            (1.0 - config.share) * f64::from(high.bytes)
        };
        chosen
    }

    /// Runs all updates that were due up to `now`.
    fn follow_clock(&mut self, now: Time, pool: &Pool) {
        while self.clock.due() <= now {
            self.update(self.clock.due(), pool);
            self.clock.advance();
            if self.base == 0.0 && self.delay == 0.0 && pool.packets() == 0 {
                return self.clock.skip(now); // further updates change nothing
            }
        }
    }

    /// Figure 8: the update of the base probability.
    fn update(&mut self, now: Time, pool: &Pool) {
        let DualPi2Config { alpha, beta, target, .. } = self.config;
        let delay = self.classic.delay(now, pool).max(self.low_latency.delay(now, pool));
        let change = alpha * (delay - target.as_secs_f64()) + beta * (delay - self.delay);
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.delay = delay;
    }
}

impl DualPi2Config {
    /// `p_Cmax`: from this classic probability on, ECN-capable packets are dropped, not marked.
    fn most_marked(&self) -> f64 {
        (1.0 / (self.coupling * self.coupling)).min(1.0)
    }

    /// Figure 5, `laqm`: the L queue's own marking probability.
    fn native(&self, delay: Duration) -> f64 {
        if delay >= self.threshold + self.range {
            return 1.0;
        }
        let above = delay - self.threshold.min(delay);
        if above.is_zero() { 0.0 } else { above.as_secs_f64() / self.range.as_secs_f64() }
    }
}

/// The largest credit of the L queue, bytes weighted by the shares.
fn full_credit(config: &DualPi2Config) -> f64 {
    (1.0 - config.share) * f64::from(config.mtu)
}
