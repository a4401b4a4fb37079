//! The packets of all transports: one form for data and one for what is sent back, so that a host carries
//! them all in the same way.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, Table 3.1; RFC 5348 section 3.2.
//!
//! What differs: widths, units and the base of the SACK bitmap are not stated. Here numbers begin at 1, so
//! that 0 is "none yet", and the bitmap is of packet numbers, so that its length does not limit the window.
//! Data packets carry the smoothed round-trip time, which receivers need and the table lacks, and what they
//! are in the pattern of pairs.

use crate::pair::Slot;
use ackclock_units::{Duration, Time};

/// A data packet.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Data {
    /// The packet number: one more with every transmission, from 1.
    pub number: u64,
    /// The number of what it carries, from 1. A retransmission carries the same datum.
    pub datum: u64,
    /// The size on the wire, bytes.
    pub bytes: u32,
    /// The departure by the sender's clock.
    pub sent: Time,
    /// The sender's smoothed round-trip time.
    pub srtt: Duration,
    /// Its part in a packet pair.
    pub slot: Slot,
    /// True if no datum follows this one.
    pub last: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ack {
    /// The number of the packet that caused it, or the highest that has arrived if none did; 0 for none yet.
    pub echo: u64,
    /// The last datum in order; 0 for none yet.
    pub cumulative: u64,
    /// Bit i: packet number `echo - 1 - i` has arrived.
    pub sack: u128,
    /// The size on the wire, bytes.
    pub bytes: u32,
    /// The departure of the packet that caused it. `None` if it was not caused by a packet.
    pub echoed: Option<Time>,
    /// How long that packet waited for this acknowledgement.
    pub held: Duration,
    /// What it tells about the rate.
    pub report: Report,
}

impl Ack {
    /// The sample of the round-trip time that an arrival at `now` gives. `None` if no packet caused it.
    pub fn rtt(&self, now: Time) -> Option<Duration> {
        self.echoed.map(|echoed| now.since(echoed + self.held))
    }
}

/// What an acknowledgement tells about the rate.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Report {
    /// Nothing: it only says what has arrived.
    #[default]
    Nothing,
    /// The rate that the receiver asks for, bit/s.
    Rate(f64),
    /// What the throughput equation needs (RFC 5348 section 3.2.2).
    LossEvents {
        /// p, the loss event rate.
        rate: f64,
        /// X_recv, bytes of payload per second.
        received: f64,
        /// It is sent because of a new loss event.
        new: bool,
    },
}
