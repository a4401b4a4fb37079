//! Packets on their way to a gate. They are sorted when the gate takes them.

use super::cause::Cause;
use super::slots::Slots;
use crate::engine::packets::{Acknowledgement, Segment};
use ackclock_units::Time;

/// When a packet is due, and its turn among those of the same instant: its cause, and then its place. Packets
/// with the same cause come as they were pushed: at a higher place than those before. From high bits to low:
/// time, cause, place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Key(u128);

impl Key {
    #[inline]
    fn new(due: Time, cause: Cause, place: usize) -> Key {
        let turn = u64::from(cause.number()) << 32 | place as u64;
        Key(u128::from(due.as_nanos()) << 64 | u128::from(turn))
    }

    #[inline]
    pub(super) fn due(self) -> Time {
        Time::from_nanos(self.nanos())
    }

    #[inline]
    fn nanos(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    pub(super) fn cause(self) -> Cause {
        Cause::of((self.0 >> 32) as u32)
    }

    #[inline]
    pub(super) fn place(self) -> usize {
        self.0 as u32 as usize
    }

    /// The key of the same packet in another place.
    #[inline]
    fn moved_to(self, place: u32) -> Key {
        Key(self.0 >> 32 << 32 | u128::from(place))
    }
}

/// The packets of one kind for one gate.
pub(super) struct Inbox<P> {
    /// Keys apart from packets, because only keys are moved when they are sorted. Those before `head` are
    /// taken, and those before `sorted` in order.
    keys: Vec<Key>,
    head: usize,
    sorted: usize,
    /// Each with the leg that begins for it at the gate. They stay in their places until most of them are
    /// taken.
    packets: Slots<(u32, P)>,
}

impl<P> Default for Inbox<P> {
    fn default() -> Inbox<P> {
        Inbox { keys: Vec::new(), head: 0, sorted: 0, packets: Slots::default() }
    }
}

impl<P: Copy + Default> Inbox<P> {
    /// A packet is due at `due`, and its next leg is `leg`.
    #[inline(always)] // the packet is copied once
    pub(super) fn push(&mut self, leg: u32, due: Time, cause: Cause, packet: &P) {
        self.keys.push(Key::new(due, cause, self.packets.len()));
        let slot = self.packets.add();
        slot.0 = leg;
        slot.1 = *packet;
    }

    /// Sorts what has come. Returns the number of packets that are due before `until`.
    pub(super) fn sort(&mut self, until: Time, room: &mut Room) -> usize {
        if self.sorted < self.keys.len() {
            room.sort(&mut self.keys[self.sorted..]);
            room.merge(&mut self.keys, self.head, self.sorted);
            self.sorted = self.keys.len();
        }
        self.keys[self.head..].partition_point(|key| key.due() < until)
    }

    /// When the first packet is due.
    pub(super) fn due(&self) -> Time {
        let sorted = self.keys[self.head..self.sorted.max(self.head)].first();
        let others = &self.keys[self.sorted.max(self.head)..];
        sorted.into_iter().chain(others).map(|key| key.due()).fold(Time::NEVER, Time::min)
    }

    /// The keys of so many packets in order, after [`Inbox::sort`], and all packets in their places.
    pub(super) fn ready(&mut self, number: usize) -> (&[Key], &mut [(u32, P)]) {
        (&self.keys[self.head..][..number], self.packets.all_mut())
    }

    /// Removes the first packets, up to this number of them.
    pub(super) fn remove(&mut self, number: usize, room: &mut Room) {
        self.head += number;
        if self.head == self.keys.len() {
            self.clear();
        } else if 2 * self.head >= self.keys.len() {
            self.move_up(room);
        }
    }

    /// So many places are needed as packets stay. Those that are behind them move to free places among them.
    /// The keys stay as they are sorted, and what is pushed later gets a higher place.
    fn move_up(&mut self, room: &mut Room) {
        debug_assert_eq!(self.sorted, self.keys.len());
        let (taken, staying) = self.keys.split_at_mut(self.head);
        let needed = staying.len();
        let free = &mut room.counts;
        free.clear();
        free.extend(taken.iter().map(|key| key.place() as u32).filter(|&place| (place as usize) < needed));
        let packets = self.packets.all_mut();
        for (key, &place) in staying.iter_mut().filter(|key| key.place() >= needed).zip(&*free) {
            packets[place as usize] = packets[key.place()];
            *key = key.moved_to(place);
        }
        self.packets.truncate(needed);
        self.keys.drain(..self.head);
        (self.head, self.sorted) = (0, needed);
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.packets.clear();
        (self.head, self.sorted) = (0, 0);
    }

    /// Appends what came to another inbox later, and empties that.
    pub(super) fn append(&mut self, later: &mut Inbox<P>) {
        if later.keys.is_empty() {
            return;
        }
        if self.head == self.keys.len() {
            std::mem::swap(self, later);
        } else {
            for &key in &later.keys[later.head..] {
                let (leg, packet) = &later.packets.all()[key.place()];
                self.push(*leg, key.due(), key.cause(), packet);
            }
        }
        later.clear();
    }
}

/// The packets on their way to a gate.
#[derive(Default)]
pub(super) struct Gate {
    pub(super) data: Inbox<Segment>,
    pub(super) acks: Inbox<Acknowledgement>,
}

impl Gate {
    /// Appends what came elsewhere later, and empties that.
    pub(super) fn append(&mut self, later: &mut Gate) {
        self.data.append(&mut later.data);
        self.acks.append(&mut later.acks);
    }
}

/// Room for sorting and for moving, shared by all inboxes.
#[derive(Default)]
pub(super) struct Room {
    keys: Vec<Key>,
    /// How many keys each stretch of time has. When packets move: the free places.
    counts: Vec<u32>,
}

impl Room {
    /// Sorts keys. Their times are spread fairly evenly, so they are dealt into as many buckets as there are
    /// keys, by time, and then only neighbours change places.
    fn sort(&mut self, keys: &mut [Key]) {
        if keys.windows(2).all(|pair| pair[0] <= pair[1]) {
            return;
        }
        let (first, last) = keys
            .iter()
            .fold((u64::MAX, 0), |(first, last), key| (first.min(key.nanos()), last.max(key.nanos())));
        let buckets = keys.len().next_power_of_two().trailing_zeros();
        let span = u64::BITS - (last - first).leading_zeros();
        let shift = span.saturating_sub(buckets);
        let bucket = |key: &Key| ((key.nanos() - first) >> shift) as usize;
        let Room { counts, keys: dealt } = self;
        counts.clear();
        counts.resize(((last - first) >> shift) as usize + 1, 0);
        for key in &*keys {
            counts[bucket(key)] += 1;
        }
        let (mut before, mut fullest) = (0, 0);
        for count in &mut *counts {
            fullest = fullest.max(*count);
            before += std::mem::replace(count, before);
        }
        // What is left from before is overwritten.
        dealt.resize(dealt.len().max(keys.len()), Key::default());
        let dealt = &mut dealt[..keys.len()];
        for key in &*keys {
            let place = &mut counts[bucket(key)];
            dealt[*place as usize] = *key;
            *place += 1;
        }
        if fullest > FEW {
            let mut begin = 0;
            for &end in &*counts {
                dealt[begin..end as usize].sort_unstable();
                begin = end as usize;
            }
        }
        settle(dealt, keys);
    }

    /// Merges the keys from `first` up to `second` with those from there on. Both are sorted, and most of the
    /// latter come last.
    fn merge(&mut self, keys: &mut [Key], first: usize, second: usize) {
        let Some(&least) = keys.get(second) else { return };
        let first = first + keys[first..second].partition_point(|&key| key < least);
        if first == second {
            return;
        }
        let earlier = second - first;
        self.keys.resize(self.keys.len().max(earlier), Key::default());
        let earlier = &mut self.keys[..earlier];
        earlier.copy_from_slice(&keys[first..second]);
        let (mut from, mut later) = (0, second);
        for place in first..keys.len() {
            let Some(&key) = earlier.get(from) else { return };
            if later < keys.len() && keys[later] < key {
                keys[place] = keys[later];
                later += 1;
            } else {
                keys[place] = key;
                from += 1;
            }
        }
    }
}

/// In buckets below this, neighbours that change places are faster than a sort.
const FEW: u32 = 24;

/// Puts keys that are in order but for neighbours into order.
fn settle(dealt: &[Key], keys: &mut [Key]) {
    let keys = &mut keys[..dealt.len()];
    let mut last = Key::default();
    for (at, &key) in dealt.iter().enumerate() {
        if key >= last {
            (keys[at], last) = (key, key);
            continue;
        }
        keys[at] = key;
        sink(&mut keys[..=at]);
    }
}

/// Brings the last key into its place among the others.
#[inline(never)] // keeps this code away from keys that are in their places
fn sink(keys: &mut [Key]) {
    let mut at = keys.len() - 1;
    while at > 0 && keys[at - 1] > keys[at] {
        keys.swap(at - 1, at);
        at -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_stable_sort(
            rounds in prop::collection::vec(
                (prop::collection::vec((0_u64..400, 0_u32..4), 0..120), 0_u64..500, any::<bool>()), 1..6
            ),
        ) {
            let (mut inbox, mut room) = (Inbox::default(), Room::default());
            let mut naive: Vec<(u64, u32, usize)> = Vec::new();
            let mut number = 0;
            for (packets, until, together) in rounds {
                for (due, exit) in packets {
                    // All at once, or far apart.
                    let due = if together { 100 } else { due * due * due };
                    inbox.push(exit, Time::from_nanos(due), Cause::segment(exit), &number);
                    naive.push((due, exit, number));
                    number += 1;
                }
                let until = until * until * until;
                naive.sort_by_key(|&(due, exit, _)| (due, exit));
                let ready = inbox.sort(Time::from_nanos(until), &mut room);
                prop_assert_eq!(ready, naive.iter().filter(|(due, ..)| *due < until).count());
                let (keys, packets) = inbox.ready(ready);
                for (&key, &(due, exit, number)) in keys.iter().zip(&naive) {
                    prop_assert_eq!((key.due().as_nanos(), key.cause()), (due, Cause::segment(exit)));
                    prop_assert_eq!(packets[key.place()], (exit, number));
                }
                inbox.remove(ready, &mut room);
                naive.drain(..ready);
            }
        }
    }
}
