//! A winner tree: which of many lanes has the earliest head?
//!
//! Each lane owns a leaf with its head. Changing a leaf replays its matches up to the root; with n lanes that
//! is log2(n) comparisons on a small array, without the moving about of a heap.

use ackclock_units::Time;

/// The head of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// When it is due; [`Time::NEVER`] where the lane is empty.
    pub time: Time,
    /// What settles a tie: the lower goes first, and of equal ranks the lower lane.
    pub rank: u32,
    /// Whose head it is.
    pub lane: u32,
}

impl Head {
    /// No head at all.
    pub const NONE: Head = Head { time: Time::NEVER, rank: 0, lane: 0 };

    /// Does this head go before the `other`, of a lower lane?
    #[inline]
    pub fn beats(&self, other: &Head) -> bool {
        self.time < other.time || self.time == other.time && self.rank < other.rank
    }
}

/// The tree.
pub struct WinnerTree {
    /// Node 1 is the root, node i has children 2i and 2i+1, leaves are the last `leaves` nodes.
    nodes: Vec<Head>,
    leaves: usize,
}

impl WinnerTree {
    /// A tree over `count` lanes, all of them empty.
    pub fn new(count: usize) -> WinnerTree {
        let leaves = count.next_power_of_two().max(2);
        let mut nodes = vec![Head::NONE; 2 * leaves];
        for (leaf, node) in nodes[leaves..].iter_mut().enumerate() {
            node.lane = leaf as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node].lane = nodes[2 * node].lane;
        }
        WinnerTree { nodes, leaves }
    }

    /// The earliest head.
    #[inline]
    pub fn earliest(&self) -> Head {
        self.nodes[1]
    }

    /// The head of `lane` is now at `time`, with this rank.
    #[inline]
    pub fn set(&mut self, lane: usize, time: Time, rank: u32) {
        let mut at = self.leaves + lane;
        self.nodes[at] = Head { time, rank, lane: lane as u32 };
        while at > 1 {
            // The left child holds the lower lanes.
            let (left, right) = (self.nodes[at & !1], self.nodes[at | 1]);
            at >>= 1;
            let winner = if right.beats(&left) { right } else { left };
            if self.nodes[at] == winner {
                return; // nothing above can change either
            }
            self.nodes[at] = winner;
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
            let mut tree = WinnerTree::new(count);
            let mut heads = vec![(u64::MAX, 0); count];
            for (lane, time, rank) in sets {
                let lane = lane % count;
                heads[lane] = if time == 49 { (u64::MAX, 0) } else { (time, rank) };
                tree.set(lane, Time::from_nanos(heads[lane].0), heads[lane].1);
                let least = heads.iter().min().copied().unwrap_or((u64::MAX, 0));
                let earliest = tree.earliest();
                prop_assert_eq!((earliest.time, earliest.rank), (Time::from_nanos(least.0), least.1));
                if least.0 < u64::MAX {
                    prop_assert_eq!(Some(earliest.lane as usize), heads.iter().position(|head| *head == least));
                }
            }
        }
    }
}
