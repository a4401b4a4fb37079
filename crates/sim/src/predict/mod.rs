//! How well predictors foresee losses: the states of a flow and what leads from one to another.
//!
//! Source: S. Bhandarkar (dissertation, Texas A&M University, 2006), section IV.A, Figure 37. A flow is in state A while its
//! predictor says that delay is low, in B while it is high, in C after a loss. What counts is how a high delay ends: in a loss
//! (B to C, foreseen), or without one (B to A, a false positive); and losses out of A (false negatives).
//!
//! What the source leaves open: losses within one round trip of each other are one; the flow is in C until one round trip
//! has passed since the last of them, or, as a switch, until the predictor says low.

mod capture;
mod machine;
mod outcome;
mod record;

pub use capture::{CaptureProblem, read_capture};
pub use machine::{Counts, Settle, Study, study};
pub use outcome::{BINS, Outcome, Predicted, Predictions};
pub use record::Recorder;

use ackclock_cc::predictor::Reading;
use ackclock_units::Time;

/// A flow's life as far as predictors are concerned.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Every acknowledgement with a sample, in order.
    pub readings: Vec<Reading>,
    /// The bottleneck's queue as a share of its room at each reading; empty if that is not known.
    pub queue: Vec<f32>,
    /// When the flow found out that it had lost something, in order.
    pub flow_losses: Vec<Time>,
    /// When the bottleneck dropped something of anyone, in order, if that is known.
    pub queue_losses: Option<Vec<Time>>,
}
