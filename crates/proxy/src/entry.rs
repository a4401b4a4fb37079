//! What is told about a connection when it has ended.

use ackclock_units::Duration;
use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Both sides closed it.
    Closed,
    /// The client reset it.
    ResetByClient,
    /// The server reset it.
    ResetByServer,
    /// The server refused it.
    Refused,
    /// The server could not be reached.
    Unreachable,
    /// The far side did not answer any more.
    TimedOut,
    /// Nothing was sent for longer than allowed.
    Idle,
    /// The client had too many connections.
    TooMany,
    /// The proxy was told to end.
    Stopped,
}

impl End {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            End::Closed => "closed",
            End::ResetByClient => "reset-by-client",
            End::ResetByServer => "reset-by-server",
            End::Refused => "refused",
            End::Unreachable => "unreachable",
            End::TimedOut => "timed-out",
            End::Idle => "idle",
            End::TooMany => "too-many",
            End::Stopped => "stopped",
        }
    }
}

impl Display for End {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            End::Closed => "closed",
            End::ResetByClient => "reset by the client",
            End::ResetByServer => "reset by the server",
            End::Refused => "refused by the server",
            End::Unreachable => "the server cannot be reached",
            End::TimedOut => "timed out",
            End::Idle => "idle for too long",
            End::TooMany => "too many connections of this client",
            End::Stopped => "the proxy ended",
        })
    }
}

/// A connection that has ended.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The client.
    pub client: SocketAddr,
    /// The server.
    pub server: SocketAddr,
    /// The proxy's end of the connection that crosses the path, if there was one.
    pub local: Option<SocketAddr>,
    /// From its first packet at the proxy to its end.
    pub duration: Duration,
    /// Bytes from client to server that the server's side has taken.
    pub to_server: u64,
    /// Bytes from server to client that the client's side has taken.
    pub to_client: u64,
    /// What our stack knows of the path.
    pub path: Option<Path>,
    /// Why it ended.
    pub end: End,
}

/// What our stack knows of the path that a connection crossed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The smoothed round-trip time; `None`: never measured.
    pub rtt: Option<Duration>,
    /// The smallest round-trip time; `None`: never measured.
    pub least_rtt: Option<Duration>,
    /// The congestion window at the end, segments.
    pub window: f64,
}

impl Entry {
    /// Bytes per second over the connection's life, in the direction in which our stack sends: to the server,
    /// or to the client.
    pub fn goodput(&self, bytes: u64) -> f64 {
        let seconds = self.duration.as_secs_f64();
        if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
    }
}

/// What is told when the proxy has ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Connections that were relayed.
    pub connections: u64,
    /// Most at the same time.
    pub most_at_once: usize,
    /// Times that a connection had to wait because there were as many as allowed.
    pub waited: u64,
    /// Connections that were refused because their client had too many.
    pub refused: u64,
}
