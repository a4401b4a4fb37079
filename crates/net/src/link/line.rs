//! The packets that wait for a transmitter whose work is computed: first in, first out.

use ackclock_units::Time;

/// When the transmission of each packet begins, and its size, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// A ring: empty, or a power of two.
    ring: Vec<(Time, u32)>,
    /// The packets that have gone, and those that have come.
    gone: usize,
    come: usize,
    /// The bytes of those that wait.
    bytes: u64,
}

impl Line {
    /// The number of packets that wait.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        (self.come - self.gone) as u32
    }

    /// Their bytes.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a packet whose transmission begins at `start`, after those of all others.
    #[inline(always)]
    pub(super) fn push(&mut self, start: Time, bytes: u32) {
        if self.come - self.gone == self.ring.len() {
            self.enlarge();
        }
        let place = self.come & (self.ring.len() - 1);
        self.ring[place] = (start, bytes);
        self.come += 1;
        self.bytes += u64::from(bytes);
    }

    /// Removes packets whose transmission has begun.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time) {
        while self.gone != self.come {
            let (start, bytes) = self.ring[self.gone & (self.ring.len() - 1)];
            if start > now {
                break;
            }
            self.gone += 1;
            self.bytes -= u64::from(bytes);
        }
    }

    /// When the transmissions of the packets begin, the last one first.
    pub(super) fn starts(&self) -> impl Iterator<Item = Time> {
        (self.gone..self.come).rev().map(|place| self.ring[place & (self.ring.len() - 1)].0)
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&mut self) {
        let waiting: Vec<_> =
            (self.gone..self.come).map(|place| self.ring[place & (self.ring.len() - 1)]).collect();
        (self.gone, self.come) = (0, waiting.len());
        self.ring = waiting;
        self.ring.resize((2 * self.come).next_power_of_two().max(16), (Time::ZERO, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_a_deque(steps in prop::collection::vec((0_u64..20, 0_u64..20, 0_u32..2000), 1..300)) {
            let (mut line, mut deque) = (Line::default(), VecDeque::new());
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
