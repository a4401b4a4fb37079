//! Headers on the wire, for all crates. [`Connection`] and [`datagram`] write the headers that simulated
//! packets would have. [`Segment`] reads captured TCP segments. [`packet`] reads and changes real headers in
//! place. A [`Train`] is several real segments with one header, as the kernel passes them.
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
