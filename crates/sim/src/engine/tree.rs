//! A winner tree: finds the lane with the earliest head.
//!
//! Each lane owns a leaf with its head. A change of a leaf replays its matches up to the root. With n lanes
//! that is log2(n) comparisons on a small array. No entries are moved, as they are in a heap.

use ackclock_units::Time;

/// The head of a lane: its due time, and two tie-breakers. The earlier head goes first; of heads at the same
/// time the one with the lower rank; of equal ranks the lower lane. All three are packed into one number, the
/// due time in the highest bits, so that a match is one comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Head(u128);

impl Head {
    /// The head of `lane` with this `rank`, due at `time`. [`Time::NEVER`] if the lane is empty.
    #[inline]
    pub fn new(time: Time, rank: u32, lane: u32) -> Head {
        Head(u128::from(time.as_nanos()) << 64 | u128::from(rank) << 32 | u128::from(lane))
    }

    /// The due time.
    #[inline]
    pub fn time(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    /// The rank.
    #[inline]
    pub fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The lane.
    #[inline]
    pub fn lane(self) -> u32 {
        self.0 as u32
    }
}

/// The tree.
pub struct WinnerTree {
    /// The two heads that meet at each inner node. Node 1 is the root. Node i has the children 2i and 2i+1.
    /// The leaves come after the inner nodes, and their heads stand in the last of these pairs.
    matches: Vec<[Head; 2]>,
    winner: Head,
    /// The number of the first lane.
    lowest: usize,
}

impl WinnerTree {
    /// A tree over `count` empty lanes. Their numbers start at `lowest`.
    pub fn new(lowest: usize, count: usize) -> WinnerTree {
        let leaves = count.next_power_of_two().max(2);
        let empty = |lane: usize| Head::new(Time::NEVER, 0, (lowest + lane) as u32);
        let mut matches = vec![[Head(u128::MAX); 2]; leaves];
        for node in (1..leaves).rev() {
            let first = 2 * node;
            matches[node] = if first >= leaves {
                [empty(first - leaves), empty(first + 1 - leaves)]
            } else {
                // All lanes are empty, so the lowest one wins.
                [matches[first][0], matches[first + 1][0]]
            };
        }
        WinnerTree { winner: matches[1][0], matches, lowest }
    }

    /// The earliest head.
    #[inline]
    pub fn earliest(&self) -> Head {
        self.winner
    }

    /// Sets the head of `lane`: its due time and rank.
    #[inline]
    pub fn set(&mut self, lane: usize, time: Time, rank: u32) {
        let mut at = self.matches.len() + lane - self.lowest;
        self.winner = Head::new(time, rank, lane as u32);
        while at > 1 {
            let pair = &mut self.matches[at / 2];
            pair[at % 2] = self.winner;
            self.winner = pair[0].min(pair[1]);
            at /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_search(
            count in 1_usize..40,
            sets in prop::collection::vec((0_usize..40, 0_u64..50, 0_u32..4), 1..300),
        ) {
            let mut tree = WinnerTree::new(7, count);
            let mut heads = vec![(u64::MAX, 0); count];
            for (lane, time, rank) in sets {
                let lane = lane % count;
                heads[lane] = if time == 49 { (u64::MAX, 0) } else { (time, rank) };
                tree.set(7 + lane, Time::from_nanos(heads[lane].0), heads[lane].1);
                let least = heads.iter().min().copied().unwrap_or((u64::MAX, 0));
                let earliest = tree.earliest();
                prop_assert_eq!((earliest.time(), earliest.rank()), (Time::from_nanos(least.0), least.1));
                if least.0 < u64::MAX {
                    prop_assert_eq!(Some(earliest.lane() as usize - 7), heads.iter().position(|head| *head == least));
                }
            }
        }
    }
}
