//! Independent random loss: every packet is lost with the same probability, whatever happened before.

use crate::Stream;

/// Bernoulli loss.
#[derive(Clone, Debug)]
pub struct Loss {
    probability: f64,
    stream: Stream,
    /// Packets that still pass before the next loss: a geometric variate, drawn once per loss and not per packet.
    until_next: u64,
}

impl Loss {
    /// Loss of each packet with `probability` in [0, 1], drawn from `stream`.
    pub fn new(probability: f64, stream: Stream) -> Loss {
        let mut loss = Loss { probability, stream, until_next: 0 };
        loss.until_next = loss.gap();
        loss
    }

    /// Is the next packet lost?
    #[inline]
    pub fn strikes(&mut self) -> bool {
        if self.until_next > 0 {
            self.until_next -= 1;
            return false;
        }
        self.until_next = self.gap();
        true
    }

    /// Packets that survive before a loss: P(gap >= n) = (1 - p)^n, by inversion.
    fn gap(&mut self) -> u64 {
        if self.probability <= 0.0 {
            return u64::MAX;
        }
        let survives = libm::log1p(-self.probability);
        // p = 1 makes the logarithm minus infinity and the quotient 0: every packet is lost.
        (libm::log(1.0 - self.stream.uniform()) / survives) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(probability: f64, packets: u32) -> u32 {
        let mut loss = Loss::new(probability, Stream::new(3, "loss"));
        (0..packets).filter(|_| loss.strikes()).count() as u32
    }

    #[test]
    fn loses_the_share_that_was_asked_for() {
        assert_eq!(lost(0.0, 10_000), 0);
        assert_eq!(lost(1.0, 10_000), 10_000);
        let share = f64::from(lost(0.01, 1_000_000)) / 1e6;
        assert!((share - 0.01).abs() < 0.0005, "{share}");
        let share = f64::from(lost(0.5, 1_000_000)) / 1e6;
        assert!((share - 0.5).abs() < 0.003, "{share}");
    }
}
