//! The packets that wait for a transmitter whose work is computed: first in, first out.

use ackclock_units::Time;

/// When the transmission of each packet begins, and its size, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// A ring: empty, or a power of two.
    ring: Box<[(Time, u32)]>,
    /// The packets that have gone, and those that have come. Both begin again at 0 after the largest number.
    gone: u32,
    come: u32,
    /// The bytes of those that wait.
    bytes: u64,
}

impl Line {
    /// The number of packets that wait.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.come.wrapping_sub(self.gone)
    }

    /// Their bytes.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a packet whose transmission begins at `start`, after those of all others.
    #[inline(always)]
    pub(super) fn push(&mut self, start: Time, bytes: u32) {
        if self.packets() as usize == self.ring.len() {
            self.enlarge();
        }
        let place = self.place(self.come);
        self.ring[place] = (start, bytes);
        self.come = self.come.wrapping_add(1);
        self.bytes += u64::from(bytes);
    }

    /// Removes packets whose transmission has begun.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time) {
        while self.gone != self.come {
            let (start, bytes) = self.ring[self.place(self.gone)];
            if start > now {
                break;
            }
            self.gone = self.gone.wrapping_add(1);
            self.bytes -= u64::from(bytes);
        }
    }

    /// When the transmissions of the packets begin, the last one first.
    pub(super) fn starts(&self) -> impl Iterator<Item = Time> {
        self.waiting().rev().map(|(start, _)| start)
    }

    /// The packets that wait.
    fn waiting(&self) -> impl DoubleEndedIterator<Item = (Time, u32)> {
        (0..self.packets()).map(|number| self.ring[self.place(self.gone.wrapping_add(number))])
    }

    /// The place of the packet that came after so many others.
    #[inline(always)]
    fn place(&self, number: u32) -> usize {
        number as usize & self.ring.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&mut self) {
        let mut ring: Vec<_> = self.waiting().collect();
        (self.gone, self.come) = (0, self.packets());
        ring.resize((2 * ring.len()).max(16), (Time::ZERO, 0));
        self.ring = ring.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_a_deque(
            steps in prop::collection::vec((0_u64..20, 0_u64..20, 0_u32..2000), 1..300),
            before in prop_oneof![Just(0), u32::MAX - 300..=u32::MAX],
        ) {
            let (mut line, mut deque) = (Line { gone: before, come: before, ..Line::default() }, VecDeque::new());
            let (mut start, mut now) = (0, 0);
            for (later, passes, bytes) in steps {
                (start, now) = (start + later, now + passes);
                line.push(Time::from_nanos(start), bytes);
                deque.push_back((start, bytes));
                line.advance(Time::from_nanos(now));
                while deque.front().is_some_and(|&(start, _)| start <= now) {
                    deque.pop_front();
                }
                prop_assert_eq!(line.packets() as usize, deque.len());
                prop_assert_eq!(line.bytes(), deque.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>());
                let starts: Vec<u64> = line.starts().map(Time::as_nanos).collect();
                prop_assert_eq!(starts, deque.iter().rev().map(|&(start, _)| start).collect::<Vec<_>>());
            }
        }
    }
}
