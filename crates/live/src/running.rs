//! A flow while it runs, whatever carries it: a connection of the kernel, or sessions over UDP.

use crate::flow::{Flow, Snapshot};
use crate::own::Own;
use crate::paced::Paced;
use ackclock_lateness::Lateness;
use ackclock_scenario::measured::{RateTally, Transfer};
use ackclock_scenario::writing::BurstTally;

/// A flow.
pub(crate) enum Running<'a> {
    /// Real TCP.
    Tcp(Flow<'a>),
    /// Our own TCP, towards the kernel's.
    Own(Box<Own<'a>>),
    /// A rate-based transport.
    Paced(Paced<'a>),
}

impl Running<'_> {
    /// Payload of a real segment, bytes.
    pub(crate) fn payload(&self) -> u32 {
        match self {
            Running::Tcp(flow) => flow.payload,
            Running::Own(flow) => flow.kernel.payload,
            Running::Paced(flow) => flow.payload,
        }
    }

    /// Its present progress.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            Running::Tcp(flow) => flow.snapshot(),
            Running::Own(flow) => flow.snapshot(),
            Running::Paced(flow) => flow.snapshot(),
        }
    }

    /// All transfers with a size so far.
    pub(crate) fn transfers(&self) -> Vec<Transfer> {
        match self {
            Running::Tcp(flow) => flow.transfers(),
            Running::Own(flow) => flow.kernel.transfers(),
            Running::Paced(flow) => flow.transfers(),
        }
    }

    /// The number of transfers so far that were due before the previous one had ended.
    pub(crate) fn waited(&self) -> u64 {
        match self {
            Running::Tcp(flow) => flow.waited(),
            Running::Own(flow) => flow.kernel.waited(),
            Running::Paced(flow) => flow.waited(),
        }
    }

    /// The outcome of its bursts, if it writes any.
    pub(crate) fn bursts(&self) -> Option<BurstTally> {
        match self {
            Running::Tcp(flow) => flow.bursts(),
            Running::Own(_) | Running::Paced(_) => None, // scenarios with both are refused
        }
    }

    /// What only rate-based flows do.
    pub(crate) fn rate(&self) -> Option<RateTally> {
        match self {
            Running::Tcp(_) | Running::Own(_) => None,
            Running::Paced(flow) => Some(flow.tally()),
        }
    }

    /// How late our own TCP was for paced segments, if it sends any.
    pub(crate) fn lateness(&self) -> Option<Lateness> {
        match self {
            Running::Own(flow) => flow.lateness(),
            Running::Tcp(_) | Running::Paced(_) => None,
        }
    }

    /// Why its sender gave up before the end of the run, if it did.
    pub(crate) fn gave_up(&self) -> Option<String> {
        match self {
            Running::Tcp(_) | Running::Own(_) => None,
            Running::Paced(flow) => flow.gave_up(),
        }
    }

    /// Shows its own variables (name, value). The names and their order never change.
    pub(crate) fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Running::Tcp(_) => {}
            Running::Own(flow) => flow.inspect(see),
            Running::Paced(flow) => flow.inspect(see),
        }
    }
}
