//! Loss that owes nothing to the queue: every packet with the same probability, whatever happened before,
//! chosen packets, or one packet in so many.

use crate::{Share, Stream};

/// Which packets are lost.
#[derive(Clone, Debug)]
pub struct Loss(Pattern);

#[derive(Clone, Debug)]
enum Pattern {
    /// Independent trials.
    Share(Share),
    /// Packets that still pass before the next chosen one, and the gaps between those after it.
    Chosen(u64, std::vec::IntoIter<u64>),
    /// Packets that still pass before the next loss, and how many pass between any two.
    Periodic(u64, u64),
}

impl Loss {
    /// Loss of each packet with `probability` in [0, 1], drawn from `stream`.
    pub fn new(probability: f64, stream: Stream) -> Loss {
        Loss(Pattern::Share(Share::new(probability, stream)))
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
        let mut gaps = positions.into_iter();
        Loss(Pattern::Chosen(gaps.next().unwrap_or(u64::MAX), gaps))
    }

    /// Loss of every `period`-th packet; of all of them if it is 0 or 1.
    pub fn every(period: u64) -> Loss {
        let gap = period.saturating_sub(1);
        Loss(Pattern::Periodic(gap, gap))
    }

    /// Is the next packet lost?
    #[inline]
    pub fn strikes(&mut self) -> bool {
        match &mut self.0 {
            Pattern::Share(share) => share.takes(),
            Pattern::Chosen(left, gaps) => counts_down(left, || gaps.next().unwrap_or(u64::MAX)),
            Pattern::Periodic(left, gap) => counts_down(left, || *gap),
        }
    }
}

/// True when nothing is left to count; then it begins again at what is `next`.
fn counts_down(left: &mut u64, next: impl FnOnce() -> u64) -> bool {
    let over = *left == 0;
    *left = if over { next() } else { *left - 1 };
    over
}

#[cfg(test)]
mod tests {
    use super::*;

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
