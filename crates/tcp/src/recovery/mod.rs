//! Recoveries: who controls the window while a loss is repaired. One file each.
//!
//! The sender detects the loss, and asks the controller for the new threshold. From then until the end of the
//! episode, a [`Recovery`] answers two questions: what an acknowledgement means, and what to send next.

mod hoe;
mod newreno;
mod reno;
mod robust;
mod sack;
mod sack1;
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
    /// True if it repairs from selective acknowledgements. Otherwise the receiver sends none.
    pub selective: bool,
    /// True if each of the first two duplicates sends a new segment by its own rules, whatever the setting of
    /// RFC 3042 is.
    pub serves_first_duplicates: bool,
    /// Builds a recovery from checked settings.
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

/// All recoveries, in the order of the documentation.
pub fn schemes() -> &'static [&'static Scheme] {
    &[
        &tahoe::SCHEME,
        &reno::SCHEME,
        &newreno::SCHEME,
        &sack::SCHEME,
        &sack1::SCHEME,
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

/// The state of the connection for a recovery.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// First unacknowledged segment.
    pub una: u64,
    /// Next new segment.
    pub nxt: u64,
    /// `nxt` at the start of the episode. The episode is over when everything below is acknowledged.
    pub recover: u64,
    /// The number of consecutive duplicates at the start of the episode. Each is a segment that has left the
    /// network.
    pub duplicates: u32,
    /// True if data and the receiver's window allow a new segment.
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
    /// Holes are repaired while the window stays near the threshold.
    Repair,
    /// The window starts over from one segment, as after a timeout.
    StartOver,
}

/// One acknowledgement during an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSummary {
    /// Segments newly acknowledged cumulatively; 0 for a duplicate.
    pub acked: u64,
    /// Segments that newly left the network: acknowledged or SACKed for the first time.
    pub delivered: u64,
    /// Segments newly marked lost.
    pub lost: u64,
}

/// Whether the episode continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// It continues.
    Continues,
    /// It continues, and the retransmission timer is not restarted.
    ContinuesOnTimer,
    /// It continues, until everything sent so far is acknowledged.
    Extends,
    /// It is over; the recovery has set cwnd.
    Ends,
    /// It is over with the first new acknowledgement. Later duplicates indicate another loss.
    EndsAtOnce,
}

/// What to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// Retransmit this segment.
    Retransmit(u64),
    /// Send the next new segment.
    New,
}

/// A loss recovery.
pub trait Recovery: Send {
    /// A loss was detected and the threshold is set. Sets cwnd, unless it starts over.
    fn begin(
        &mut self,
        episode: &Episode,
        summary: AckSummary,
        board: &mut Scoreboard,
        w: &mut Window,
    ) -> Begin;

    /// Processes an acknowledgement. `episode` is already up to date.
    fn on_ack(
        &mut self,
        episode: &Episode,
        summary: AckSummary,
        board: &mut Scoreboard,
        w: &mut Window,
    ) -> Progress;

    /// The controller sets the window in every state ([`ackclock_cc::Needs::window`]). Called once, before
    /// all other methods.
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
