//! What packets on their way carry, where the packet itself is only a number.

use std::collections::VecDeque;

/// The contents of packets that were sent and are neither received nor lost, in the order of their numbers.
pub(super) struct Carried<T> {
    /// The number of the first entry.
    first: u64,
    /// Each with the number of its copies on the way.
    entries: VecDeque<(T, u32)>,
    /// All copies on the way.
    on_the_way: u64,
}

impl<T> Default for Carried<T> {
    fn default() -> Carried<T> {
        Carried { first: 0, entries: VecDeque::new(), on_the_way: 0 }
    }
}

impl<T: Copy> Carried<T> {
    /// A packet leaves. Returns its number.
    pub(super) fn send(&mut self, content: T) -> u64 {
        self.entries.push_back((content, 1));
        self.on_the_way += 1;
        self.first + self.entries.len() as u64 - 1
    }

    /// The path made a second copy.
    pub(super) fn double(&mut self, number: u64) {
        if let Some((_, copies)) = self.entry(number) {
            *copies += 1;
            self.on_the_way += 1;
        }
    }

    /// The number of packets on the way.
    pub(super) fn on_the_way(&self) -> u64 {
        self.on_the_way
    }

    /// A copy arrived or was lost. Returns what it carries.
    pub(super) fn take(&mut self, number: u64) -> Option<T> {
        let (content, copies) = self.entry(number)?;
        *copies = copies.checked_sub(1)?;
        let content = *content;
        self.on_the_way -= 1;
        while self.entries.front().is_some_and(|&(_, copies)| copies == 0) {
            self.entries.pop_front();
            self.first += 1;
        }
        Some(content)
    }

    fn entry(&mut self, number: u64) -> Option<&mut (T, u32)> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0..3_u8, 0..40_u64), 1..300)) {
            let (mut carried, mut map) = (Carried::default(), BTreeMap::new());
            let mut sent = 0;
            for (step, number) in steps {
                match step {
                    0 => {
                        prop_assert_eq!(carried.send(sent * 7), sent);
                        map.insert(sent, 1);
                        sent += 1;
                    }
                    // The path copies and loses what is on it.
                    _ if !map.contains_key(&number) => prop_assert_eq!(carried.take(number), None),
                    1 => {
                        carried.double(number);
                        *map.entry(number).or_insert(0) += 1;
                    }
                    _ => {
                        prop_assert_eq!(carried.take(number), Some(number * 7));
                        let copies = map.entry(number).or_insert(0);
                        *copies -= 1;
                        if *copies == 0 {
                            map.remove(&number);
                        }
                    }
                }
                let first = map.keys().next().copied().unwrap_or(sent);
                prop_assert_eq!(carried.on_the_way(), map.values().sum::<u64>());
                prop_assert_eq!(carried.entries.len() as u64, sent - first, "nothing is kept longer than needed");
            }
        }
    }
}
