//! A share of all packets, chosen by independent trials.

use crate::Rng;

/// Chooses packets at random, each with the same probability.
#[derive(Clone, Debug)]
pub struct Share {
    probability: f64,
    stream: Rng,
    /// Packets that pass before the next chosen one. It is drawn once per choice, not once per packet.
    until_next: u64,
}

impl Share {
    /// Chooses each packet with `probability` in [0, 1], drawn from `stream`.
    pub fn new(probability: f64, stream: Rng) -> Share {
        let mut share = Share { probability, stream, until_next: 0 };
        share.until_next = share.gap();
        share
    }

    /// True if the next packet is chosen.
    #[inline]
    pub fn takes(&mut self) -> bool {
        if self.until_next > 0 {
            self.until_next -= 1;
            return false;
        }
        self.until_next = self.gap();
        true
    }

    /// The number of packets before the next choice: P(gap >= n) = (1 - p)^n, by inversion.
    fn gap(&mut self) -> u64 {
        if self.probability <= 0.0 {
            return u64::MAX;
        }
        // p = 1 gives minus infinity here and a quotient of 0: every packet is chosen.
        let passes = libm::log1p(-self.probability);
        (libm::log(1.0 - self.stream.uniform()) / passes) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(probability: f64, packets: u32) -> u32 {
        let mut share = Share::new(probability, Rng::new(3, "share"));
        (0..packets).filter(|_| share.takes()).count() as u32
    }

    #[test]
    fn takes_the_share_that_was_asked_for() {
        assert_eq!(chosen(0.0, 10_000), 0);
        assert_eq!(chosen(1.0, 10_000), 10_000);
        let share = f64::from(chosen(0.01, 1_000_000)) / 1e6;
        assert!((share - 0.01).abs() < 0.0005, "{share}");
        let share = f64::from(chosen(0.5, 1_000_000)) / 1e6;
        assert!((share - 0.5).abs() < 0.003, "{share}");
    }
}
