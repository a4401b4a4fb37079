//! Rate-based transports: the sender is paced, and the rate comes from what the receiver measures.
//!
//! Nothing here has a clock, I/O or random numbers of its own. The caller passes the time, so the same code
//! runs in virtual and in real time. Rates are bits per second as `f64`. Times are [`Time`] and [`Duration`];
//! differences that may be negative (jitter, relative trip times) are nanoseconds as `i64`.
//!
//! Estimators have a file each: [`pair`], [`kde`], [`ewma`], [`jitter`], [`rott`], [`loss`].
//! Parts of a transport are [`reliability`], [`blackout`], [`acknowledged`], the rate law ([`law`]) and its
//! variants ([`variant`]). [`xrtp`] composes them into two endpoints. [`model`] is the analytic model of
//! XRTP. [`tfrc`] is the transport of RFC 5348, [`gcc`] that of draft-ietf-rmcat-gcc-02.
//!
//! A host chooses one of the registry's [`Transport`]s. It holds a [`Sender`] and a [`Receiver`], and carries
//! the packets of [`packet`], whatever the transport.

pub mod acknowledged;
pub mod blackout;
mod config;
mod endpoint;
pub mod ewma;
pub mod gcc;
mod half;
pub mod jitter;
pub mod kde;
pub mod law;
pub mod loss;
pub mod model;
pub mod packet;
pub mod pair;
pub mod reliability;
pub mod rott;
mod scheme;
pub mod tfrc;
mod time_mean;
pub mod variant;
pub mod xrtp;

pub use config::{Config, Configured};
pub use endpoint::{Counters, Receiver, Sender};
pub use half::{Opening, ReceivingHalf, SendingHalf};
pub use scheme::Transport;
pub use time_mean::TimeMean;

#[cfg(doc)]
use ackclock_units::{Duration, Time};
