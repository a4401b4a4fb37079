//! CoDel: drops or marks packets while the least waiting time stays above a target.
//!
//! Source: RFC 8289, section 5 (the pseudo-code). The RFC leaves two things open. The limit of the queue is
//! the user's choice. Marking is done as in Linux: a marked packet leaves the queue, and counts as a drop.

use super::discipline::{Discipline, always};
use super::droptail::LIMIT;
use super::pool::{Chain, Pool};
use super::sampled::MARK;
use super::stepped::Scheme;
use super::{Limit, Queue, Sent};
use ackclock_registry::{Entry, Parameter, Settings};
use ackclock_units::{Duration, Time};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "codel",
        title: "CoDel",
        source: "RFC 8289",
        summary: "drops or marks while the time that packets wait stays above a target; decides when the transmitter is free",
        equations: &[
            "a drop state begins once the delay of each packet that leaves has been above target for interval",
            "n-th drop of a state to the next: interval / sqrt(n)",
        ],
        notes: &[
            "The RFC leaves the limit open (section 5.4 speaks of a full buffer); it must be given.",
            "Marking is done as in Linux: a packet that is marked leaves, and counts as a drop does.",
        ],
        parameters: &[LIMIT, TARGET_PARAMETER, INTERVAL_PARAMETER, MARK],
    },
    example: "{ codel = { limit = \"1000 packets\" } }",
    dequeue_driven: true,
    check: always,
    build: |settings, scale, _| {
        let config = CoDelConfig::of(settings, scale.segment);
        let limit = scale.limit(settings.get("limit"));
        Queue::from(Scheme::CoDel(CoDel::new(config, limit)))
    },
};

/// RFC 8289 section 4.3; FQ-CoDel has it, too.
pub(super) const TARGET_PARAMETER: Parameter =
    Parameter::time("target", TARGET, MIN_TIME, "TARGET: the acceptable standing delay");
/// RFC 8289 section 4.2; FQ-CoDel has it, too.
pub(super) const INTERVAL_PARAMETER: Parameter = Parameter::time(
    "interval",
    INTERVAL,
    MIN_TIME,
    "INTERVAL: how long the delay must have been above the target, and the first spacing of drops",
);

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
const MIN_TIME: Duration = Duration::from_micros(1);

/// CoDel's parameters.
#[derive(Clone, Debug)]
pub struct CoDelConfig {
    /// TARGET: the acceptable standing queue delay.
    pub target: Duration,
    /// INTERVAL: how long the delay must stay above the target, and the first spacing of drops.
    pub interval: Duration,
    /// `maxpacket`, bytes: nothing is dropped while at most this much waits.
    pub mtu: u32,
    /// True: ECN-capable packets are marked instead of dropped.
    pub mark: bool,
}

impl CoDelConfig {
    /// The RFC's values (section 5.3) for packets of up to `mtu` bytes, without marking.
    pub fn usual(mtu: u32) -> CoDelConfig {
        CoDelConfig { target: TARGET, interval: INTERVAL, mtu, mark: false }
    }

    /// These settings, for packets of up to `mtu` bytes.
    pub(super) fn of(settings: &Settings, mtu: u32) -> CoDelConfig {
        CoDelConfig {
            target: settings.get("target"),
            interval: settings.get("interval"),
            mtu,
            mark: settings.get("mark"),
        }
    }
}

/// Section 5.5: if a drop state begins within this many intervals of the last one, it continues at that one's
/// rate.
const RECENT: u64 = 16;

/// The state of one queue: the variables of section 5.2.
#[derive(Clone, Debug, Default)]
pub(super) struct Law {
    /// The instant at which the delay will have been above the target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
    /// The number of drops in this drop state.
    count: u32,
    /// The value of `count` when this drop state began.
    last_count: u32,
    dropping: bool,
}

/// A queue, the pool of all packets that wait at its link, and the list of dropped packets.
pub(super) struct Source<'a> {
    pub(super) config: &'a CoDelConfig,
    pub(super) chain: &'a mut Chain,
    pub(super) pool: &'a mut Pool,
    pub(super) dropped: &'a mut Vec<u32>,
}

impl Source<'_> {
    fn marks(&self, place: u32) -> bool {
        self.config.mark && self.pool[place].ecn.is_capable()
    }
}

impl Law {
    /// Section 5.5, `dequeue`: the packet that leaves at `now`, if there is one, marked or not.
    pub(super) fn dequeue(&mut self, now: Time, mut source: Source<'_>) -> Option<Sent> {
        let (mut packet, mut may_drop) = self.next(now, &mut source);
        let mut marked = false;
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                let Some(place) = packet else { break };
                self.count += 1;
                if source.marks(place) {
                    marked = true;
                    self.drop_next = self.law(self.drop_next, source.config);
                    break;
                }
                source.dropped.push(place);
                (packet, may_drop) = self.next(now, &mut source);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = self.law(self.drop_next, source.config);
                }
            }
        } else if let Some(place) = packet.filter(|_| may_drop) {
            marked = source.marks(place);
            if !marked {
                source.dropped.push(place);
                packet = self.next(now, &mut source).0;
            }
            self.enter(now, source.config);
        }
        packet.map(|place| Sent { place, marked })
    }

    /// Enters the drop state. Continues at the rate of the last drop state if that was recent.
    fn enter(&mut self, now: Time, config: &CoDelConfig) {
        self.dropping = true;
        let drops = self.count - self.last_count;
        let recent = now.since(self.drop_next) < config.interval.saturating_mul(RECENT);
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.law(now, config);
    }

    /// Section 5.6: `control_law`.
    fn law(&self, from: Time, config: &CoDelConfig) -> Time {
        let spacing = config.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count));
        from + Duration::from_nanos(spacing as u64)
    }

    /// Section 5.6, `dodequeue`: the next packet, and whether the delay has been above the target for an
    /// interval.
    fn next(&mut self, now: Time, source: &mut Source<'_>) -> (Option<u32>, bool) {
        let Some(place) = source.chain.pop(source.pool) else {
            self.first_above = None;
            return (None, false);
        };
        let waited = now.since(source.pool[place].since);
        // Section 4.4: the bytes of all queues that share the link.
        if waited < source.config.target || source.pool.bytes() <= u64::from(source.config.mtu) {
            self.first_above = None;
            return (Some(place), false);
        }
        let first_above = *self.first_above.get_or_insert(now + source.config.interval);
        (Some(place), now >= first_above)
    }
}

/// The queue discipline: CoDel on one queue.
#[derive(Clone, Debug)]
pub struct CoDel {
    config: CoDelConfig,
    limit: Limit,
    law: Law,
    chain: Chain,
}

impl CoDel {
    /// An empty queue that holds at most `limit`.
    pub fn new(config: CoDelConfig, limit: Limit) -> CoDel {
        CoDel { config, limit, law: Law::default(), chain: Chain::new() }
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    pub(super) fn enqueue(&mut self, place: u32, idle: bool, pool: &mut Pool, dropped: &mut Vec<u32>) {
        if idle || self.limit.admits(pool[place].bytes, pool.packets(), pool.bytes()) {
            self.chain.push(pool, place);
        } else {
            dropped.push(place);
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, pool: &mut Pool, dropped: &mut Vec<u32>) -> Option<Sent> {
        let CoDel { config, chain, .. } = self;
        self.law.dequeue(now, Source { config, chain, pool, dropped })
    }
}
