//! What a proxy is told.

use ackclock_stack::Options;
use ackclock_units::Duration;
use std::net::SocketAddr;

/// Which side of the proxy lies beyond the path that our stack crosses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Towards {
    /// The server: clients connect to a socket of the kernel, and our stack connects to the server.
    Server,
    /// The clients: they connect to our stack, and a socket of the kernel connects to the server.
    Clients,
}

/// The settings of a proxy.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The side that our stack talks to.
    pub towards: Towards,
    /// Where clients connect. Port 0, only towards a server: any that is free.
    pub listen: SocketAddr,
    /// The server. Nothing else is ever connected to.
    pub to: SocketAddr,
    /// The settings of our stack's connections. Sizes of buffers and packets do not count.
    pub options: Options,
    /// The largest packet, bytes; `None`: what the route to the server carries, or 1500 towards clients.
    pub mtu: Option<u32>,
    /// Most connections at the same time. More wait.
    pub connections: usize,
    /// Most connections of one client's address. Further ones are reset. Addresses of this machine have no
    /// limit.
    pub per_client: usize,
    /// The largest buffer of a connection in each direction, bytes.
    pub buffer: usize,
    /// Memory for the buffers of all connections, bytes; at least 64 KiB for each.
    pub memory: usize,
    /// A connection on which nothing is moved for so long is reset.
    pub idle: Duration,
}
