//! What a response curve looks at.

use ackclock_units::Time;

/// The input of a curve at an acknowledgement. Times are in nanoseconds.
#[derive(Clone)]
pub(super) struct Seen {
    /// The host's clock.
    pub(super) now: Time,
    /// P, the smallest round-trip time.
    pub(super) base: f64,
    /// The smoothed round-trip time minus `base`; NaN before the first sample.
    pub(super) delay: f64,
    /// The raw round-trip time of this acknowledgement minus `base`; NaN without a sample.
    pub(super) raw: f64,
}
