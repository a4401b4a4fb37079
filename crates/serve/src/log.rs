//! What is told of each response.

use crate::pacing::Burst;
use std::net::SocketAddr;
use std::time::Duration;

/// A response, when the socket has accepted all of it, or when its connection ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The client.
    pub peer: SocketAddr,
    /// The number of the request on its connection, from 1.
    pub request: u64,
    /// GET, HEAD, or what the client sent instead.
    pub method: String,
    /// The path as the client wrote it. It may contain anything.
    pub path: String,
    /// The status code.
    pub status: u16,
    /// Bytes of content that the socket accepted.
    pub bytes: u64,
    /// The pacing of this response.
    pub burst: Option<Burst>,
    /// The bursts that were written completely.
    pub bursts: u64,
    /// Periods that began while a burst was still being written.
    pub failed_cycles: u64,
    /// From the end of the request's head until the socket accepted the last byte. The kernel may still have
    /// much of it then.
    pub duration: Duration,
    /// Segments that the kernel retransmitted meanwhile.
    pub retransmissions: u32,
    /// The congestion controller of the connection, by the kernel's name.
    pub control: String,
    /// False if the connection ended before.
    pub complete: bool,
}

/// Who is told of responses.
pub(crate) type Log = dyn Fn(Entry) + Send + Sync;
