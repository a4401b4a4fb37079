//! Who governs the window while a loss is repaired. One file each.
//!
//! The sender decides *that* there is a loss and asks the controller for the new threshold; from then until
//! the episode ends a [`Recovery`] answers two questions: what an acknowledgement means, and what to send next.

mod hoe;
mod newreno;
mod reno;
mod robust;
mod sack;
mod tahoe;

use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::{Chosen, Entry, Listed};
use std::fmt;

/// A recovery's parameters, every one with a value from its domain.
pub type Settings = Chosen<Scheme>;

/// A recovery's entry in the registry.
pub struct Scheme {
    /// The description.
    pub entry: Entry,
    /// Does it repair from selective acknowledgements? Without, the receiver sends none.
    pub selective: bool,
    /// Do the first two duplicates each let out a new segment by its own rules, whatever RFC 3042 is set to?
    pub serves_first_duplicates: bool,
    /// A recovery from checked settings.
    pub build: fn(&Settings) -> Box<dyn Recovery>,
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

impl Listed for Scheme {
    const KIND: &'static str = "recovery";

    fn all() -> &'static [&'static Scheme] {
        schemes()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

pub use sack::SCHEME as SACK;

/// Every recovery, in the order in which they are listed.
pub fn schemes() -> &'static [&'static Scheme] {
    &[
        &tahoe::SCHEME,
        &reno::SCHEME,
        &newreno::SCHEME,
        &sack::SCHEME,
        &robust::SCHEME,
        &hoe::SCHEME,
        &hoe::RIGHT_EDGE,
        &hoe::LIN_KUNG,
    ]
}

/// The recovery called `name`.
pub fn scheme(name: &str) -> Option<&'static Scheme> {
    Scheme::find(name)
}

/// What a recovery can see of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// First unacknowledged segment.
    pub una: u64,
    /// Next new segment.
    pub nxt: u64,
    /// `nxt` when the episode began: the episode is over when everything below is acknowledged.
    pub recover: u64,
    /// Duplicates in a row when the episode began; each is a segment that has left the network.
    pub duplicates: u32,
    /// May a new segment be sent, as far as data and the receiver's window are concerned?
    pub new_data: bool,
}

impl Episode {
    /// The window at the end of an episode that causes no burst: RFC 6582 section 3.2 step 3, option 1.
    pub(crate) fn exit_window(&self, ssthresh: f64) -> f64 {
        let flight = (self.nxt - self.una) as f64;
        ssthresh.min(flight.max(1.0) + 1.0)
    }
}

/// How an episode begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// Holes are repaired while the window is held near the threshold.
    Repair,
    /// The window starts over from one segment, as after a timeout.
    StartOver,
}

/// One acknowledgement during an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heard {
    /// Segments newly acknowledged cumulatively; 0 for a duplicate.
    pub acked: u64,
    /// Of all segments, those that newly left the network: acknowledged or SACKed for the first time.
    pub delivered: u64,
    /// Segments newly counted lost.
    pub lost: u64,
}

/// Does the episode go on?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// It does.
    Continues,
    /// It does, and the retransmission timer is left as it is.
    ContinuesOnTimer,
    /// It does, until everything sent so far is acknowledged.
    Extends,
    /// It is over; the recovery has set cwnd.
    Ends,
    /// It is over with the first new acknowledgement: duplicates from here on tell of another loss.
    EndsAtOnce,
}

/// What to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// This segment again.
    Again(u64),
    /// The next new segment.
    New,
}

/// A loss recovery.
pub trait Recovery: Send {
    /// An acknowledgement told of a loss and the threshold is set. Sets cwnd, unless it starts over.
    fn begin(&mut self, episode: &Episode, heard: Heard, board: &mut Scoreboard, w: &mut Window) -> Begin;

    /// An acknowledgement arrived; `episode` is already up to date.
    fn on_ack(&mut self, episode: &Episode, heard: Heard, board: &mut Scoreboard, w: &mut Window)
    -> Progress;

    /// The controller sets the window in every state ([`ackclock_cc::Needs::window`]): told once, before anything else.
    fn leave_window(&mut self) {}

    /// What to send now, if anything. The sender sends it at once.
    fn next(&mut self, episode: &Episode, board: &mut Scoreboard, w: &Window) -> Option<Pick>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recovery_builds_from_its_defaults() {
        assert_eq!(ackclock_registry::mistakes::<Scheme>(), Vec::<String>::new());
        for scheme in schemes() {
            (scheme.build)(&Settings::defaults(scheme));
        }
    }
}
