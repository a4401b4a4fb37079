//! Slow starts: when the first slow start ends before a loss ends it. One file each.
//!
//! The controller grows the window, in slow start as well. A slow start only says how much of an
//! acknowledgement counts for that growth, and when the threshold is reached. So every controller that grows
//! with [`slow_start`](crate::slow_start()) may have any of them. The host asks it until slow start is over,
//! and not again: later slow starts know a threshold (RFC 9406 section 4.3).

mod hystart;
mod hystart_plus_plus;
mod standard;

use crate::{Ack, Path, Window};
use ackclock_registry::{Chosen, Entry, Listed};
use ackclock_units::Duration;
use std::fmt;

/// A slow start's parameters, every one with a value from its domain.
pub type Settings = Chosen<Scheme>;

/// A slow start's entry in the registry.
pub struct Scheme {
    /// The description.
    pub entry: Entry,
    /// Builds it from checked settings. `None`: nothing but a reduction ends slow start.
    pub build: fn(&Settings) -> Option<Box<dyn SlowStart>>,
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

impl Listed for Scheme {
    const KIND: &'static str = "slow_start";

    fn all() -> &'static [&'static Scheme] {
        schemes()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

pub use standard::SCHEME as STANDARD;

/// All slow starts, in the order of the documentation.
pub fn schemes() -> &'static [&'static Scheme] {
    &[&standard::SCHEME, &hystart_plus_plus::SCHEME, &hystart::SCHEME]
}

/// The slow start called `name`.
pub fn scheme(name: &str) -> Option<&'static Scheme> {
    Scheme::find(name)
}

/// Watches the first slow start of a connection. It can be copied and shared, like a controller.
pub trait SlowStart: CloneBox + Send + Sync {
    /// An acknowledgement of new data, before the controller grows the window. Returns the share of the
    /// acknowledged segments that counts for growth, above 0 and at most 1.
    ///
    /// `paced`: segments are spaced, so that acknowledgements come over a whole round trip. To end slow
    /// start, sets the threshold to the window.
    fn on_ack(&mut self, path: &Path, ack: &Ack, paced: bool, w: &mut Window) -> f64;
}

/// Copies a slow start behind a pointer. Every one that is [`Clone`] has this.
pub trait CloneBox {
    /// A slow start in the same state.
    fn clone_box(&self) -> Box<dyn SlowStart>;
}

impl<T: SlowStart + Clone + 'static> CloneBox for T {
    fn clone_box(&self) -> Box<dyn SlowStart> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn SlowStart> {
    fn clone(&self) -> Box<dyn SlowStart> {
        (**self).clone_box()
    }
}

/// A round trip: until a segment is acknowledged that was sent after it began.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// SND.NXT at its start. The round ends when this segment is acknowledged.
    ends: u64,
    /// The smallest raw round-trip time in it; [`Duration::MAX`] without a sample.
    least: Duration,
    /// The samples in it.
    samples: u64,
}

impl Round {
    fn begin(path: &Path) -> Round {
        Round { ends: path.nxt, least: Duration::MAX, samples: 0 }
    }

    fn is_over(&self, path: &Path) -> bool {
        path.una > self.ends
    }

    fn sample(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
    }
}

/// An eighth of a round-trip time, for example, but within bounds: the increase that tells of a queue.
fn threshold(rtt: Duration, divisor: f64, least: Duration, most: Duration) -> Duration {
    rtt.mul_f64(1.0 / divisor).min(most).max(least)
}

#[cfg(test)]
mod tests;
