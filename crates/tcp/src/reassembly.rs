//! The out-of-order data of a receiver: runs of segments with boundary tags, in constant time per arrival.
//!
//! The first and the last segment of every run store the length of the run. So a segment that arrives next to
//! one or two runs finds their far ends without a search (as in Knuth's boundary-tag allocation, TAOCP 2.5).

/// Segments received, in order and out of order.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// The length at both ends of a run, non-zero inside, 0 for a missing segment; at `seq & mask`.
    tags: Vec<u32>,
    next: u64,
    /// One past the highest received segment. Entries from here on are not valid yet. At least `next`.
    limit: u64,
    /// Segments held above `next`.
    held: u64,
    /// The number of entries read so far.
    #[cfg(test)]
    pub(crate) steps: std::cell::Cell<u64>,
}

/// Inside a run any non-zero value will do.
const INSIDE: u32 = 1;

/// The effect of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The segment was the next in order and nothing was held: it is delivered.
    InOrder,
    /// The segment filled the first hole: this many segments are delivered.
    Filled(u64),
    /// The segment is held in the run `start..end`.
    Held {
        /// First segment of the run.
        start: u64,
        /// One past its last.
        end: u64,
    },
    /// The segment was there already.
    Duplicate,
}

impl Reassembly {
    /// The next expected segment: everything below is delivered.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Segments held above a hole.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Delivers `seq` if it is the next expected segment and nothing is held. Otherwise returns false, and
    /// changes nothing.
    #[inline(always)]
    pub fn take_next(&mut self, seq: u64) -> bool {
        let simple = seq == self.next && self.held == 0;
        if simple {
            self.next += 1;
            self.limit = self.next;
        }
        simple
    }

    /// Adds a segment.
    #[inline]
    pub fn receive(&mut self, seq: u64) -> Arrival {
        if seq < self.next {
            return Arrival::Duplicate;
        }
        if seq == self.next {
            self.next += 1;
            if self.held == 0 {
                self.limit = self.next;
                return Arrival::InOrder;
            }
            let run = self.tag(self.next);
            self.next += u64::from(run);
            self.held -= u64::from(run);
            self.limit = self.limit.max(self.next);
            return Arrival::Filled(1 + u64::from(run));
        }
        self.hold(seq)
    }

    /// The run of `seq`, if `seq` is one of its ends.
    pub fn run_at_end(&self, seq: u64) -> Option<(u64, u64)> {
        let length = u64::from(self.tag(seq));
        if length == 0 {
            return None;
        }
        if self.tag(seq.wrapping_sub(1)) == 0 || seq == self.next {
            return Some((seq, seq + length));
        }
        (self.tag(seq + 1) == 0).then(|| (seq + 1 - length, seq + 1))
    }

    /// The highest run held above a hole, if there is one.
    pub fn highest_run(&self) -> Option<(u64, u64)> {
        if self.held == 0 { None } else { self.run_at_end(self.limit - 1) }
    }

    fn hold(&mut self, seq: u64) -> Arrival {
        self.reach(seq + 1);
        if self.tag(seq) != 0 {
            return Arrival::Duplicate;
        }
        // The neighbours are ends of their runs, because `seq` was missing.
        let left = u64::from(self.tag(seq - 1));
        let right = u64::from(self.tag(seq + 1));
        let (start, end) = (seq - left, seq + 1 + right);
        self.set(seq, INSIDE);
        let length = (end - start) as u32;
        self.set(start, length);
        self.set(end - 1, length);
        self.held += 1;
        Arrival::Held { start, end }
    }

    #[inline]
    fn tag(&self, seq: u64) -> u32 {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        if seq >= self.limit || seq < self.next { 0 } else { self.tags[seq as usize & (self.tags.len() - 1)] }
    }

    fn set(&mut self, seq: u64, tag: u32) {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        let mask = self.tags.len() - 1;
        self.tags[seq as usize & mask] = tag;
    }

    /// Makes entries valid up to `end`.
    fn reach(&mut self, end: u64) {
        let needed = end - self.next;
        if needed > self.tags.len() as u64 {
            let size = (needed as usize).next_power_of_two().max(64);
            let mut tags = vec![0; size];
            for seq in self.next..self.limit {
                tags[seq as usize & (size - 1)] = self.tag(seq);
            }
            self.tags = tags;
        }
        while self.limit < end {
            let limit = self.limit;
            self.set(limit, 0);
            self.limit += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(offsets in prop::collection::vec(0_u64..60, 1..400)) {
            let mut reassembly = Reassembly::default();
            let mut received = BTreeSet::new();
            for offset in offsets {
                let seq = (reassembly.next() + offset).saturating_sub(3);
                let before = reassembly.next();
                let fresh = received.insert(seq);
                let arrival = reassembly.receive(seq);
                let next = (0..).find(|seq| !received.contains(seq)).unwrap_or(0);
                prop_assert_eq!(reassembly.next(), next);
                let top = received.range(next..).next_back().copied();
                prop_assert_eq!(reassembly.highest_run().map(|(_, end)| end - 1), top);
                let bottom = top.map(|top| (next..top).rev().find(|seq| !received.contains(seq)).unwrap_or(next));
                prop_assert_eq!(reassembly.highest_run().map(|(start, _)| start - 1), bottom);
                prop_assert_eq!(reassembly.held(), received.range(next..).count() as u64);
                match arrival {
                    Arrival::Duplicate => prop_assert!(!fresh),
                    Arrival::InOrder => prop_assert_eq!(next, before + 1),
                    Arrival::Filled(count) => prop_assert_eq!(next, before + count),
                    Arrival::Held { start, end } => {
                        prop_assert!(fresh && start <= seq && seq < end);
                        prop_assert!((start..end).all(|seq| received.contains(&seq)));
                        prop_assert!(!received.contains(&end) && !received.contains(&(start - 1)));
                        prop_assert_eq!(reassembly.run_at_end(start), Some((start, end)));
                        prop_assert_eq!(reassembly.run_at_end(end - 1), Some((start, end)));
                    }
                }
            }
        }
    }
}
