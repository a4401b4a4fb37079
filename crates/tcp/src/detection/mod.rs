//! When a hole is a loss. One file each.
//!
//! The sender counts duplicates itself, at no additional cost. `Rack` decides by time. A `LossDelay` leaves a
//! hole open for a while: the sender asks it as soon as there is a hole that no episode repairs. It tells how
//! long to wait, and what may be sent in the meantime. It does not matter which recovery repairs the hole, so
//! every detection works with every recovery.

mod delayed;
mod dupacks;
mod ncr;
mod rack;

pub(crate) use rack::{Probe, Rack, RackContext};

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
    /// True if it needs selective acknowledgements. It then works only with recoveries that use them.
    pub selective: bool,
    /// True if it uses the receiver's reports of duplicate arrivals (RFC 2883), which need selective
    /// acknowledgements.
    pub reads_duplicate_reports: bool,
    /// Builds a detection from checked settings.
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

/// All detections, in the order of the documentation.
pub fn schemes() -> &'static [&'static Scheme] {
    &[&dupacks::SCHEME, &delayed::SCHEME, &ncr::SCHEME, &rack::SCHEME]
}

/// The detection called `name`.
pub fn scheme(name: &str) -> Option<&'static Scheme> {
    Scheme::find(name)
}

/// The detection of a sender.
pub struct Detector {
    /// The number of duplicates, or of SACKed segments above a hole, that indicate a loss; at least one.
    pub(crate) threshold: u32,
    /// Set if holes are left open for a while.
    pub(crate) patience: Option<Box<dyn LossDelay>>,
    /// Set if losses are detected by time. Duplicates have no meaning then.
    pub(crate) rack: Option<Box<Rack>>,
}

impl Detector {
    fn duplicates(threshold: u32) -> Detector {
        Detector { threshold: threshold.max(1), patience: None, rack: None }
    }

    fn patience(patience: impl LossDelay + 'static) -> Detector {
        Detector { patience: Some(Box::new(patience)), ..Detector::duplicates(DUP_THRESH) }
    }

    fn rack(rack: Rack) -> Detector {
        Detector { rack: Some(Box::new(rack)), ..Detector::duplicates(u32::MAX) }
    }
}

/// Duplicates, or segments SACKed above a hole, that tell of a loss where nothing else is said (RFC 5681, RFC
/// 6675).
pub(crate) const DUP_THRESH: u32 = 3;

/// The state of the connection at the first hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    /// The time.
    pub now: Time,
    /// The segments between the first unacknowledged one and the next new one.
    pub flight: u64,
    /// The segments that have arrived above the hole: SACKed segments, or else duplicates.
    pub above: u64,
    /// True if cwnd is below the slow-start threshold.
    pub slow_start: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The last raw sample; zero before the first.
    pub rtt: Duration,
}

/// Decides how long a hole is left open.
pub(crate) trait LossDelay: Send {
    /// A segment has arrived above the first hole for the first time. True if the hole is left open.
    /// Otherwise three duplicates count.
    fn begin(&mut self, hole: &Hole) -> bool;

    /// The first duplicate, or another one, has arrived. True if the hole is now a loss.
    fn is_over(&mut self, hole: &Hole) -> bool;

    /// The time at which the hole is a loss in any case.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The segments that may be in flight, without those that have arrived above the hole.
    fn room(&self, w: &Window) -> f64;

    /// A new segment has been sent while the hole is open.
    fn sent(&mut self) {}

    /// True if duplicates let cwnd grow, like the segments for which they stand.
    fn grows(&self) -> bool;

    /// The hole has closed by itself. `flight` segments are outstanding. `more`: true if there may be other
    /// holes among them.
    fn closed(&mut self, flight: u64, more: bool, w: &mut Window);

    /// The number of SACKed segments above another hole of the same window that make it a loss, once the
    /// first one is.
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
