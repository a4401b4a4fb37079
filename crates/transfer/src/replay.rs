//! Which packet numbers have been seen: each counts once.
//!
//! Source: RFC 6479. A ring of blocks of bits; a number that is ahead clears the blocks it passes.

const BLOCK_BITS: u64 = 64;
const BLOCKS: u64 = 1 << 10;

/// Numbers that are this far below the highest one, or further, are refused.
pub const WINDOW: u64 = (BLOCKS - 1) * BLOCK_BITS;

/// The numbers of one space.
#[derive(Clone, Debug)]
pub struct Replay {
    highest: u64,
    bits: Box<[u64]>,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { highest: 0, bits: vec![0; BLOCKS as usize].into() }
    }
}

impl Replay {
    /// Notes the number of an authenticated packet. False if it was seen before, or is too old to be told
    /// from one that was.
    pub fn note(&mut self, number: u64) -> bool {
        if number > self.highest {
            let (from, to) = (self.highest / BLOCK_BITS, number / BLOCK_BITS);
            for block in from + 1..=to.min(from + BLOCKS) {
                self.bits[(block % BLOCKS) as usize] = 0;
            }
            self.highest = number;
        } else if self.highest - number >= WINDOW {
            return false;
        }
        let block = &mut self.bits[(number / BLOCK_BITS % BLOCKS) as usize];
        let bit = 1 << (number % BLOCK_BITS);
        let fresh = *block & bit == 0;
        *block |= bit;
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn edges_of_the_window() {
        let mut replay = Replay::default();
        assert!(replay.note(0) && !replay.note(0));
        assert!(replay.note(WINDOW) && !replay.note(0), "0 is too old now");
        assert!(replay.note(1) && !replay.note(1));
        assert!(replay.note(u64::MAX) && !replay.note(u64::MAX) && !replay.note(WINDOW));
        assert!(replay.note(u64::MAX - WINDOW + 1) && !replay.note(u64::MAX - WINDOW));
    }

    proptest! {
        #[test]
        fn it_is_a_set_with_an_edge(steps in prop::collection::vec((0..3_u8, 0..3 * WINDOW), 1..300)) {
            let mut replay = Replay::default();
            let (mut seen, mut highest, mut number) = (HashSet::new(), 0, 0_u64);
            for (kind, value) in steps {
                number = match kind {
                    0 => number + 1,
                    1 => number.saturating_sub(value % 100),
                    _ => value,
                };
                let old = highest >= number + WINDOW;
                prop_assert_eq!(replay.note(number), !old && seen.insert(number), "{}", number);
                highest = highest.max(number);
            }
        }
    }
}
