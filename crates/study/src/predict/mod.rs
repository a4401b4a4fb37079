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
#[cfg(test)]
mod recorded;

pub use capture::{CaptureProblem, read_capture};
pub use machine::{Study, study};
pub use outcome::predictions;
