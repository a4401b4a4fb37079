//! The pool in which packets of dequeue-driven disciplines wait, and chains (queues) through it.
//!
//! A link has one pool, however many queues its discipline has. So memory follows the number of waiting
//! packets. Once the pool has grown to its largest size, nothing is allocated.

use crate::{Ecn, PureAck};
use ackclock_units::Time;
use std::ops::Index;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// The instant at which the packet arrived.
    pub(crate) since: Time,
    /// A number that identifies the packet's flow.
    pub(crate) flow: u64,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
    /// What it acknowledges, if it does nothing else.
    pub(crate) ack: Option<PureAck>,
}

/// The end of a chain.
const NOWHERE: u32 = u32::MAX;

/// The pool of a link.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    places: Vec<Waiting>,
    /// The next place, in a chain or in the list of free places.
    behind: Vec<u32>,
    free: u32,
    /// The number of packets in all chains.
    packets: u32,
    bytes: u64,
}

impl Pool {
    pub(crate) fn new() -> Pool {
        Pool { places: Vec::new(), behind: Vec::new(), free: NOWHERE, packets: 0, bytes: 0 }
    }

    /// The number of packets in all chains.
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// The number of bytes in all chains.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives a packet a place. The place is in no chain yet.
    pub(crate) fn place(&mut self, packet: Waiting) -> u32 {
        if self.free == NOWHERE {
            self.places.push(packet);
            self.behind.push(NOWHERE);
            return (self.places.len() - 1) as u32;
        }
        let place = self.free;
        self.free = std::mem::replace(&mut self.behind[place as usize], NOWHERE);
        self.places[place as usize] = packet;
        place
    }

    /// Frees the place of a packet. The place must be in no chain.
    pub(crate) fn release(&mut self, place: u32) {
        self.behind[place as usize] = self.free;
        self.free = place;
    }
}

impl Index<u32> for Pool {
    type Output = Waiting;

    fn index(&self, place: u32) -> &Waiting {
        &self.places[place as usize]
    }
}

/// A queue through the pool: first in, first out.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

impl Chain {
    pub(crate) fn new() -> Chain {
        Chain { head: NOWHERE, tail: NOWHERE, packets: 0, bytes: 0 }
    }

    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet that has waited longest.
    pub(crate) fn first<'a>(&self, pool: &'a Pool) -> Option<&'a Waiting> {
        pool.places.get(self.head as usize)
    }

    /// Appends the packet at `place`.
    pub(crate) fn push(&mut self, pool: &mut Pool, place: u32) {
        if self.packets == 0 {
            self.head = place;
        } else {
            pool.behind[self.tail as usize] = place;
        }
        self.tail = place;
        self.count_in(pool, place);
    }

    /// Removes the packet that has waited longest. Its place stays occupied until it is released.
    pub(crate) fn pop(&mut self, pool: &mut Pool) -> Option<u32> {
        if self.packets == 0 {
            return None;
        }
        let place = self.head;
        self.count_out(pool, place);
        self.head = if self.packets == 0 { NOWHERE } else { pool.behind[place as usize] };
        Some(place)
    }

    /// Puts the packet at `place` where the first of the packets waits that `is_superseded` names, and
    /// removes all of those. Adds their places, which stay occupied, to `removed`. False if there is none:
    /// then nothing changes.
    pub(crate) fn supersede(
        &mut self,
        pool: &mut Pool,
        place: u32,
        is_superseded: impl Fn(&Waiting) -> bool,
        removed: &mut Vec<u32>,
    ) -> bool {
        let already = removed.len();
        let (mut before, mut at) = (NOWHERE, self.head);
        for _ in 0..self.packets {
            let next = pool.behind[at as usize];
            if !is_superseded(&pool.places[at as usize]) {
                before = at;
            } else {
                let first = removed.len() == already;
                removed.push(at);
                self.count_out(pool, at);
                let follower = if first { place } else { next };
                if before == NOWHERE {
                    self.head = follower;
                } else {
                    pool.behind[before as usize] = follower;
                }
                if first {
                    pool.behind[place as usize] = next;
                    before = place;
                }
            }
            at = next;
        }
        if removed.len() == already {
            return false;
        }
        self.tail = before;
        self.count_in(pool, place);
        true
    }

    fn count_in(&mut self, pool: &mut Pool, place: u32) {
        let bytes = u64::from(pool[place].bytes);
        self.packets += 1;
        self.bytes += bytes;
        pool.packets += 1;
        pool.bytes += bytes;
    }

    fn count_out(&mut self, pool: &mut Pool, place: u32) {
        let bytes = u64::from(pool[place].bytes);
        self.packets -= 1;
        self.bytes -= bytes;
        pool.packets -= 1;
        pool.bytes -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_deques(steps in prop::collection::vec((0_usize..3, 0_u32..3, 1_u32..2000), 1..400)) {
            let mut pool = Pool::new();
            let mut chains = vec![Chain::new(); 3];
            let mut deques = vec![VecDeque::new(); 3];
            // Places that were removed from their chains and are not free yet.
            let mut out: VecDeque<(u32, u32)> = VecDeque::new();
            let mut most = 0;
            for (chain, what, bytes) in steps {
                match what {
                    0 | 1 => {
                        let packet = Waiting { since: Time::ZERO, flow: 0, bytes, ecn: Ecn::NotEct, ack: None };
                        let place = pool.place(packet);
                        prop_assert!(out.iter().all(|(kept, _)| *kept != place));
                        chains[chain].push(&mut pool, place);
                        deques[chain].push_back(bytes);
                    }
                    _ => {
                        let place = chains[chain].pop(&mut pool);
                        prop_assert_eq!(place.map(|place| pool[place].bytes), deques[chain].pop_front());
                        out.extend(place.map(|place| (place, pool[place].bytes)));
                    }
                }
                if out.len() > 2 && let Some((place, bytes)) = out.pop_front() {
                    prop_assert_eq!(pool[place].bytes, bytes); // not reused in the meantime
                    pool.release(place);
                }
                for (chain, deque) in chains.iter().zip(&deques) {
                    prop_assert_eq!(chain.first(&pool).map(|packet| packet.bytes), deque.front().copied());
                    prop_assert_eq!(chain.packets() as usize, deque.len());
                    prop_assert_eq!(chain.bytes(), deque.iter().map(|&bytes| u64::from(bytes)).sum::<u64>());
                }
                prop_assert_eq!(pool.packets() as usize, deques.iter().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(pool.bytes(), chains.iter().map(Chain::bytes).sum::<u64>());
                most = most.max(pool.packets() as usize + out.len());
                prop_assert!(pool.places.len() <= most + 1);
            }
        }
    }
}
