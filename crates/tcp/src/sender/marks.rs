//! How many of our segments the path has marked.

use super::Sender;

/// The counter of accurate ECN has three bits (RFC 9768 section 3.2.2).
const CYCLE: u64 = 8;

/// What an acknowledgement of accurate ECN newly says of marked packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marks {
    /// The least possible number, from 0 to 7. The real one may be larger by a multiple of 8.
    pub least: u8,
    /// The number by the marked bytes, rounded up, if the receiver has told them.
    pub about: Option<u32>,
    /// True: the acknowledgement before told of marks, too.
    pub runs: bool,
}

impl Marks {
    /// The marks among `delivered` packets: RFC 9768 section 3.2.2.5.2 and appendix A.2. The three bits are
    /// believed even if they say more than were delivered, and nothing else is.
    pub fn of(&self, delivered: u64) -> u64 {
        let least = u64::from(self.least);
        let most = delivered.saturating_sub(least) / CYCLE;
        let cycles = match self.about {
            // The number with these three bits that is next to what the bytes say.
            Some(about) => (u64::from(about).saturating_sub(least) + CYCLE / 2) / CYCLE,
            // The safest likely case: where marks go on, as many as there can be.
            None if self.runs => most,
            None => 0,
        };
        least + cycles.min(most) * CYCLE
    }
}

impl Sender {
    /// The next acknowledgement, which must have [`ECE`](crate::Flags::ECE), says this of marks. Without it,
    /// an echo counts as the [settings](crate::Config::dctcp_echo) say.
    pub fn tell_marks(&mut self, marks: Marks) {
        self.cuts.told = Some(marks);
    }

    /// The marks that an acknowledgement of `acked` segments with an echo reports, of which `delivered` have
    /// newly arrived.
    #[cold]
    pub(super) fn marks(&mut self, acked: u64, delivered: u64) -> u64 {
        match (self.config.ecn, self.cuts.told.take(), self.config.dctcp_echo) {
            (false, ..) => 0,
            (true, Some(told), _) => told.of(delivered),
            (true, None, false) => 1,
            (true, None, true) => acked, // RFC 8257 section 3.3 (1), (3): SACK does not count
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_has_cycled_is_read_with_the_bytes() {
        let told = |least, about, runs| Marks { least, about, runs };
        assert_eq!(told(3, Some(11), false).of(20), 11);
        assert_eq!(told(3, Some(12), false).of(20), 11); // segments that were not full
        assert_eq!(told(0, Some(16), false).of(16), 16);
        assert_eq!(told(0, Some(0), true).of(100), 0);
        assert_eq!(told(3, Some(11), false).of(7), 3); // fewer packets than a cycle
        assert_eq!(told(5, Some(u32::MAX), false).of(20), 13, "a peer that lies");
        assert_eq!(told(7, None, true).of(1), 7);
    }

    #[test]
    fn without_bytes_a_run_of_marks_goes_on() {
        // RFC 9768 appendix A.2: of 10 packets, 2 or 10.
        assert_eq!(Marks { least: 2, about: None, runs: true }.of(10), 10);
        assert_eq!(Marks { least: 2, about: None, runs: false }.of(10), 2);
        assert_eq!(Marks { least: 0, about: None, runs: true }.of(17), 16);
    }
}
