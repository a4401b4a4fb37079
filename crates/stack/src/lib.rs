//! TCP on a wire: connections between this program and any other host, with every controller, recovery and
//! detection of the registry.
//!
//! A [`Host`] has no I/O: it receives packets and the time, and tells what to send and when to wake it. A
//! [`Port`] joins it to a [`Tun`] device, or to anything else that passes packets in that form; [`netlink`]
//! sets devices up. The peer needs nothing but TCP.
//!
//! Between the wire and the [sender](ackclock_tcp::Sender), which counts in segments and knows no
//! connections, are: bytes and sequence numbers of 32 bits; handshake, options and end (RFC 9293, RFC 7323,
//! RFC 2018, RFC 9768); answers to forged and old segments (RFC 5961, RFC 7323); and the receiving half.

mod accurate;
mod connection;
mod host;
mod inbound;
mod knowledge;
pub mod netlink;
mod options;
mod outbound;
mod port;
mod ring;
mod segments;
mod sequence;
mod tun;

pub use accurate::EcnFeedback;
pub use connection::{State, Why};
pub use host::{ConnectionId, Counts, Event, Host, HostError, Info, ListenerId, Refused, Train};
pub use knowledge::SenderInfo;
pub use options::{KeepAlive, Limits, Options};
pub use port::Port;
pub use tun::Tun;
