//! Published experiments, run again. Each is a file with scenarios, published numbers and claims. Every claim
//! gets a verdict.
//!
//! A claim is an expression (see [`crate::expect`]) that must hold. A claim that does not hold is a result,
//! and is shown with its numbers. An expression without a value is a mistake in the file.

mod check;
mod claim;
mod family;
mod format;
mod library;
mod plan;
mod published;
mod replicate;
mod summary;
mod verdict;

pub use check::check;
pub use claim::{Apart, Asserted, Claim, Contradiction, Observation, Origin};
pub use format::{Experiment, Kind, Pictured, Source};
pub use library::{Library, LibraryError};
pub use plan::{Plan, Planned};
pub use published::Published;
pub use summary::{Row, summary};
pub use verdict::{Case, Counts, Judged, Reproduction, Verdict};

#[cfg(test)]
mod tests;
