//! iperf3's protocol, both ways: a [server] for its clients, and a [client] for its servers.
//!
//! Source: the protocol as iperf 3.12 speaks it. A connection for control carries one byte for each state,
//! and JSON documents with their lengths before them. Each stream has a connection, or a flow of datagrams,
//! of its own. The protocol knows neither certificates nor encryption. A server therefore sends only to the
//! address from which the control connection came, which that connection proves.

pub mod client;
mod flow;
pub mod message;
pub mod server;

/// The port of iperf3.
pub const PORT: u16 = 5201;
/// The greatest number of streams of a test, in each direction: iperf3's own limit.
pub const MAX_STREAMS: u32 = 128;
