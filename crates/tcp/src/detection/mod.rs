//! When a hole is a loss, for detections that leave a hole open for a while. One file each.
//!
//! Three duplicates are the sender's own business and cost it nothing more. `Rack` judges by time. A `Patience` is asked as soon as there is a
//! hole that no episode repairs: it says how long to wait, and what may be sent meanwhile. Who repairs a hole that
//! stays is none of its concern, so that each one goes with every recovery.

mod delayed;
mod ncr;
mod rack;

pub use delayed::{DelayedConfig, Form};
pub use ncr::NcrConfig;
pub use rack::RackConfig;

pub(crate) use delayed::Delayed;
pub(crate) use ncr::Ncr;
pub(crate) use rack::{Probe, Rack, Sight};

use ackclock_cc::Window;
use ackclock_units::{Duration, Time};

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
