//! Published experiments, run again: each a file with scenarios, published numbers and claims, of which
//! every one gets a verdict.
//!
//! A claim is an expression (see [`crate::expect`]) that must hold. One that does not is a result and is
//! shown with its numbers; an expression that has no value is a mistake in the file.

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
