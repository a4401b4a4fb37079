//! The contract: scenario files from text to a [plan], and results as they leave the program.
//!
//! Nothing here runs a scenario. Simulator and emulator take a plan and return what they [measured].
//! [`results`] adds names and units.

pub mod capture_file;
mod control;
pub mod flow_trace;
pub mod measured;
pub mod plan;
pub mod predictions;
mod read;
pub mod requests;
pub mod results;
pub mod series;
pub mod sizes;
mod stack;
pub mod traced;
pub mod traffic;
mod warnings;
pub mod writing;

pub use control::Control;
pub use read::*;
pub use stack::{PLAIN, Setting, Stack, stacks, unsaid};
