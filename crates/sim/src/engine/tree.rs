//! A winner tree: which of many streams has the earliest head?
//!
//! Each stream owns a leaf with the time of its head. Changing a leaf replays its matches up to the root;
//! with n streams that is log2(n) comparisons on a small array, without the moving about of a heap.

use ackclock_units::Time;

/// The tree.
pub struct WinnerTree {
    /// Node 1 is the root, node i has children 2i and 2i+1, leaves are the last `leaves` nodes.
    nodes: Vec<Node>,
    leaves: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    time: Time,
    leaf: u32,
}

impl WinnerTree {
    /// A tree over `count` streams, all of them empty.
    pub fn new(count: usize) -> WinnerTree {
        let leaves = count.next_power_of_two().max(2);
        let mut nodes = vec![Node { time: Time::NEVER, leaf: 0 }; 2 * leaves];
        for (leaf, node) in nodes[leaves..].iter_mut().enumerate() {
            node.leaf = leaf as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node].leaf = nodes[2 * node].leaf;
        }
        WinnerTree { nodes, leaves }
    }

    /// The earliest head and its stream; of several at the same time, the lowest stream.
    #[inline]
    pub fn earliest(&self) -> (Time, usize) {
        let root = self.nodes[1];
        (root.time, root.leaf as usize)
    }

    /// The head of `stream` is now at `time`.
    #[inline]
    pub fn set(&mut self, stream: usize, time: Time) {
        let mut at = self.leaves + stream;
        self.nodes[at].time = time;
        while at > 1 {
            let (left, right) = (self.nodes[at & !1], self.nodes[at | 1]);
            at >>= 1;
            // The left child holds the lower streams, so it wins ties.
            let winner = if left.time <= right.time { left } else { right };
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
        fn agrees_with_a_search(count in 1_usize..40, sets in prop::collection::vec((0_usize..40, 0_u64..50), 1..300)) {
            let mut tree = WinnerTree::new(count);
            let mut times = vec![u64::MAX; count];
            for (stream, time) in sets {
                let stream = stream % count;
                let time = if time == 49 { u64::MAX } else { time };
                times[stream] = time;
                tree.set(stream, Time::from_nanos(time));
                let (at, winner) = tree.earliest();
                let least = times.iter().min().copied().unwrap_or(u64::MAX);
                prop_assert_eq!(at, Time::from_nanos(least));
                if least < u64::MAX {
                    prop_assert_eq!(Some(winner), times.iter().position(|&time| time == least));
                }
            }
        }
    }
}
