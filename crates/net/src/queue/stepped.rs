//! Disciplines that keep their packets, and decide what becomes of them when the transmitter is free.

use super::codel::CoDel;
use super::dualpi2::DualPi2;
use super::fq_codel::FqCoDel;
use super::pool::{Pool, Waiting};
use super::{Limit, Sent};
use crate::link::Steps;
use ackclock_units::Time;

/// Such a discipline.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// Drops while the delay stays above a target.
    CoDel(CoDel),
    /// The same in a queue for each flow.
    FqCoDel(FqCoDel),
    /// A shallow queue for scalable flows beside one for classic flows.
    DualPi2(DualPi2),
}

/// The discipline with the packets that wait in it.
#[derive(Clone, Debug)]
pub struct Stepped {
    scheme: Scheme,
    pool: Pool,
    /// Places of what `enqueue` or `dequeue` has dropped last.
    pub(crate) dropped: Vec<u32>,
    /// What the link keeps of it.
    pub(crate) steps: Steps,
}

impl From<Scheme> for Stepped {
    fn from(scheme: Scheme) -> Stepped {
        Stepped { scheme, pool: Pool::new(), dropped: Vec::new(), steps: Steps::default() }
    }
}

impl Stepped {
    /// The discipline itself.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    pub(crate) fn limit(&self) -> Limit {
        match &self.scheme {
            Scheme::CoDel(scheme) => scheme.limit(),
            Scheme::FqCoDel(scheme) => scheme.limit(),
            Scheme::DualPi2(scheme) => scheme.limit(),
        }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn release(&mut self, place: u32) {
        self.pool.release(place);
    }

    /// Takes a packet in, or drops it or others; `idle` if the transmitter will take it at once. Returns its place.
    pub(crate) fn enqueue(&mut self, packet: Waiting, idle: bool) -> u32 {
        let Stepped { scheme, pool, dropped, .. } = self;
        dropped.clear();
        let place = pool.place(packet);
        match scheme {
            Scheme::CoDel(scheme) => scheme.enqueue(place, idle, pool, dropped),
            Scheme::FqCoDel(scheme) => scheme.enqueue(place, idle, pool, dropped),
            Scheme::DualPi2(scheme) => scheme.enqueue(place, idle, pool, dropped),
        }
        place
    }

    /// The packet that leaves at `now`, if there is one; others may be dropped before it.
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<Sent> {
        let Stepped { scheme, pool, dropped, .. } = self;
        dropped.clear();
        match scheme {
            Scheme::CoDel(scheme) => scheme.dequeue(now, pool, dropped),
            Scheme::FqCoDel(scheme) => scheme.dequeue(now, pool, dropped),
            Scheme::DualPi2(scheme) => scheme.dequeue(now, pool, dropped),
        }
    }
}
