//! Lanes: packets in flight between two decisions, first in, first out.
//!
//! All lanes of a kind share one pool of small blocks, so that memory follows the packets that are in flight
//! and not the most that any lane ever held.

use ackclock_units::Time;

/// Packets per block: small, because ten thousand flows have forty thousand lanes.
const BLOCK: usize = 16;
const NONE: u32 = u32::MAX;

/// Many queues of (due time, packet).
pub(crate) struct Lanes<T> {
    lanes: Vec<Lane>,
    blocks: Vec<[(Time, T); BLOCK]>,
    /// The block after each block, in its lane or in the free list.
    following: Vec<u32>,
    free: u32,
}

#[derive(Clone, Copy)]
struct Lane {
    /// When the last packet that was appended is due.
    last: Time,
    head: u32,
    tail: u32,
    /// Next to leave, in the head block.
    first: u8,
    /// Next to fill, in the tail block.
    end: u8,
}

impl<T: Copy + Default> Lanes<T> {
    pub(crate) fn new(count: usize) -> Lanes<T> {
        let empty = Lane { last: Time::ZERO, head: NONE, tail: NONE, first: 0, end: 0 };
        Lanes { lanes: vec![empty; count], blocks: Vec::new(), following: Vec::new(), free: NONE }
    }

    /// May a packet that is due at `due` be appended to this lane without breaking its order?
    #[inline]
    pub(crate) fn takes(&self, lane: usize, due: Time) -> bool {
        self.lanes[lane].last <= due
    }

    /// Appends a packet that is due at `due`; true if the lane was empty.
    #[inline]
    pub(crate) fn push(&mut self, lane: usize, due: Time, packet: T) -> bool {
        let at = &mut self.lanes[lane];
        at.last = due;
        if at.head != NONE && (at.end as usize) < BLOCK {
            self.blocks[at.tail as usize][at.end as usize] = (due, packet);
            at.end += 1;
            return false;
        }
        self.push_block(lane, due, packet)
    }

    /// Appends a packet in a block of its own, the first of many.
    fn push_block(&mut self, lane: usize, due: Time, packet: T) -> bool {
        let block = self.allocate();
        self.blocks[block as usize][0] = (due, packet);
        let at = &mut self.lanes[lane];
        let was_empty = at.head == NONE;
        if was_empty {
            at.head = block;
            at.first = 0;
        } else {
            self.following[at.tail as usize] = block;
        }
        at.tail = block;
        at.end = 1;
        was_empty
    }

    /// Takes the head of a lane, which must not be empty, and tells when the next one is due.
    #[inline]
    pub(crate) fn pop(&mut self, lane: usize) -> (T, Time) {
        let at = self.lanes[lane];
        let packet = self.blocks[at.head as usize][at.first as usize].1;
        let first = at.first + 1;
        if at.head == at.tail && first == at.end {
            self.release(at.head);
            self.lanes[lane].head = NONE;
            return (packet, Time::NEVER);
        }
        if first as usize == BLOCK {
            let next = self.following[at.head as usize];
            self.release(at.head);
            self.lanes[lane].head = next;
            self.lanes[lane].first = 0;
            return (packet, self.blocks[next as usize][0].0);
        }
        self.lanes[lane].first = first;
        (packet, self.blocks[at.head as usize][first as usize].0)
    }

    /// Packets in all lanes.
    pub(crate) fn count(&self, mut counts: impl FnMut(usize, &T)) {
        for (number, lane) in self.lanes.iter().enumerate() {
            let (mut block, mut first) = (lane.head, lane.first as usize);
            while block != NONE {
                let end = if block == lane.tail { lane.end as usize } else { BLOCK };
                for entry in &self.blocks[block as usize][first..end] {
                    counts(number, &entry.1);
                }
                if block == lane.tail {
                    break;
                }
                block = self.following[block as usize];
                first = 0;
            }
        }
    }

    #[inline]
    fn allocate(&mut self) -> u32 {
        if self.free != NONE {
            let block = self.free;
            self.free = self.following[block as usize];
            return block;
        }
        self.blocks.push([(Time::ZERO, T::default()); BLOCK]);
        self.following.push(NONE);
        self.blocks.len() as u32 - 1
    }

    #[inline]
    fn release(&mut self, block: u32) {
        self.following[block as usize] = self.free;
        self.free = block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_deques(steps in prop::collection::vec((0_usize..4, any::<bool>()), 1..800)) {
            let mut lanes = Lanes::<u64>::new(4);
            let mut deques = vec![VecDeque::new(); 4];
            for (n, (lane, push)) in steps.into_iter().enumerate() {
                let due = Time::from_nanos(n as u64);
                if push || deques[lane].is_empty() {
                    prop_assert_eq!(lanes.push(lane, due, n as u64), deques[lane].is_empty());
                    deques[lane].push_back((due, n as u64));
                } else {
                    let (_, packet) = deques[lane].pop_front().expect("not empty");
                    let next = deques[lane].front().map_or(Time::NEVER, |&(due, _)| due);
                    prop_assert_eq!(lanes.pop(lane), (packet, next));
                }
                let mut held = 0;
                lanes.count(|_, _| held += 1);
                prop_assert_eq!(held, deques.iter().map(VecDeque::len).sum::<usize>());
            }
            prop_assert!(lanes.blocks.len() <= 800 / BLOCK + 8);
        }
    }
}
