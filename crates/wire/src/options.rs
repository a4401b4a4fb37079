//! The options of a TCP header (RFC 9293 section 3.2, RFC 2018, RFC 7323, RFC 9768).

/// The most blocks of selective acknowledgements that fit: 4, or 3 beside timestamps (RFC 2018 section 3).
pub const MAX_SACKS: usize = 4;
/// The longest options, bytes (RFC 9293 section 3.1: the data offset has four bits).
pub const MAX_OPTIONS: usize = 40;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;

/// The counters of bytes in an option of accurate ECN (RFC 9768 section 3.2.3): the lower 24 bits of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EchoedBytes {
    /// True: the order ECT(1), CE, ECT(0). False: ECT(0), CE, ECT(1).
    pub reversed: bool,
    /// The counters in their order.
    pub counters: [u32; 3],
    /// How many of them are there.
    pub count: u8,
}

impl EchoedBytes {
    /// The counter of bytes that arrived with CE, if it is there.
    pub fn marked(&self) -> Option<u32> {
        (self.count > 1).then_some(self.counters[1])
    }

    /// Its length with padding, bytes.
    fn padded(&self) -> usize {
        (2 + 3 * usize::from(self.count)).next_multiple_of(4)
    }
}

/// The options that this project knows. All others are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The largest segment that is asked for, bytes (RFC 9293).
    pub mss: Option<u16>,
    /// The shift of windows that is offered (RFC 7323).
    pub window_scale: Option<u8>,
    /// Selective acknowledgements are permitted (RFC 2018).
    pub sack_permitted: bool,
    /// The timestamp, and the echoed one (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// The bytes that arrived with each codepoint of ECN (RFC 9768).
    pub echoed: Option<EchoedBytes>,
    pub(crate) blocks: [(u32, u32); MAX_SACKS],
    pub(crate) block_count: u8,
}

impl Options {
    /// The blocks of selective acknowledgements: the first sequence number and the one after the last.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// The length of all options without the blocks, bytes.
    fn others(&self) -> usize {
        let words = usize::from(self.mss.is_some())
            + usize::from(self.window_scale.is_some())
            + usize::from(self.sack_permitted)
            + 3 * usize::from(self.timestamps.is_some());
        4 * words + self.echoed.map_or(0, |echoed| echoed.padded())
    }

    /// Adds a block. False if there is no room beside the other options: beside timestamps there are three,
    /// and two if there are counters of ECN, too.
    pub fn add_sack(&mut self, start: u32, end: u32) -> bool {
        let at = usize::from(self.block_count);
        let fits = at < MAX_SACKS && self.others() + 4 + 8 * (at + 1) <= MAX_OPTIONS;
        if fits {
            self.blocks[at] = (start, end);
            self.block_count += 1;
        }
        fits
    }

    /// The options in `bytes`, up to the first whose length is wrong. Of an option that is there twice the
    /// last one counts.
    pub fn read(mut bytes: &[u8]) -> Options {
        let mut options = Options::default();
        while let [kind, rest @ ..] = bytes {
            match *kind {
                END => break,
                NOP => bytes = rest,
                kind => {
                    let Some(length) = rest.first().map(|&length| usize::from(length)) else { break };
                    if length < 2 || length > bytes.len() {
                        break;
                    }
                    options.take(kind, &bytes[2..length]);
                    bytes = &bytes[length..];
                }
            }
        }
        options
    }

    /// One option: what follows its kind and its length. One of the wrong length is ignored.
    fn take(&mut self, kind: u8, value: &[u8]) {
        let number = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
        match (kind, value.len()) {
            (MSS, 2) => self.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (WINDOW_SCALE, 1) => self.window_scale = Some(value[0]),
            (SACK_PERMITTED, 0) => self.sack_permitted = true,
            (TIMESTAMPS, 8) => self.timestamps = Some((number(0), number(4))),
            (ACCECN0 | ACCECN1, length) => {
                // RFC 9768 section 3.2.3: of any other length, the counters that are whole count.
                let mut echoed = EchoedBytes { reversed: kind == ACCECN1, ..EchoedBytes::default() };
                echoed.count = (length / 3).min(3) as u8;
                for (counter, three) in echoed.counters.iter_mut().zip(value.chunks_exact(3)) {
                    *counter = u32::from_be_bytes([0, three[0], three[1], three[2]]);
                }
                self.echoed = Some(echoed);
            }
            (SACK, length) if length.is_multiple_of(8) && length <= 8 * MAX_SACKS => {
                self.block_count = (length / 8) as u8;
                for (block, at) in self.blocks.iter_mut().zip((0..length).step_by(8)) {
                    *block = (number(at), number(at + 4));
                }
            }
            _ => {}
        }
    }

    /// Writes the options, a multiple of four bytes. Returns their length. The layout is Linux's: each option
    /// begins at a multiple of four bytes behind its padding (RFC 7323 appendix A).
    ///
    /// # Panics
    ///
    /// If other options were set after the blocks, and all together are longer than 40 bytes.
    pub fn write(&self, bytes: &mut [u8; MAX_OPTIONS]) -> usize {
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        if let Some(mss) = self.mss {
            let [high, low] = mss.to_be_bytes();
            put(&[MSS, 4, high, low]);
        }
        if self.sack_permitted {
            put(&[NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some((value, echo)) = self.timestamps {
            put(&[NOP, NOP, TIMESTAMPS, 10]);
            put(&value.to_be_bytes());
            put(&echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            put(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        if let Some(echoed) = self.echoed {
            let count = usize::from(echoed.count.min(3));
            put(&[NOP; 3][..echoed.padded() - 2 - 3 * count]);
            put(&[if echoed.reversed { ACCECN1 } else { ACCECN0 }, 2 + 3 * count as u8]);
            for counter in &echoed.counters[..count] {
                put(&counter.to_be_bytes()[1..]);
            }
        }
        if self.block_count > 0 {
            put(&[NOP, NOP, SACK, 2 + 8 * self.block_count]);
            for &(start, end) in self.sacks() {
                put(&start.to_be_bytes());
                put(&end.to_be_bytes());
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unknown_options_are_skipped() {
        // Fast Open (34) of four bytes, then MSS 1460, then one that is longer than what is left.
        let bytes = [34, 4, 1, 2, NOP, MSS, 4, 5, 0xb4, WINDOW_SCALE, 3, 7, 99, 9];
        let options = Options::read(&bytes);
        assert_eq!((options.mss, options.window_scale), (Some(1460), Some(7)));
        assert_eq!(Options::read(&[END, MSS, 4, 5, 0xb4]), Options::default());
        assert_eq!(Options::read(&[MSS, 0, 5]), Options::default());
    }

    #[test]
    fn three_blocks_and_timestamps_fill_the_options() {
        let mut options = Options { timestamps: Some((1, 2)), ..Options::default() };
        assert!((0..3).all(|at| options.add_sack(at, at + 1)));
        assert!(!options.add_sack(9, 10));
        assert_eq!(options.write(&mut [0; MAX_OPTIONS]), MAX_OPTIONS);
        let mut options = Options::default();
        assert!((0..4).all(|at| options.add_sack(at, at + 1)));
        assert_eq!(options.write(&mut [0; MAX_OPTIONS]), 36);
    }

    #[test]
    fn counters_of_ecn_are_cut_and_padded() {
        // RFC 9768 table 5: lengths 2, 5, 8, 11, and of another one the whole counters.
        let read = |bytes: &[u8]| Options::read(bytes).echoed.expect("an option");
        assert_eq!(read(&[172, 2]), EchoedBytes::default());
        let two = read(&[174, 8, 0, 0, 1, 0xff, 0xff, 0xff]);
        assert_eq!((two.reversed, two.count, two.marked()), (true, 2, Some(0xff_ffff)));
        assert_eq!(read(&[172, 7, 0, 1, 2, 9, 9]).count, 1);
        assert_eq!(read(&[172, 14, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 9, 9]).counters, [1, 2, 3]);
        // Beside timestamps there is room for two blocks (RFC 9768 section 3.2.3.3).
        let timestamps = Some((1, 2));
        let mut options = Options { timestamps, echoed: Some(two), ..Options::default() };
        assert!(options.add_sack(1, 2) && options.add_sack(3, 4) && !options.add_sack(5, 6));
        assert_eq!(options.write(&mut [0; MAX_OPTIONS]), MAX_OPTIONS);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            mss in proptest::option::of(any::<u16>()),
            window_scale in proptest::option::of(any::<u8>()),
            sack_permitted: bool,
            timestamps in proptest::option::of(any::<(u32, u32)>()),
            reversed: bool,
            counters in proptest::option::of(proptest::collection::vec(0_u32..1 << 24, 0..=3)),
            blocks in proptest::collection::vec(any::<(u32, u32)>(), 0..2),
        ) {
            let echoed = counters.map(|counters| {
                let mut echoed = EchoedBytes { reversed, count: counters.len() as u8, counters: [0; 3] };
                echoed.counters[..counters.len()].copy_from_slice(&counters);
                echoed
            });
            let mut options =
                Options { mss, window_scale, sack_permitted, timestamps, echoed, ..Options::default() };
            let room = MAX_OPTIONS - options.others();
            for (at, (start, end)) in blocks.into_iter().enumerate() {
                prop_assert_eq!(options.add_sack(start, end), 4 + 8 * (at + 1) <= room);
            }
            let mut bytes = [0; MAX_OPTIONS];
            let length = options.write(&mut bytes);
            prop_assert_eq!(length % 4, 0);
            prop_assert_eq!(Options::read(&bytes[..length]), options);
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..=MAX_OPTIONS)) {
            Options::read(&bytes);
        }
    }
}
