//! When a hole is a loss. One file each.
//!
//! Three duplicates are the sender's own business and cost it nothing more. `Rack` judges by time. A `Patience` is asked
//! as soon as there is a hole that no episode repairs: it says how long to wait, and what may be sent meanwhile. Who
//! repairs a hole that stays is none of its concern, so that each one goes with every recovery.

mod delayed;
mod dupacks;
mod ncr;
mod rack;

pub(crate) use rack::{Probe, Rack, Sight};

use ackclock_cc::Window;
use ackclock_registry::{Chosen, Entry, Listed};
use ackclock_units::{Duration, Time};
use std::fmt;

/// A detection's parameters, every one with a value from its domain.
pub type Settings = Chosen<Scheme>;

/// A detection's entry in the registry.
pub struct Scheme {
    /// The description.
    pub entry: Entry,
    /// Does it need selective acknowledgements? Then it goes with a recovery that has them.
    pub selective: bool,
    /// Does it read the receiver's reports of what has arrived twice (RFC 2883)? They take selective acknowledgements.
    pub reads_duplicate_reports: bool,
    /// A detection from checked settings.
    pub build: fn(&Settings) -> Detector,
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

impl Listed for Scheme {
    const KIND: &'static str = "detection";

    fn all() -> &'static [&'static Scheme] {
        schemes()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

pub use dupacks::SCHEME as DUPACKS;

/// Every detection, in the order in which they are listed.
pub fn schemes() -> &'static [&'static Scheme] {
    &[&dupacks::SCHEME, &delayed::SCHEME, &ncr::SCHEME, &rack::SCHEME]
}

/// The detection called `name`.
pub fn scheme(name: &str) -> Option<&'static Scheme> {
    Scheme::find(name)
}

/// What a sender looks for losses with.
pub struct Detector {
    /// So many duplicates, or segments SACKed above the hole, tell of a loss; at least one.
    pub(crate) threshold: u32,
    /// Leaves holes open for a while.
    pub(crate) patience: Option<Box<dyn Patience>>,
    /// Judges by time; duplicates tell nothing then.
    pub(crate) rack: Option<Box<Rack>>,
}

impl Detector {
    fn duplicates(threshold: u32) -> Detector {
        Detector { threshold: threshold.max(1), patience: None, rack: None }
    }

    fn patience(patience: impl Patience + 'static) -> Detector {
        Detector { patience: Some(Box::new(patience)), ..Detector::duplicates(DUP_THRESH) }
    }

    fn rack(rack: Rack) -> Detector {
        Detector { rack: Some(Box::new(rack)), ..Detector::duplicates(u32::MAX) }
    }
}

/// Duplicates, or segments SACKed above a hole, that tell of a loss where nothing else is said (RFC 5681, RFC 6675).
pub(crate) const DUP_THRESH: u32 = 3;

/// What is known of the first hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    /// The time.
    pub now: Time,
    /// Segments between the first unacknowledged one and the next new one.
    pub flight: u64,
    /// Segments that have arrived above the hole: SACKed ones, or else duplicates.
    pub above: u64,
    /// Is cwnd below the threshold?
    pub slow_start: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The last raw sample; zero before the first.
    pub rtt: Duration,
}

/// How long a hole is left open.
pub(crate) trait Patience: Send {
    /// Something has arrived above the first hole for the first time. Is it left open? If not, three duplicates count.
    fn begin(&mut self, hole: &Hole) -> bool;

    /// A further duplicate, or the first. Is the hole a loss?
    fn is_over(&mut self, hole: &Hole) -> bool;

    /// When the hole is a loss whatever arrives.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Segments that may be in the network, not counting those that have arrived above the hole.
    fn room(&self, w: &Window) -> f64;

    /// A new segment has been sent while the hole is open.
    fn sent(&mut self) {}

    /// Do duplicates let cwnd grow, as the segments that they stand for would have?
    fn grows(&self) -> bool;

    /// The hole has closed by itself; `flight` segments are outstanding, and there may be `more` holes among them.
    fn closed(&mut self, flight: u64, more: bool, w: &mut Window);

    /// Segments SACKed above another hole of the same window that make it a loss, once the first one is.
    fn threshold(&self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detection_builds_from_its_defaults() {
        assert_eq!(ackclock_registry::mistakes::<Scheme>(), Vec::<String>::new());
        for scheme in schemes() {
            (scheme.build)(&Settings::defaults(scheme));
        }
    }
}
