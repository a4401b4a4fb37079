//! FQ-CoDel: a queue for each hash of a flow, deficit round robin between the queues, and CoDel in each
//! queue.
//!
//! Source: RFC 8290. Where the RFC leaves a choice:
//!
//! - A queue's turn ends when its credits reach zero, as in Linux and section 3. Section 4.2 says "negative".
//! - An overflow drops at least one packet. Section 4.1 says half of a queue's packets, which is none if only
//!   one waits.
//! - The host gives each flow a key. The key is salted by addition, as the RFC says, and hashed by
//!   SplitMix64's finaliser instead of a Jenkins hash.

use super::codel::{self, CoDelConfig, Law, Source};
use super::discipline::{Discipline, always};
use super::pool::{Chain, Pool};
use super::stepped::Scheme;
use super::{Limit, Queue, Sent};
use crate::Rng;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Bytes, Room, Time};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "fq_codel",
        title: "FQ-CoDel",
        source: "RFC 8290",
        summary: "a queue for each flow in fair turns, new ones first, and CoDel in each; marks or drops; decides when the transmitter is free",
        equations: &["a queue's turn ends when it has sent quantum bytes; CoDel's laws hold in each queue"],
        notes: &[
            "Every connection is a flow, its acknowledgements are another, and each [[traffic]] is one, too; in an emulation addresses, protocol and ports tell them apart.",
            "A turn ends when the credits are used up, as in Linux and section 3; section 4.2 says \"negative\".",
            "An overflow drops at least one packet; section 4.1 says half of a queue's packets, which are none of one.",
        ],
        parameters: &[
            Parameter::room("limit", Room::Packets(LIMIT), "what all queues together may hold (section 5.2)"),
            codel::TARGET_PARAMETER,
            codel::INTERVAL_PARAMETER,
            Parameter::count(
                "queues",
                QUEUES,
                "",
                1..=MAX_QUEUES,
                "how many queues there are; flows are hashed to them (section 5.2)",
            ),
            Parameter::size(
                "quantum",
                Bytes(QUANTUM),
                1..=MAX_QUANTUM,
                "what a queue may send in its turn (section 5.2)",
            ),
            Parameter::flag("mark", true, "ECN-capable packets are marked where others are dropped early"),
        ],
    },
    example: "\"fq_codel\"",
    dequeue_driven: true,
    check: always,
    build: |settings, scale, stream| {
        let config = FqCoDelConfig {
            codel: CoDelConfig::of(settings, scale.segment),
            queues: settings.get::<u64>("queues") as u32,
            quantum: settings.get::<Bytes>("quantum").0 as u32,
            limit: scale.limit(settings.get("limit")),
        };
        Queue::from(Scheme::FqCoDel(FqCoDel::new(config, stream())))
    },
};

/// Packets.
const LIMIT: f64 = 10_240.0;
const QUEUES: u64 = 1024;
/// Section 1.3: as many queues as Linux can have.
const MAX_QUEUES: u64 = 65_535;
/// Bytes.
const QUANTUM: u64 = 1514;
/// Bytes.
const MAX_QUANTUM: u64 = 1 << 30;

/// FQ-CoDel's parameters.
#[derive(Clone, Debug)]
pub struct FqCoDelConfig {
    /// The parameters of CoDel in each queue.
    pub codel: CoDelConfig,
    /// The number of queues, at least 1.
    pub queues: u32,
    /// The number of bytes that a queue may send in its turn, at least 1.
    pub quantum: u32,
    /// The capacity of all queues together.
    pub limit: Limit,
}

impl FqCoDelConfig {
    /// The RFC's values (section 5.2) for packets of up to `mtu` bytes.
    pub fn usual(mtu: u32) -> FqCoDelConfig {
        FqCoDelConfig {
            codel: CoDelConfig { mark: true, ..CoDelConfig::usual(mtu) },
            queues: QUEUES as u32,
            quantum: QUANTUM as u32,
            limit: Limit::Packets(LIMIT as u32),
        }
    }
}

/// Section 4.1: the largest number of packets that one overflow drops.
const BATCH: u32 = 64;

/// The end of a list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct FlowQueue {
    chain: Chain,
    law: Law,
    credits: i64,
    /// True if the queue is in one of the lists.
    active: bool,
    /// The next queue in that list.
    behind: u32,
}

/// A list of queues that take turns.
#[derive(Clone, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE };

    fn push(&mut self, queues: &mut [FlowQueue], queue: u32) {
        queues[queue as usize].behind = NONE;
        if self.head == NONE {
            self.head = queue;
        } else {
            queues[self.tail as usize].behind = queue;
        }
        self.tail = queue;
    }

    fn pop(&mut self, queues: &[FlowQueue]) {
        self.head = queues[self.head as usize].behind;
    }
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    config: FqCoDelConfig,
    salt: u64,
    queues: Vec<FlowQueue>,
    new: List,
    old: List,
}

impl FqCoDel {
    /// Empty queues. The salt of the hash is drawn from `stream`.
    pub fn new(config: FqCoDelConfig, mut stream: Rng) -> FqCoDel {
        let queue =
            FlowQueue { chain: Chain::new(), law: Law::default(), credits: 0, active: false, behind: NONE };
        let queues = vec![queue; config.queues.max(1) as usize];
        FqCoDel { config, salt: stream.word(), queues, new: List::EMPTY, old: List::EMPTY }
    }

    pub(super) fn limit(&self) -> Limit {
        self.config.limit
    }

    /// The number of the queue in which the packets of `flow` wait.
    pub fn queue_of(&self, flow: u64) -> u32 {
        (spread(flow.wrapping_add(self.salt)) % self.queues.len() as u64) as u32
    }

    /// Section 4.1: enqueueing.
    pub(super) fn enqueue(&mut self, place: u32, idle: bool, pool: &mut Pool, dropped: &mut Vec<u32>) {
        let number = self.queue_of(pool[place].flow);
        let queue = &mut self.queues[number as usize];
        queue.chain.push(pool, place);
        if !queue.active {
            queue.active = true;
            queue.credits = i64::from(self.config.quantum);
            self.new.push(&mut self.queues, number);
        }
        while !idle && self.overflows(pool) {
            self.drop_from_the_fattest(pool, dropped);
        }
    }

    fn overflows(&self, pool: &Pool) -> bool {
        match self.config.limit {
            Limit::Packets(limit) => pool.packets() > limit,
            Limit::Bytes(limit) => pool.bytes() > limit,
        }
    }

    fn drop_from_the_fattest(&mut self, pool: &mut Pool, dropped: &mut Vec<u32>) {
        let fattest = self.queues.iter_mut().max_by_key(|queue| queue.chain.bytes());
        let Some(FlowQueue { chain, .. }) = fattest else { return };
        let batch = (chain.packets() / 2).clamp(1, BATCH);
        dropped.extend((0..batch).map_while(|_| chain.pop(pool)));
    }

    /// Section 4.2: dequeueing.
    pub(super) fn dequeue(&mut self, now: Time, pool: &mut Pool, dropped: &mut Vec<u32>) -> Option<Sent> {
        loop {
            let is_new = self.new.head != NONE;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = list.head;
            if number == NONE {
                return None;
            }
            let queue = &mut self.queues[number as usize];
            if queue.credits <= 0 {
                queue.credits += i64::from(self.config.quantum);
                list.pop(&self.queues);
                self.old.push(&mut self.queues, number);
                continue;
            }
            let source = Source { config: &self.config.codel, chain: &mut queue.chain, pool, dropped };
            if let Some(sent) = queue.law.dequeue(now, source) {
                queue.credits -= i64::from(pool[sent.place].bytes);
                return Some(sent);
            }
            // The queue is empty. A new queue moves to the old ones for one round, so that it cannot starve
            // them.
            queue.active = is_new;
            list.pop(&self.queues);
            if is_new {
                self.old.push(&mut self.queues, number);
            }
        }
    }
}

/// SplitMix64's finaliser: each bit of the input flips each bit of the output with probability one half.
fn spread(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
