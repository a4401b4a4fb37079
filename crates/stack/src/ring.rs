//! A ring of bytes: a stretch of a stream, each byte at its number in the stream.
//!
//! The memory grows with what is held, in powers of two, and is given back when nothing is held.

/// What an empty ring keeps, bytes.
const KEPT: usize = 64 << 10;
/// The least that is allocated, bytes.
const LEAST: usize = 4 << 10;

/// The bytes.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    /// Byte `n` of the stream is at `n` modulo the length, which is a power of two.
    bytes: Vec<u8>,
}

impl Ring {
    /// The memory that it holds, bytes.
    pub(crate) fn held(&self) -> usize {
        self.bytes.len()
    }

    /// Writes `data` as the bytes from `at` on. Bytes from `base` on stay; none is at or above `top`.
    pub(crate) fn put(&mut self, base: u64, top: u64, at: u64, data: &[u8]) {
        let end = (at + data.len() as u64).max(top);
        self.reach(base, top, (end - base) as usize);
        if data.is_empty() {
            return;
        }
        let from = self.place(at);
        let first = data.len().min(self.bytes.len() - from);
        self.bytes[from..from + first].copy_from_slice(&data[..first]);
        self.bytes[..data.len() - first].copy_from_slice(&data[first..]);
    }

    /// The bytes `from..to`, in up to two parts.
    pub(crate) fn get(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let length = (to - from) as usize;
        if length == 0 {
            return [&[], &[]];
        }
        let at = self.place(from);
        let first = length.min(self.bytes.len() - at);
        [&self.bytes[at..at + first], &self.bytes[..length - first]]
    }

    /// Nothing is held any more. Gives back what was needed for a lot.
    pub(crate) fn empty(&mut self) {
        if self.bytes.len() > KEPT {
            self.bytes = Vec::new();
        }
    }

    fn place(&self, number: u64) -> usize {
        number as usize & (self.bytes.len() - 1)
    }

    /// Makes room for `wanted` bytes from `base` on, of which those below `top` are there.
    fn reach(&mut self, base: u64, top: u64, wanted: usize) {
        if wanted <= self.bytes.len() {
            return;
        }
        let mut larger = Ring { bytes: vec![0; wanted.next_power_of_two().max(LEAST)] };
        let mut at = base;
        for part in self.get(base, top.max(base)) {
            larger.put(base, at, at, part);
            at += part.len() as u64;
        }
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain vector: bytes are added at the end, taken at the begin, and always the same.
        #[test]
        fn it_holds_what_was_put(steps in proptest::collection::vec((0_usize..9000, 0_usize..9000), 1..30)) {
            let mut ring = Ring::default();
            let (mut base, mut all) = (0_u64, Vec::<u8>::new());
            for (more, less) in steps {
                let data: Vec<u8> = (0..more).map(|at| (at * 7 + all.len()) as u8).collect();
                let top = all.len() as u64;
                ring.put(base, top, top, &data);
                all.extend(&data);
                let [first, second] = ring.get(base, all.len() as u64);
                prop_assert_eq!([first, second].concat(), &all[base as usize..]);
                base = (base + less as u64).min(all.len() as u64);
                if base == all.len() as u64 {
                    ring.empty();
                }
            }
        }
    }
}
