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
    /// When packets arrived (draft-ietf-rmcat-gcc-02 section 3).
    Arrivals(Arrivals),
}

/// The most packet numbers of an [`Arrivals`].
pub const MAX_ARRIVALS: usize = 11;

/// When packets with consecutive numbers arrived, by the receiver's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    /// The first number.
    first: u64,
    /// The arrival of the first one that was added.
    base: Time,
    /// By number: 0 if it is not in the report, else one more than the ticks since `base`.
    ticks: [u16; MAX_ARRIVALS],
    /// How many numbers there are.
    count: u8,
}

impl Arrivals {
    /// Adds a packet with a higher number than those before. False if there is no room for it: its number is
    /// too high, or its arrival too early or too late for ticks of `resolution`, which is above zero.
    pub fn add(&mut self, number: u64, arrived: Time, resolution: Duration) -> bool {
        if self.count == 0 {
            (self.first, self.base) = (number, arrived);
        }
        let (Some(at), true) = (number.checked_sub(self.first), arrived >= self.base) else { return false };
        let half = resolution.as_nanos() / 2;
        let ticks = arrived.since(self.base).as_nanos().saturating_add(half) / resolution.as_nanos() + 1;
        let (Ok(at), Ok(ticks)) = (usize::try_from(at), u16::try_from(ticks)) else { return false };
        let Some(place) = self.ticks.get_mut(at) else { return false };
        *place = ticks;
        self.count = at as u8 + 1;
        true
    }

    /// What a host writes into a packet: the first number, the arrival of the first one that was added, and
    /// the ticks by number.
    pub fn parts(&self) -> (u64, Time, &[u16]) {
        (self.first, self.base, &self.ticks[..self.len().min(MAX_ARRIVALS)])
    }

    /// What a host reads from a packet. `None` if there are too many ticks.
    pub fn from_parts(first: u64, base: Time, ticks: &[u16]) -> Option<Arrivals> {
        let mut arrivals = Arrivals { first, base, ..Arrivals::default() };
        arrivals.ticks.get_mut(..ticks.len())?.copy_from_slice(ticks);
        arrivals.count = ticks.len() as u8; // at most MAX_ARRIVALS
        Some(arrivals)
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The packets with their arrivals.
    pub fn iter(&self, resolution: Duration) -> impl Iterator<Item = (u64, Time)> + '_ {
        self.ticks[..self.len().min(MAX_ARRIVALS)]
            .iter()
            .enumerate()
            .filter(|(_, ticks)| **ticks > 0)
            .filter_map(move |(at, &ticks)| {
                let number = self.first.checked_add(at as u64)?;
                Some((number, self.base + resolution.saturating_mul(u64::from(ticks) - 1)))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_room_for_eleven_consecutive_numbers() {
        let at = |us: u64| Time::from_nanos(us * 1_000);
        let tick = Duration::from_micros(250);
        let mut arrivals = Arrivals::default();
        assert!(arrivals.is_empty());
        for (number, us) in [(7, 1000), (8, 1100), (10, 1130), (17, 3000)] {
            assert!(arrivals.add(number, at(us), tick));
        }
        assert!(!arrivals.add(18, at(3000), tick), "no room");
        assert_eq!(arrivals.len(), MAX_ARRIVALS);
        let all: Vec<_> = arrivals.iter(tick).collect();
        assert_eq!(all, [(7, at(1000)), (8, at(1000)), (10, at(1250)), (17, at(3000))]);
        let (first, base, ticks) = arrivals.parts();
        assert_eq!(Arrivals::from_parts(first, base, ticks), Some(arrivals));
        assert_eq!(Arrivals::from_parts(first, base, &[1; MAX_ARRIVALS + 1]), None);
        let mut arrivals = Arrivals::default();
        assert!(arrivals.add(1, at(1000), tick));
        assert!(!arrivals.add(2, at(900), tick), "it is earlier");
        assert!(!arrivals.add(2, at(20_000_000), tick), "it is too late");
    }

    #[test]
    fn packets_stay_small() {
        assert_eq!((std::mem::size_of::<Data>(), std::mem::size_of::<Ack>()), (40, 112));
    }
}
