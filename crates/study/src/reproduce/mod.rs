//! Published experiments, run again. Each is a file with scenarios, published numbers and claims. Every claim
//! gets a verdict.
//!
//! A claim is an expression (see [`crate::expect`]) that must hold. A claim that does not hold is a result,
//! and is shown with its numbers. An expression without a value is a mistake in the file.

mod check;
mod format;
mod library;
mod plan;
mod verdict;

pub use check::check;
pub use format::{Asserted, Claim, Experiment, Kind, Pictured, Source};
pub use library::{Library, LibraryError};
pub use plan::Plan;
pub use verdict::{Case, Counts, Judged, Reproduction, Verdict};

#[cfg(test)]
mod tests;
