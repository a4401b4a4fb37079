//! Sessions in real time: [`send`] and [`receive`] carry packets between an endpoint and a UDP socket, in
//! the thread that calls them.
//!
//! A socket belongs to the network namespace of the thread that opened it, so a caller that is in a host of
//! an emulation opens it there. While a session runs, another thread may look at it through a [`Watch`], and
//! end it.

mod clock;
mod receive;
mod send;
mod socket;
mod watch;

pub use receive::{Guest, receive};
pub use send::send;
pub use watch::{Seen, Stage, Watch};

use crate::noise::Entropy;
use crate::sending::End;
use crate::stream::Stop;
use ackclock_lateness::Lateness;
use ackclock_rate::{Counters, Transport};
use ackclock_registry::Chosen;
use ackclock_units::Duration;
use nix::sys::socket::{getsockopt, sockopt::IpMtu};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Fills with random bytes of the operating system.
///
/// # Panics
///
/// If it has none. Nothing could be kept secret then.
pub const ENTROPY: Entropy = |bytes| getrandom::fill(bytes).expect("the operating system has random bytes");

/// The size of a data packet on the wire, bytes: what nearly every path carries (RFC 9000 section 14), and
/// UDP and IPv4 headers.
pub const PACKET_BYTES: u32 = 1200 + 28;
/// What every path carries (RFC 791), bytes on the wire.
const LEAST_BYTES: u32 = 576;
/// What Ethernet leaves with IPv6, whose headers are 20 bytes longer than the 28 that are counted.
const WITH_IPV6: u32 = 1480;

/// The size that data packets begin with, and the largest that they may grow to, bytes on the wire: no larger
/// than the first link carries.
pub fn packet_bytes(to: SocketAddr) -> (u32, u32) {
    let first = || {
        let socket = UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect(to).ok()?;
        u32::try_from(getsockopt(&socket, IpMtu).ok()?).ok()
    };
    // Every link carries the first size with IPv6 (RFC 8200 section 5).
    let most = if to.is_ipv4() { first().unwrap_or(PACKET_BYTES) } else { WITH_IPV6 };
    (most.clamp(LEAST_BYTES, PACKET_BYTES), most.max(LEAST_BYTES))
}

/// How long the other end may be silent.
pub const SILENCE: Duration = Duration::from_secs(30);

/// What a sender chooses.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The transport.
    pub control: Chosen<Transport>,
    /// The size of a data packet on the wire, bytes.
    pub bytes: u32,
    /// The largest size that is tried before data leave, bytes on the wire. None is, if it is not above
    /// `bytes`.
    pub largest: u32,
    /// The highest rate on the wire, bit/s. Infinite for none.
    pub most: f64,
    /// How long the receiver may be silent.
    pub silence: Duration,
}

impl Sending {
    /// With this transport, and the usual values for the rest.
    pub fn with(control: Chosen<Transport>) -> Sending {
        Sending { control, bytes: PACKET_BYTES, largest: 0, most: f64::INFINITY, silence: SILENCE }
    }
}

/// What became of a session.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The other end's address.
    pub peer: SocketAddr,
    /// From the first data to the end.
    pub elapsed: Duration,
    /// Bytes of payload that were acknowledged, or delivered, in order.
    pub bytes: u64,
    /// What it looked like at the end.
    pub seen: Seen,
    /// What the sender's transport counted. Zeros at the receiver.
    pub counters: Counters,
    /// How late packets left. Empty at the receiver.
    pub lateness: Lateness,
}

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The socket cannot be used.
    #[error("{0}: {1}")]
    Socket(&'static str, #[source] io::Error),
    /// Nobody answered.
    #[error(
        "{0} does not answer: is `ackclock receive` running there, with this ticket, and do firewalls let UDP \
         through? A ticket lets one sender in, once"
    )]
    NoAnswer(SocketAddr),
    /// The ticket's key is none.
    #[error("the ticket cannot be used: ask for a new one")]
    Ticket,
    /// The other end was not heard for so long.
    #[error(
        "the other end has been silent for {0}: nothing is lost; start both again, the sender with --resume"
    )]
    Silent(Duration),
    /// The other end has ended it.
    #[error("the other end has ended the transfer: {0}")]
    Closed(String),
    /// This end has ended it.
    #[error("{}", .0.words)]
    Stopped(Stop),
    /// Whoever watched it has ended it.
    #[error("stopped")]
    Interrupted,
}

impl TransferError {
    fn socket(what: &'static str) -> impl FnOnce(io::Error) -> TransferError {
        move |error| TransferError::Socket(what, error)
    }
}

/// The error for an end that is not a good one.
fn failure(end: &End, silence: Duration) -> Option<TransferError> {
    match end {
        End::Done => None,
        End::Silent => Some(TransferError::Silent(silence)),
        End::Closed(farewell) if farewell.words.is_empty() => {
            Some(TransferError::Closed(format!("{:?}", farewell.why).to_lowercase()))
        }
        End::Closed(farewell) => Some(TransferError::Closed(farewell.words.clone())),
        End::Stopped(stop) => Some(TransferError::Stopped(stop.clone())),
    }
}
