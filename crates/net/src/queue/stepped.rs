//! Dequeue-driven disciplines: they keep their packets, and decide about them when the transmitter is free.

use super::ack_filter::AckFilter;
use super::codel::CoDel;
use super::dualpi2::DualPi2;
use super::fq_codel::FqCoDel;
use super::pool::{Pool, Waiting};
use super::{Limit, Sent};
use crate::Cause;
use crate::link::Steps;
use ackclock_units::Time;

/// A dequeue-driven discipline.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// CoDel: drops while the delay stays above a target.
    CoDel(CoDel),
    /// FQ-CoDel: CoDel in a queue for each flow.
    FqCoDel(FqCoDel),
    /// DualPI2: a shallow queue for scalable flows beside one for classic flows.
    DualPi2(DualPi2),
    /// First in, first out; of the ACKs of a flow only the newest waits.
    AckFilter(AckFilter),
}

/// A dequeue-driven discipline with its waiting packets.
#[derive(Clone, Debug)]
pub struct Stepped {
    scheme: Scheme,
    pool: Pool,
    /// The places of the packets that the last `enqueue` or `dequeue` dropped.
    pub(crate) dropped: Vec<u32>,
    /// The link's own state for this queue.
    pub(crate) steps: Steps,
}

impl From<Scheme> for Stepped {
    fn from(scheme: Scheme) -> Stepped {
        Stepped { scheme, pool: Pool::new(), dropped: Vec::new(), steps: Steps::default() }
    }
}

impl Stepped {
    /// The discipline.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    pub(crate) fn limit(&self) -> Limit {
        match &self.scheme {
            Scheme::CoDel(scheme) => scheme.limit(),
            Scheme::FqCoDel(scheme) => scheme.limit(),
            Scheme::DualPi2(scheme) => scheme.limit(),
            Scheme::AckFilter(scheme) => scheme.limit(),
        }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn release(&mut self, place: u32) {
        self.pool.release(place);
    }

    /// Queues a packet, or drops it or others. `idle`: true if the transmitter will take the packet at once.
    /// Returns the packet's place, and why those were dropped that were.
    pub(crate) fn enqueue(&mut self, packet: Waiting, idle: bool) -> (u32, Cause) {
        let Stepped { scheme, pool, dropped, .. } = self;
        dropped.clear();
        let place = pool.place(packet);
        match scheme {
            Scheme::CoDel(scheme) => scheme.enqueue(place, idle, pool, dropped),
            Scheme::FqCoDel(scheme) => scheme.enqueue(place, idle, pool, dropped),
            Scheme::DualPi2(scheme) => scheme.enqueue(place, idle, pool, dropped),
            Scheme::AckFilter(scheme) => return (place, scheme.enqueue(place, idle, pool, dropped)),
        }
        (place, Cause::Overflow)
    }

    /// The packet that leaves at `now`, if there is one. Others may be dropped before it.
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<Sent> {
        let Stepped { scheme, pool, dropped, .. } = self;
        dropped.clear();
        match scheme {
            Scheme::CoDel(scheme) => scheme.dequeue(now, pool, dropped),
            Scheme::FqCoDel(scheme) => scheme.dequeue(now, pool, dropped),
            Scheme::DualPi2(scheme) => scheme.dequeue(now, pool, dropped),
            Scheme::AckFilter(scheme) => scheme.dequeue(pool),
        }
    }
}
