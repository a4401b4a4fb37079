//! What controllers and agents say to each other: one JSON document a line, within TLS.
//!
//! The controller asks and the agent answers, in order. A connection goes through the phases of the thesis's
//! tool: initialize, setup, open, run, finish, close, report, teardown; kill ends everything at once. All
//! answers come at once. What takes time is told by later answers to `renew`, which the controller sends
//! several times a second. An agent that hears nothing for [`LEASE`] stops all traffic of that controller.

mod line;
mod message;

pub use line::{Lines, MAX_LINE, TooLong, to_line};
pub use message::{Change, Meeting, Refusal, Reply, Request, State, VERSION};

use ackclock_units::Duration;

/// For so long an agent goes on without hearing from its controller.
pub const LEASE: Duration = Duration::from_millis(1500);
/// The greatest number of tests in one message.
pub const MAX_BATCH: usize = 5000;
