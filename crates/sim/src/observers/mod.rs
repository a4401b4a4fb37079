//! Observers of a run: traces of single flows, the recorder of one flow for the predictors, and taps at
//! links.

mod follow;
mod headers;
mod record;
mod tap;

pub use follow::Follower;
pub use headers::{Connection, Frame, MOST_HEADERS, MOST_PAYLOAD, datagram};
pub use record::{Recorder, Recording};
pub use tap::{Tap, tap};
