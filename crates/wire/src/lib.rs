//! Headers on the wire, in one place for all who need them: [`Connection`] and [`datagram`] write those that simulated
//! packets would have, [`Segment`] reads those of captured TCP segments, [`packet`] reads and changes real ones in place, and a
//! [`Train`] is several real segments with one header, as the kernel hands them over.
//!
//! Lengths, checksums and flags follow RFC 791, 8200, 9293 and 3168.

mod captured;
pub mod offload;
pub mod packet;
mod simulated;
mod train;

pub use captured::{Framing, Segment};
pub use simulated::{Connection, Frame, MOST_HEADERS, MOST_PAYLOAD, datagram};
pub use train::{Head, MOST_BYTES, Train};
