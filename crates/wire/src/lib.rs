//! Headers on the wire, for all crates. [`Connection`] and [`datagram`] write the headers that simulated
//! packets would have. [`Segment`] reads captured TCP segments. [`endpoint`] reads and writes the segments of
//! real connections. [`packet`] reads and changes real headers in place. A [`GsoBatch`] is several real
//! segments with one header, as the kernel passes them.
//!
//! Lengths, checksums and flags follow RFC 791, 8200, 9293 and 3168.

mod captured;
pub mod endpoint;
mod gso_batch;
pub mod offload;
mod options;
pub mod packet;
mod simulated;

pub use captured::{Framing, Segment};
pub use gso_batch::{BEGIN_BYTES, GsoBatch, Head, MAX_BYTES};
pub use options::{EchoedBytes, MAX_OPTIONS, MAX_SACKS, Options};
pub use simulated::{Connection, Frame, MAX_HEADERS, MAX_PAYLOAD, datagram, rate_data, rate_report};
