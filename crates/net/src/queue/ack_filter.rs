//! ACK filter: first in, first out, but of the ACKs of a flow only the newest waits.
//!
//! Source: RFC 3449, section 5.2.1 (ACK filtering); links with little room upstream do it, such as cable
//! modems (ACK suppression), satellite terminals and Wi-Fi. Two things are decided here. The newest ACK takes
//! the place of the oldest one that it supersedes, so that a flow whose ACKs keep coming has its turn. An ACK
//! is superseded only by one that acknowledges more and has the same ECN flags, so that duplicates and what
//! they start stay.

use super::discipline::{Discipline, always};
use super::droptail::LIMIT;
use super::pool::{Chain, Pool};
use super::stepped::Scheme;
use super::{Limit, Queue, Sent};
use crate::Cause;
use ackclock_registry::Entry;

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "ack_filter",
        title: "ACK filter",
        source: "RFC 3449, section 5.2.1",
        summary: "first in, first out; of the ACKs of a flow that wait, only the newest is kept",
        equations: &[],
        notes: &[
            "For the way back of an asymmetric path. Packets with data are treated as by DropTail.",
            "The newest ACK takes the place of the oldest one that it supersedes.",
            "Duplicates stay, and so do ACKs whose ECN flags differ from those of the newer one.",
            "ACKs that are dropped in this way count as filtered, not as overflows.",
        ],
        parameters: &[LIMIT],
    },
    example: "{ ack_filter = { limit = \"100 packets\" } }",
    dequeue_driven: true,
    check: always,
    build: |settings, scale, _| {
        Queue::from(Scheme::AckFilter(AckFilter::new(scale.limit(settings.get("limit")))))
    },
};

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct AckFilter {
    limit: Limit,
    chain: Chain,
}

impl AckFilter {
    /// An empty queue that holds at most `limit`.
    pub fn new(limit: Limit) -> AckFilter {
        AckFilter { limit, chain: Chain::new() }
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    /// Queues the packet at `place`, or drops it or others. Returns why.
    pub(super) fn enqueue(
        &mut self,
        place: u32,
        idle: bool,
        pool: &mut Pool,
        dropped: &mut Vec<u32>,
    ) -> Cause {
        let newcomer = pool[place];
        if let Some(newest) = newcomer.ack
            && self.chain.supersede(
                pool,
                place,
                |older| {
                    older.flow == newcomer.flow && older.ack.is_some_and(|older| newest.supersedes(&older))
                },
                dropped,
            )
        {
            return Cause::Filtered;
        }
        if idle || self.limit.admits(newcomer.bytes, pool.packets(), pool.bytes()) {
            self.chain.push(pool, place);
        } else {
            dropped.push(place);
        }
        Cause::Overflow
    }

    pub(super) fn dequeue(&mut self, pool: &mut Pool) -> Option<Sent> {
        self.chain.pop(pool).map(|place| Sent { place, marked: false })
    }
}
