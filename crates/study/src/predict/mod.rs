//! How well predictors predict losses: the states of a flow, and the transitions between them.
//!
//! Source: S. Bhandarkar (dissertation, Texas A&M University, 2006), section IV.A, Figure 37. A flow is in
//! state A while its predictor says that the delay is low, in B while it is high, and in C after a loss. The
//! question is how a high delay ends: in a loss (B to C, predicted), or without one (B to A, a false
//! positive). Losses from A are false negatives.
//!
//! What the source leaves open: losses within one round trip of each other count as one. The flow stays in C
//! until one round trip has passed since the last of them, or, as a switch, until the predictor says low.

mod capture;
mod machine;
mod outcome;
#[cfg(test)]
mod recorded;

pub use capture::{CaptureProblem, Captured, read_capture};
pub use machine::{Study, study};
pub use outcome::predictions;
