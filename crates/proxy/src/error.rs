//! Errors: the problem, the reason, and the remedy.

use miette::Diagnostic;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why the proxy cannot start, or could not go on.
#[derive(Debug, Error, Diagnostic)]
pub enum ProxyError {
    /// The process lacks the capability.
    #[error("the proxy makes a TUN device and rules of the packet filter, which needs CAP_NET_ADMIN")]
    #[diagnostic(help("run it as root, for example with sudo; it leaves nothing behind, however it ends"))]
    Privilege,
    /// TUN devices are not available.
    #[error("a TUN device cannot be made: {0}")]
    #[diagnostic(help(
        "load the kernel's module (modprobe tun); in a container pass the device in: --device /dev/net/tun"
    ))]
    Device(io::Error),
    /// The packet filter refuses the rules.
    #[error("the kernel's packet filter refuses the rules: {0}")]
    #[diagnostic(help(
        "it needs nf_tables with owned tables (Linux 5.12), and its modules nft_dup_ipv4 or nft_dup_ipv6, nft_fib and nft_ct"
    ))]
    Filter(io::Error),
    /// Nothing can listen there.
    #[error("{address} cannot be listened on: {reason}")]
    #[diagnostic(help("another program may be listening there; choose another address or port"))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        reason: io::Error,
    },
    /// Two proxies cannot stand in front of the same port.
    #[error("another ackclock proxy stands in front of port {port} of this machine")]
    #[diagnostic(help("end it, or choose another port"))]
    Taken {
        /// The port.
        port: u16,
    },
    /// The destination cannot be reached from here.
    #[error("there is no way to {address}: {reason}")]
    #[diagnostic(help("check the address and the machine's routes (ip route get)"))]
    Unreachable {
        /// The destination.
        address: SocketAddr,
        /// The kernel's error.
        reason: io::Error,
    },
    /// The proxy would be its own server.
    #[error("the proxy listens on {address}, and would connect to itself")]
    #[diagnostic(help("--to names the server, --listen where the clients connect"))]
    Itself {
        /// The address.
        address: SocketAddr,
    },
    /// The limit of open files leaves no room.
    #[error("{files} files may be open at once, which is not enough for a single connection")]
    #[diagnostic(help("raise the limit of open files: ulimit -n"))]
    Files {
        /// The limit.
        files: u64,
    },
    /// The kernel refused another operation.
    #[error("{what}: {reason}")]
    Kernel {
        /// The operation.
        what: &'static str,
        /// The kernel's error.
        reason: io::Error,
    },
}

impl ProxyError {
    pub(crate) fn filter(error: io::Error) -> ProxyError {
        ProxyError::Filter(error)
    }

    /// The error for an operation that the kernel refused.
    pub(crate) fn kernel<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> ProxyError {
        move |reason| ProxyError::Kernel { what, reason: reason.into() }
    }
}
