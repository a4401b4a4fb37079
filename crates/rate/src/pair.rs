//! Packet pair: two packets leave back to back, and the bottleneck stretches the gap between them.
//!
//! Source: S. Gaonkar, "Balancing Loss Discrimination and Congestion Control in a Rate-Based Protocol", M.S.
//! thesis, University of Illinois, 2003, sections 3.2.1 and 3.3, equations 3.1 and 3.2.
//!
//! What differs: the source does not say how a receiver recognises a pair, nor whether the pair is two of the
//! k packets. Here the packets carry their [`Slot`], and [`Pairing`] chooses. The source calls a longer gap
//! an overestimate; by equation 3.2 a longer gap is a *lower* estimate.

use ackclock_units::Time;

/// What a packet is in the pattern of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Slot {
    /// A packet by itself.
    #[default]
    Single,
    /// The first packet of a pair.
    First,
    /// The second packet of a pair. It leaves at the same instant as the first.
    Second,
}

/// Whether a pair is part of the paced packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairing {
    /// The pair is the last two of every k packets. Two intervals follow it, so the mean rate is kept.
    Within,
    /// The second packet is sent in addition to every k packets. The mean rate is (k + 1)/k of the nominal
    /// one.
    Extra,
}

/// The sending side: which packets are pairs, and how many intervals follow each packet.
#[derive(Clone, Debug)]
pub struct Pattern {
    pairing: Pairing,
    /// Packets of one turn of the pattern.
    turn: u64,
    /// The place of the next packet in the turn.
    at: u64,
}

impl Pattern {
    /// One pair in every `every` packets, which is at least 2.
    pub fn new(pairing: Pairing, every: u64) -> Pattern {
        let every = every.max(2);
        let turn = if pairing == Pairing::Within { every } else { every + 1 };
        Pattern { pairing, turn, at: 0 }
    }

    /// The slot of the next packet.
    pub fn slot(&self) -> Slot {
        match self.turn - self.at {
            1 => Slot::Second,
            2 => Slot::First,
            _ => Slot::Single,
        }
    }

    /// The next packet has left. Returns the pacing intervals until the one after it.
    pub fn advance(&mut self) -> u32 {
        let slot = self.slot();
        self.at = (self.at + 1) % self.turn;
        match (slot, self.pairing) {
            (Slot::Single, _) | (Slot::Second, Pairing::Extra) => 1,
            (Slot::First, _) => 0,
            (Slot::Second, Pairing::Within) => 2,
        }
    }

    /// Begins a new turn: the second packet of a pair could not leave with the first.
    pub fn restart(&mut self) {
        self.at = 0;
    }
}

/// The receiving side: bandwidth samples from pairs.
#[derive(Clone, Debug, Default)]
pub struct PairMeter {
    /// The packet that arrived last: its number and its arrival.
    last: Option<(u64, Time)>,
}

impl PairMeter {
    /// A packet of `bits` arrived. Returns a sample in bit/s if it completes a pair (equation 3.2).
    ///
    /// Only the second packet of a pair gives a sample, and only if its number follows that of the packet
    /// that arrived before. Two arrivals at one instant give none.
    pub fn on_packet(&mut self, number: u64, slot: Slot, bits: f64, arrived: Time) -> Option<f64> {
        let (before, at) = self.last.replace((number, arrived))?;
        let gap = arrived.since(at);
        (slot == Slot::Second && before.checked_add(1) == Some(number) && !gap.is_zero())
            .then(|| bits / gap.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turn(pairing: Pairing, packets: usize) -> Vec<(Slot, u32)> {
        let mut pattern = Pattern::new(pairing, 4);
        (0..packets).map(|_| (pattern.slot(), pattern.advance())).collect()
    }

    #[test]
    fn packets_three_and_four_are_a_pair_and_two_intervals_follow() {
        use Slot::{First, Second, Single};
        let once = [(Single, 1), (Single, 1), (First, 0), (Second, 2)];
        assert_eq!(turn(Pairing::Within, 8), [once, once].concat());
        let once = [(Single, 1), (Single, 1), (Single, 1), (First, 0), (Second, 1)];
        assert_eq!(turn(Pairing::Extra, 10), [once, once].concat());
    }

    #[test]
    fn a_sample_needs_consecutive_numbers_and_the_flag() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut meter = PairMeter::default();
        assert_eq!(meter.on_packet(1, Slot::Second, 8000.0, at(0)), None); // the first packet was lost
        assert_eq!(meter.on_packet(2, Slot::First, 8000.0, at(4)), None);
        assert_eq!(meter.on_packet(3, Slot::Second, 8000.0, at(8)), Some(2e6));
        assert_eq!(meter.on_packet(4, Slot::Single, 8000.0, at(12)), None);
        assert_eq!(meter.on_packet(6, Slot::Second, 8000.0, at(16)), None);
        assert_eq!(meter.on_packet(7, Slot::First, 8000.0, at(20)), None);
        assert_eq!(meter.on_packet(8, Slot::Second, 8000.0, at(20)), None);
        // A foreign packet of the same size between the two: a longer gap, half the estimate.
        assert_eq!(meter.on_packet(9, Slot::First, 8000.0, at(24)), None);
        assert_eq!(meter.on_packet(10, Slot::Second, 8000.0, at(32)), Some(1e6));
    }

    proptest! {
        #[test]
        fn on_an_idle_fifo_path_a_sample_is_the_capacity(
            capacity in 10_000_u64..10_000_000_000, bytes in 40_u64..9000, delay in 0_u64..1_000_000_000,
        ) {
            let rate = ackclock_units::Rate::from_bps(capacity);
            let first = Time::from_nanos(delay) + rate.time_for(bytes);
            let second = first + rate.time_for(bytes); // it waited for the first one
            let mut meter = PairMeter::default();
            meter.on_packet(1, Slot::First, bytes as f64 * 8.0, first);
            let sample = meter.on_packet(2, Slot::Second, bytes as f64 * 8.0, second).unwrap();
            // Transmission times are whole nanoseconds.
            let most = 1.0 / (1.0 - 1e-9 * capacity as f64 / (bytes as f64 * 8.0)).max(1e-9);
            let ratio = sample / capacity as f64;
            prop_assert!((1.0 - 1e-9..=most + 1e-9).contains(&ratio), "{ratio} {most}");
        }
    }
}
