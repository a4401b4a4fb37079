//! Lanes: packets in flight between two decisions, first in, first out.
//!
//! All lanes of a kind share one pool of small blocks. So memory follows the packets in flight, not the
//! largest number that each lane ever held.

use ackclock_units::Time;

/// The packets per block. The number is small, because ten thousand flows have forty thousand lanes.
const BLOCK: usize = 16;
const NONE: u32 = u32::MAX;

/// Many queues of packets. Each packet has a due time and an exit.
pub(crate) struct Lanes<T> {
    lanes: Vec<Lane>,
    blocks: Vec<Block<T>>,
    /// The block after each block, in its lane or in the list of free blocks.
    following: Vec<u32>,
    free: u32,
}

/// Times are stored apart from packets, because the search for the next event reads times only.
struct Block<T> {
    due: [Time; BLOCK],
    exits: [u32; BLOCK],
    packets: [T; BLOCK],
}

impl<T> Block<T> {
    #[inline(always)] // the packet stays in registers
    fn put(&mut self, at: usize, due: Time, exit: u32, packet: T) {
        self.due[at] = due;
        self.exits[at] = exit;
        self.packets[at] = packet;
    }
}

#[derive(Clone, Copy)]
struct Lane {
    /// The due time of the packet that was appended last.
    last: Time,
    head: u32,
    tail: u32,
    /// The next packet to leave, in the first block.
    first: u8,
    /// The next place to fill, in the last block.
    end: u8,
}

impl<T: Copy + Default> Lanes<T> {
    pub(crate) fn new(count: usize) -> Lanes<T> {
        let empty = Lane { last: Time::ZERO, head: NONE, tail: NONE, first: 0, end: 0 };
        Lanes { lanes: vec![empty; count], blocks: Vec::new(), following: Vec::new(), free: NONE }
    }

    /// Closes a lane: it accepts no packet.
    pub(crate) fn close(&mut self, lane: usize) {
        self.lanes[lane].last = Time::NEVER;
    }

    /// True if a packet that is due at `due` is later than all packets that the lane ever held.
    #[inline]
    pub(crate) fn takes(&self, lane: usize, due: Time) -> bool {
        self.lanes[lane].last < due
    }

    /// Appends a packet that is due at `due`, at `exit`. True if the lane was empty.
    #[inline(always)] // the packet stays in registers
    pub(crate) fn push(&mut self, lane: usize, due: Time, exit: u32, packet: T) -> bool {
        let at = &mut self.lanes[lane];
        at.last = due;
        if at.head != NONE && (at.end as usize) < BLOCK {
            self.blocks[at.tail as usize].put(at.end as usize, due, exit, packet);
            at.end += 1;
            return false;
        }
        self.push_block(lane, due, exit, packet)
    }

    /// Appends a packet in a new block.
    fn push_block(&mut self, lane: usize, due: Time, exit: u32, packet: T) -> bool {
        let block = self.allocate();
        self.blocks[block as usize].put(0, due, exit, packet);
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

    /// The first packet of a lane. The lane must not be empty.
    #[inline]
    pub(crate) fn first(&self, lane: usize) -> &T {
        let at = &self.lanes[lane];
        &self.blocks[at.head as usize].packets[at.first as usize]
    }

    /// Removes the first packet of a lane. Tells when and where the next one is due.
    #[inline]
    pub(crate) fn pop(&mut self, lane: usize) -> (Time, u32) {
        let at = &mut self.lanes[lane];
        let block = at.head;
        at.first += 1;
        if block == at.tail && at.first == at.end {
            at.head = NONE;
            self.release(block);
            return (Time::NEVER, 0);
        }
        if at.first as usize == BLOCK {
            at.head = self.following[block as usize];
            at.first = 0;
            self.release(block);
        }
        let at = &self.lanes[lane];
        let (block, first) = (&self.blocks[at.head as usize], at.first as usize);
        (block.due[first], block.exits[first])
    }

    /// Calls `counts` for the packets in all lanes.
    pub(crate) fn count(&self, mut counts: impl FnMut(u32)) {
        for lane in &self.lanes {
            let (mut block, mut first) = (lane.head, lane.first as usize);
            while block != NONE {
                let end = if block == lane.tail { lane.end as usize } else { BLOCK };
                self.blocks[block as usize].exits[first..end].iter().for_each(|exit| counts(*exit));
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
        let (due, exits) = ([Time::NEVER; BLOCK], [0; BLOCK]);
        self.blocks.push(Block { due, exits, packets: [T::default(); BLOCK] });
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
                    prop_assert_eq!(lanes.push(lane, due, n as u32 * 2, n as u64), deques[lane].is_empty());
                    deques[lane].push_back((due, n as u64));
                } else {
                    let (_, packet) = deques[lane].pop_front().expect("not empty");
                    let next = deques[lane].front().map_or((Time::NEVER, 0), |&(due, packet)| (due, packet as u32 * 2));
                    prop_assert_eq!(*lanes.first(lane), packet);
                    prop_assert_eq!(lanes.pop(lane), next);
                }
                let mut held = 0;
                lanes.count(|_| held += 1);
                prop_assert_eq!(held, deques.iter().map(VecDeque::len).sum::<usize>());
            }
            prop_assert!(lanes.blocks.len() <= 800 / BLOCK + 8);
        }
    }
}
