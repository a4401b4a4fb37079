//! Memory for buffers, shared by all connections. Each has a floor that is never taken away, and what it can
//! get above that out of a pool. So a few connections have large buffers, and many have small ones.

/// A connection's buffers, bytes in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share(usize);

impl Share {
    /// The size of either buffer, bytes.
    pub(crate) fn bytes(self) -> usize {
        self.0
    }
}

/// What there is.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    floor: usize,
    /// The largest buffer of a connection, bytes.
    most: usize,
    /// What is left above the floors, bytes.
    pool: usize,
}

impl Budget {
    /// The least buffer: a few segments more than the largest initial window (RFC 6928: 10), bytes.
    pub(crate) const LEAST: usize = 32 << 10;
    /// A connection gets at most this part of what is left, so that the next ones get something, too.
    const PART: usize = 8;

    /// `memory` bytes for the buffers of at most `connections`, each at most `most` bytes. The memory is
    /// never less than the floors.
    pub(crate) fn new(memory: usize, connections: usize, most: usize) -> Budget {
        let floor = Budget::LEAST.min(most);
        let pool = memory.saturating_sub(connections.saturating_mul(2 * floor));
        Budget { floor, most, pool }
    }

    /// The buffers of a further connection.
    pub(crate) fn take(&mut self) -> Share {
        let above = (self.pool / Budget::PART / 2).min(self.most - self.floor);
        // The stack's memory grows in powers of two.
        let share = (self.floor + above).checked_ilog2().map_or(self.floor, |log| self.floor.max(1 << log));
        self.pool -= 2 * (share - self.floor);
        Share(share)
    }

    /// The connection has ended.
    pub(crate) fn give_back(&mut self, share: Share) {
        self.pool += 2 * (share.0 - self.floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_few_get_much_and_many_get_little() {
        let mut budget = Budget::new(128 << 20, 1000, 4 << 20);
        assert_eq!(budget.take().bytes(), 4 << 20);
        let last = (1..1000).map(|_| budget.take()).last().expect("there are 999");
        assert_eq!(last.bytes() >> 10, 32);
    }

    proptest! {
        /// Whatever comes and goes: never more than there is, never less than the floor, and everything comes
        /// back.
        #[test]
        fn the_memory_is_bounded(
            memory in 0_usize..1 << 28,
            connections in 1_usize..2000,
            most in 1_usize..1 << 24,
            steps in prop::collection::vec(any::<(bool, u16)>(), 0..500),
        ) {
            let mut budget = Budget::new(memory, connections, most);
            let (floor, whole) = (budget.floor, budget.pool);
            let mut held: Vec<Share> = Vec::new();
            for (take, which) in steps {
                if take && held.len() < connections {
                    held.push(budget.take());
                } else if !held.is_empty() {
                    budget.give_back(held.swap_remove(usize::from(which) % held.len()));
                }
                let used: usize = held.iter().map(|share| 2 * share.bytes()).sum();
                prop_assert!(used <= memory.max(2 * floor * connections));
                prop_assert!(held.iter().all(|share| (floor..=most).contains(&share.bytes())));
            }
            held.into_iter().for_each(|share| budget.give_back(share));
            prop_assert_eq!(budget.pool, whole);
        }
    }
}
