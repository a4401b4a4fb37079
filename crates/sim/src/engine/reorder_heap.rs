//! Packets in flight that are not in the order in which they were sent: those behind links that reorder.
//!
//! All of them share one heap. Lanes are cheaper, and all packets that keep their order stay in lanes.

use ackclock_units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Packets by due time. Of packets due at the same instant, the one for the lowest exit goes first. Of those
/// for the same exit, one that comes back goes first, and then the one that was added first.
pub(crate) struct ReorderHeap<P> {
    heap: BinaryHeap<Entry<P>>,
    counter: u64,
}

struct Entry<P> {
    due: Time,
    exit: u32,
    order: u64,
    /// True if the packet comes back to a link that has corrupted it.
    back: bool,
    packet: P,
}

impl<P> Entry<P> {
    fn key(&self) -> (Time, u32, bool, u64) {
        (self.due, self.exit, !self.back, self.order)
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Entry<P>) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Entry<P> {}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Entry<P>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Entry<P> {
    /// The earliest entry is the greatest, because the heap is a max-heap.
    fn cmp(&self, other: &Entry<P>) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<P> Default for ReorderHeap<P> {
    fn default() -> ReorderHeap<P> {
        ReorderHeap { heap: BinaryHeap::new(), counter: 0 }
    }
}

impl<P> ReorderHeap<P> {
    /// Adds a packet that is due at `due`, at `exit`. True if it is now the first to leave.
    pub(crate) fn push(&mut self, exit: u32, due: Time, back: bool, packet: P) -> bool {
        let order = self.counter;
        self.counter += 1;
        self.heap.push(Entry { due, exit, order, back, packet });
        self.heap.peek().is_some_and(|first| first.order == order)
    }

    /// The packet that leaves first, if there is one.
    pub(crate) fn first(&self) -> Option<&P> {
        self.heap.peek().map(|first| &first.packet)
    }

    /// When and where it is due.
    pub(crate) fn next(&self) -> Option<(Time, u32)> {
        self.heap.peek().map(|next| (next.due, next.exit))
    }

    /// Removes it. Returns when and where it is due, too.
    pub(crate) fn take(&mut self) -> Option<(Time, u32, P)> {
        self.heap.pop().map(|first| (first.due, first.exit, first.packet))
    }

    /// Removes that packet. Tells whether it comes back, and when and where the next packet is due.
    pub(crate) fn pop(&mut self) -> (bool, Time, u32) {
        let back = self.heap.pop().is_some_and(|first| first.back);
        let (due, exit) = self.next().unwrap_or((Time::NEVER, 0));
        (back, due, exit)
    }

    /// The exits of all packets, in no particular order.
    pub(crate) fn exits(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().map(|entry| entry.exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The model is a list that is searched for its least entry each time.
        #[test]
        fn agrees_with_a_list(steps in prop::collection::vec((0_u64..20, 0_u32..4, any::<bool>()), 1..400)) {
            let mut reorder_heap = ReorderHeap::default();
            let mut list: Vec<(u64, u32, bool, usize)> = Vec::new();
            for (number, (due, exit, push)) in steps.into_iter().enumerate() {
                if push || list.is_empty() {
                    let back = number.is_multiple_of(3);
                    let entry = (due, exit, !back, number);
                    list.push(entry);
                    let first = list.iter().min() == Some(&entry);
                    prop_assert_eq!(reorder_heap.push(exit, Time::from_nanos(due), back, number), first);
                } else {
                    let least = *list.iter().min().expect("not empty");
                    prop_assert_eq!(reorder_heap.first(), Some(&least.3));
                    list.retain(|entry| *entry != least);
                    let next = list.iter().min();
                    let (due, exit) = next.map_or((Time::NEVER, 0), |&(due, exit, ..)| (Time::from_nanos(due), exit));
                    prop_assert_eq!(reorder_heap.pop(), (!least.2, due, exit));
                }
                prop_assert_eq!(reorder_heap.exits().count(), list.len());
            }
            prop_assert_eq!(reorder_heap.first().is_none(), list.is_empty());
        }
    }
}
