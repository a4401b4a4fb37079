//! Observers of a run: traces of single flows, the recorder of one flow for the predictors, and taps at
//! links.

mod crossings;
mod follow;
mod record;
mod tap;

pub use follow::Follower;
pub use record::{Recorder, Recording};
pub use tap::{Tap, tap};
