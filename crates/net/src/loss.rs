//! Loss that owes nothing to the queue: every packet with the same probability, whatever happened before,
//! chosen packets, or one packet in so many.

use crate::Stream;

/// Which packets are lost.
#[derive(Clone, Debug)]
pub struct Loss {
    pattern: Pattern,
    /// Packets that still pass before the next loss: found once per loss and not per packet.
    until_next: u64,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Independent trials.
    Bernoulli(f64, Stream),
    /// Gaps between chosen packets.
    Chosen(std::vec::IntoIter<u64>),
    /// As many packets pass between any two losses.
    Periodic(u64),
}

impl Loss {
    /// Loss of each packet with `probability` in [0, 1], drawn from `stream`.
    pub fn new(probability: f64, stream: Stream) -> Loss {
        Loss::with(Pattern::Bernoulli(probability, stream))
    }

    /// Loss of the packets at these positions, the first packet that is offered being at 0.
    pub fn of_packets(positions: impl IntoIterator<Item = u64>) -> Loss {
        let mut positions: Vec<u64> = positions.into_iter().collect();
        positions.sort_unstable();
        positions.dedup();
        let mut passed = 0;
        for position in &mut positions {
            let gap = *position - passed;
            passed = *position + 1;
            *position = gap;
        }
        Loss::with(Pattern::Chosen(positions.into_iter()))
    }

    /// Loss of every `period`-th packet; of all of them if it is 0 or 1.
    pub fn every(period: u64) -> Loss {
        Loss::with(Pattern::Periodic(period.saturating_sub(1)))
    }

    fn with(pattern: Pattern) -> Loss {
        let mut loss = Loss { pattern, until_next: 0 };
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

    fn gap(&mut self) -> u64 {
        match &mut self.pattern {
            Pattern::Bernoulli(probability, _) if *probability <= 0.0 => u64::MAX,
            Pattern::Bernoulli(probability, stream) => {
                // Packets that survive before a loss: P(gap >= n) = (1 - p)^n, by inversion. p = 1 makes the
                // logarithm minus infinity and the quotient 0: every packet is lost.
                let survives = libm::log1p(-*probability);
                (libm::log(1.0 - stream.uniform()) / survives) as u64
            }
            Pattern::Chosen(gaps) => gaps.next().unwrap_or(u64::MAX),
            Pattern::Periodic(gap) => *gap,
        }
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

    #[test]
    fn loses_the_packets_that_were_chosen() {
        let mut loss = Loss::of_packets([7, 0, 3, 4, 7]);
        let lost: Vec<u32> = (0..20).filter(|_| loss.strikes()).collect();
        assert_eq!(lost, [0, 3, 4, 7]);
    }

    #[test]
    fn loses_one_packet_in_so_many() {
        let mut loss = Loss::every(4);
        let lost: Vec<u32> = (0..13).filter(|_| loss.strikes()).collect();
        assert_eq!(lost, [3, 7, 11]);
        assert!(Loss::every(1).strikes());
    }
}
