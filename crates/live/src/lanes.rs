//! Packets that wait for an instant: one lane per place on a path, and the search for the earliest packet in
//! all lanes.

use ackclock_net::Ecn;
use ackclock_units::{Duration, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// A packet on the path: a segment of a train, or a datagram of unresponsive traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parcel {
    /// The number of its train. [`NO_TRAIN`] if it has no bytes.
    pub(crate) train: u32,
    /// The number of the segment in the train.
    pub(crate) segment: u16,
    pub(crate) ecn: Ecn,
    pub(crate) marked: bool,
    /// The size on the wire, bytes.
    pub(crate) bytes: u32,
}

/// The train number of packets without bytes.
pub(crate) const NO_TRAIN: u32 = u32::MAX;

impl ackclock_net::Packet for Parcel {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        if self.marked { Ecn::Ce } else { self.ecn }
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

/// A packet and its instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    at: Time,
    /// Decides between packets of the same instant.
    order: u64,
    parcel: Parcel,
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

enum Lane {
    InOrder(VecDeque<Waiting>),
    Disordered(BinaryHeap<Reverse<Waiting>>),
}

/// All lanes.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// The head of each lane that is not empty. For a disordered lane also earlier heads, which are stale.
    heads: BinaryHeap<Reverse<(Time, u64, usize)>>,
    order: u64,
}

impl Lanes {
    /// Adds a lane. `in_order`: true if packets leave it in the order in which they enter.
    pub(crate) fn add(&mut self, in_order: bool) -> usize {
        self.lanes.push(if in_order {
            Lane::InOrder(VecDeque::new())
        } else {
            Lane::Disordered(BinaryHeap::new())
        });
        self.lanes.len() - 1
    }

    pub(crate) fn push(&mut self, lane: usize, at: Time, parcel: Parcel) {
        self.order += 1;
        let waiting = Waiting { at, order: self.order, parcel };
        let is_head = match &mut self.lanes[lane] {
            Lane::InOrder(queue) => {
                queue.push_back(waiting);
                queue.len() == 1
            }
            Lane::Disordered(heap) => {
                heap.push(Reverse(waiting));
                heap.peek().is_some_and(|Reverse(head)| head.order == waiting.order)
            }
        };
        if is_head {
            self.heads.push(Reverse((at, waiting.order, lane)));
        }
    }

    /// The instant of the next packet.
    pub(crate) fn next(&self) -> Time {
        // A stale head is later than the present head of its lane, which also has an entry.
        self.heads.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// The earliest instant at which a packet can be at the end of its path, if from each lane it takes at
    /// least `left` until then.
    pub(crate) fn next_end(&self, left: &[Duration]) -> Time {
        self.heads.iter().map(|&Reverse((at, _, lane))| at + left[lane]).min().unwrap_or(Time::NEVER)
    }

    /// The next packet if it is due by `now`, with its lane and instant.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(usize, Time, Parcel)> {
        loop {
            let &Reverse((at, order, lane)) = self.heads.peek()?;
            if at > now {
                return None;
            }
            self.heads.pop();
            let (popped, head) = match &mut self.lanes[lane] {
                Lane::InOrder(queue) => (queue.pop_front(), queue.front().copied()),
                Lane::Disordered(heap) => {
                    if heap.peek().is_none_or(|Reverse(head)| head.order != order) {
                        continue;
                    }
                    (heap.pop().map(|Reverse(head)| head), heap.peek().map(|Reverse(head)| *head))
                }
            };
            if let Some(head) = head {
                self.heads.push(Reverse((head.at, head.order, lane)));
            }
            let Some(waiting) = popped else { continue };
            return Some((lane, waiting.at, waiting.parcel));
        }
    }

    /// The number of waiting packets.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        let length = |lane: &Lane| match lane {
            Lane::InOrder(queue) => queue.len(),
            Lane::Disordered(heap) => heap.len(),
        };
        self.lanes.iter().map(length).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parcel(segment: u16) -> Parcel {
        Parcel { train: NO_TRAIN, segment, ecn: Ecn::NotEct, marked: false, bytes: 1500 }
    }

    proptest! {
        #[test]
        fn everything_comes_out_once_and_in_order_of_time(
            entries in prop::collection::vec((0_usize..4, 0_u64..1000, 0_u64..50), 1..200),
        ) {
            let mut lanes = Lanes::default();
            (0..4).for_each(|lane| { lanes.add(lane < 2); });
            let left = [0, 300, 20, 7].map(Duration::from_nanos);
            let (mut now, mut last) = (0, [0; 4]);
            let (mut out, mut inside) = (Vec::new(), Vec::new());
            for (number, &(lane, ahead, step)) in entries.iter().enumerate() {
                now += step;
                while let Some((lane, at, parcel)) = lanes.pop(Time::from_nanos(now)) {
                    out.push((at, lane, parcel.segment));
                    inside.retain(|&(number, _)| number != parcel.segment);
                }
                let at = if lane < 2 { last[lane].max(now + ahead) } else { now + ahead };
                last[lane] = at;
                lanes.push(lane, Time::from_nanos(at), parcel(number as u16));
                inside.push((number as u16, Time::from_nanos(at) + left[lane]));
                prop_assert_eq!(Some(lanes.next_end(&left)), inside.iter().map(|&(_, end)| end).min());
            }
            while let Some((lane, at, parcel)) = lanes.pop(Time::NEVER) {
                out.push((at, lane, parcel.segment));
            }
            prop_assert_eq!((lanes.waiting(), lanes.next_end(&left)), (0, Time::NEVER));
            prop_assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            let mut numbers: Vec<u16> = out.iter().map(|&(_, _, number)| number).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..entries.len() as u16).collect::<Vec<_>>());
        }
    }
}
