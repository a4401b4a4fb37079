//! Where packets of a part come from, and where they go.

use crate::paced::Told;
use ackclock_net::{Link, Stage};
use ackclock_scenario::flow_trace::Owner;
use ackclock_scenario::plan::CbrPlan;
use ackclock_units::{Duration, Time};
use std::net::IpAddr;
use std::sync::Arc;

/// A path from a host, or from a source of unresponsive traffic, to its destination.
pub(crate) struct Route {
    pub(crate) stages: Vec<Stage>,
    /// The receiving host. `None`: the packets are discarded.
    pub(crate) to: Option<usize>,
    /// Who is told why packets are lost.
    pub(crate) told: Option<Arc<Told>>,
    /// Whose packets take it, unless it is a way back.
    pub(crate) owner: Option<Owner>,
}

impl Route {
    /// What it takes at least from the beginning of this stage to the end: links may add to their delays.
    pub(super) fn takes(&self, stage: usize, links: &[Link]) -> Duration {
        let passed = self.stages[stage..].iter().flat_map(|stage| stage.gate.iter().chain(&stage.along));
        passed.fold(Duration::ZERO, |sum, &link| sum + links[link as usize].delay())
    }
}

/// A host from which packets are read.
pub(crate) struct Source {
    pub(crate) host: usize,
    /// The payload of all that it sends is zeros, so nobody needs to read it.
    pub(crate) zeros: bool,
    /// The paths to the destinations that it can reach.
    pub(crate) ways: Vec<(IpAddr, usize)>,
}

/// Unresponsive traffic.
pub(crate) struct Stream {
    pub(crate) plan: CbrPlan,
    /// When its next packet is sent.
    pub(crate) next: Time,
    pub(crate) way: usize,
    pub(crate) number: usize,
}

impl Stream {
    /// A source that sends to the end of path `way`.
    pub(crate) fn new(plan: CbrPlan, way: usize, number: usize) -> Stream {
        let start = plan.start;
        let mut stream = Stream { plan, next: Time::NEVER, way, number };
        stream.goes_on(start);
        stream
    }

    /// The next packet is due at `at`; there is none if the source has stopped by then.
    pub(super) fn goes_on(&mut self, at: Time) {
        self.next = if self.plan.stop.is_some_and(|stop| at >= stop) { Time::NEVER } else { at };
    }
}
