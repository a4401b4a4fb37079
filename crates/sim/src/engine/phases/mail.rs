//! Packets that have arrived at an endpoint, or will, and that it has not taken yet.

use super::slots::Slots;
use ackclock_units::Time;

/// Packets in the order of their arrivals.
pub(super) struct Mail<P> {
    entries: Slots<(Time, P)>,
    /// The first entry that is not taken.
    head: usize,
}

impl<P> Default for Mail<P> {
    fn default() -> Mail<P> {
        Mail { entries: Slots::default(), head: 0 }
    }
}

impl<P: Copy + Default> Mail<P> {
    /// Adds a packet that arrives last.
    #[inline(always)] // the packet is copied once
    pub(super) fn push(&mut self, at: Time, packet: &P) {
        let entry = self.entries.add();
        entry.0 = at;
        entry.1 = *packet;
    }

    /// Adds a packet behind those that arrive up to the same instant.
    pub(super) fn insert(&mut self, at: Time, packet: &P) {
        let place = self.waiting().partition_point(|&(other, _)| other <= at);
        self.push(at, packet);
        self.entries.all_mut()[self.head..][place..].rotate_right(1);
    }

    /// Adds all packets of another mail, each behind those that arrive up to the same instant. Empties it.
    pub(super) fn append(&mut self, later: &mut Mail<P>) {
        if self.is_empty() {
            self.entries.clear();
            self.head = 0;
            return std::mem::swap(self, later);
        }
        let last = self.waiting().last().map_or(Time::ZERO, |&(at, _)| at);
        if last <= later.due() {
            self.entries.extend(later.waiting());
        } else {
            later.waiting().iter().for_each(|(at, packet)| self.insert(*at, packet));
        }
        later.entries.clear();
        later.head = 0;
    }

    fn waiting(&self) -> &[(Time, P)] {
        &self.entries.all()[self.head..]
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.entries.all().get(self.head).map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Takes the next packet, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<&(Time, P)> {
        let next = self.entries.all().get(self.head)?;
        self.head += 1;
        Some(next)
    }

    /// Takes the next packet, if it arrives before `until`.
    #[inline(always)]
    pub(super) fn take_before(&mut self, until: Time) -> Option<&(Time, P)> {
        let next = self.entries.all().get(self.head).filter(|&&(at, _)| at < until)?;
        self.head += 1;
        Some(next)
    }

    /// True if all packets are taken.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.entries.len()
    }

    /// Forgets what is taken. If that is all, and there is room for more than `keep` packets, gives it back:
    /// ten thousand flows have ten thousand of these, and few of them have a burst at the same time.
    #[inline]
    pub(super) fn tidy(&mut self, keep: usize) {
        if self.is_empty() {
            if self.entries.room() > keep {
                self.entries = Slots::default();
            }
            self.entries.clear();
            self.head = 0;
        } else if self.head > self.entries.len() / 2 {
            self.entries.remove(self.head);
            self.head = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_stable_sort(steps in prop::collection::vec((0_u64..100, 0_u8..6), 1..200)) {
            let (mut mail, mut naive) = (Mail::default(), Vec::new());
            let (mut number, mut last) = (0_u32, 0);
            let (mut other, mut others) = (Mail::default(), Vec::new());
            for (at, step) in steps {
                match step {
                    4 => {
                        other.insert(Time::from_nanos(at), &number);
                        others.push((at, number));
                        number += 1;
                    }
                    5 => {
                        mail.append(&mut other);
                        naive.append(&mut others);
                        naive.sort_by_key(|&(at, _)| at);
                        last = naive.last().map_or(last, |&(at, _)| last.max(at));
                        prop_assert!(other.is_empty());
                    }
                    0 | 1 => {
                        let at = if step == 0 { last + at } else { at };
                        let time = Time::from_nanos(at);
                        if step == 0 { mail.push(time, &number) } else { mail.insert(time, &number) }
                        last = last.max(at);
                        naive.push((at, number));
                        naive.sort_by_key(|&(at, _)| at);
                        number += 1;
                    }
                    2 => {
                        let until = Time::from_nanos(at);
                        let first = naive.first().copied().filter(|&(due, _)| due < at);
                        let taken = mail.take_before(until).map(|&(due, packet)| (due.as_nanos(), packet));
                        prop_assert_eq!(taken, first);
                        naive.drain(..usize::from(first.is_some()));
                    }
                    _ => mail.tidy(8),
                }
                let due = naive.first().map_or(Time::NEVER, |&(at, _)| Time::from_nanos(at));
                prop_assert_eq!((mail.due(), mail.is_empty()), (due, naive.is_empty()));
            }
        }
    }
}
