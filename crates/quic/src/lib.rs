//! The congestion controllers of ackclock in QUIC: compound, layered, pert, vegas and the others, in quinn,
//! noq and s2n-quic.
//!
//! ```
//! # #[cfg(feature = "quinn")] {
//! // let mut transport = quinn::TransportConfig::default();
//! # let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(ackclock_quic::controller("compound")?.quinn()?);
//! # }
//! # Ok::<(), ackclock_quic::Error>(())
//! ```
//!
//! A controller is chosen by name, with parameters as in scenarios. What a stack cannot give it, is refused
//! by name when it is built ([`Error::Missing`]). One feature for each stack: `quinn`, `noq`, `s2n-quic`.
//!
//! # What segments and bytes have to do with each other
//!
//! Controllers count windows in segments, stacks count bytes. A segment is a packet of the path's present
//! MTU: a QUIC packet without the headers of UDP and IP.
//!
//! - **Acknowledgements.** All packets of one ACK frame are one acknowledgement. It counts the bytes of its
//!   packets, divided by the MTU, without a limit (RFC 9002 section 7.3.1). Its round-trip time is that of
//!   its newest packet, if nothing sent later was acknowledged before (section 5.1). The peer's delay is part
//!   of it, as in TCP. The smoothed value is RFC 6298's over these samples, as in the simulator.
//! - **Numbers.** `una` counts what is acknowledged or lost, and `nxt` adds what is in flight. So a round
//!   trip ends once as many packets are settled as had been sent at its start. A retransmission is a packet
//!   of its own.
//! - **Losses.** The stack detects them. All that were sent before the last reduction belong to it (section
//!   7.3.2). The window is at the new threshold at once and does not grow until a packet sent after the
//!   reduction is acknowledged. Persistent congestion is [`Timeout`](ackclock_cc::Signal::Timeout) (section
//!   7.6.2). No window is below two segments (section 7.2).
//! - **Spurious losses.** If the stack reports them, window and threshold go back to where they were.
//! - **Marks.** An increase of the CE count is one [`Mark`](ackclock_cc::Signal::Mark) per round trip
//!   (section 7.1). A stack that tells the count serves controllers that need it.
//! - **A new MTU.** Window and threshold keep their bytes. What a scheme remembers stays in segments of the
//!   old size, until it is measured again.
//! - **Application-limited.** The window does not grow if the stack had nothing to send and was held back by
//!   neither window nor pacing. After an idle time above the probe timeout the window is at most the initial
//!   one (RFC 5681 section 4.1).
//! - **Pacing.** A controller without a rate leaves pacing to the stack. A rate counts QUIC packets, without
//!   headers of UDP and IP.
//! - **Migration.** Each path has a controller of its own. Only if nothing but the peer's port changed, quinn
//!   and noq copy the controller with its state.

mod control;
#[cfg_attr(
    not(all(feature = "noq", feature = "s2n-quic")),
    allow(dead_code, reason = "each stack uses its part")
)]
mod departure;
#[cfg_attr(
    not(all(feature = "noq", feature = "s2n-quic")),
    allow(dead_code, reason = "each stack uses its part")
)]
mod driver;
#[cfg(feature = "noq")]
mod noq;
#[cfg(feature = "quinn")]
mod quinn;
mod rtt;
#[cfg(feature = "s2n-quic")]
mod s2n_quic;

pub use control::{Control, Error, controller};
#[cfg(feature = "noq")]
pub use noq::NoqFactory;
#[cfg(feature = "quinn")]
pub use quinn::QuinnFactory;
#[cfg(feature = "s2n-quic")]
pub use s2n_quic::{S2nQuicController, S2nQuicEndpoint};
