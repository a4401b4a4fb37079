//! The scoreboard of RFC 6675: the sender's knowledge about holes, in amortised constant time per
//! acknowledgement.
//!
//! SACKed segments are kept as runs in a ring of skips. The entry of a SACKed segment is a distance over
//! which every segment is SACKed. Following skips leads to the first segment that is not SACKed. Each search
//! shortens the skips behind it (path halving, as in union-find), so that searches take amortised
//! near-constant time however long runs grow, and in whatever order blocks arrive.
//!
//! Two edges divide the window. Unacknowledged segments below `lost_edge` count as lost, because enough
//! SACKed segments are above them. This property is monotone, so one edge is enough. Unacknowledged segments
//! below `high_rxt` have been retransmitted in this episode, because RFC 6675's NextSeg always takes the
//! lowest one.
//!
//! A detection such as RACK also finds lost retransmissions. Such segments are in a separate set, which is
//! empty otherwise.

use std::collections::BTreeSet;

/// The scoreboard of one connection.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// The skip of each segment from `una` up to `limit`, at `seq & mask`; 0 if the segment is not SACKed.
    /// Long runs take several skips, because memory matters with hundreds of thousands of segments in flight.
    skips: Vec<u16>,
    una: u64,
    /// One past the highest SACKed segment. Entries from here on are not valid yet. At least `una`.
    limit: u64,
    /// SACKed segments above `una`.
    sacked: u64,
    /// SACKed segments at or above `lost_edge`.
    sacked_above_edge: u64,
    lost_edge: u64,
    high_rxt: u64,
    /// Segments below `lost_edge` that are not SACKed.
    lost: u64,
    /// Segments below `high_rxt` that are neither SACKed nor lost again.
    resent: u64,
    /// Segments below `high_rxt` whose retransmission was lost and not repeated since.
    lost_again: BTreeSet<u64>,
    /// The number of entries read so far.
    #[cfg(test)]
    pub(crate) steps: std::cell::Cell<u64>,
}

impl Scoreboard {
    /// First unacknowledged segment.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Number of SACKed segments.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Number of segments that count as lost (RFC 6675's IsLost), retransmitted or not.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// One past the highest SACKed segment, or `una`.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Every segment below that is not SACKed counts as lost.
    pub fn lost_edge(&self) -> u64 {
        self.lost_edge
    }

    /// Every segment below that is not SACKed has been retransmitted in this episode.
    pub fn high_rxt(&self) -> u64 {
        self.high_rxt
    }

    /// RFC 6675's pipe if everything below `nxt` has been sent: segments that are neither SACKed nor lost,
    /// and retransmitted segments.
    #[inline]
    pub fn pipe(&self, nxt: u64) -> u64 {
        (nxt - self.una) + self.resent - self.sacked - self.lost
    }

    /// True if `seq` is SACKed. `seq` must not be below `una`.
    pub fn is_sacked(&self, seq: u64) -> bool {
        seq < self.limit && self.skips[self.at(seq)] != 0
    }

    /// Moves `una` to the cumulative acknowledgement. Returns how many of the passed segments were SACKed
    /// before.
    #[inline]
    pub fn advance(&mut self, una: u64) -> u64 {
        let was_sacked = if self.is_clear() { 0 } else { self.retire(una) };
        self.una = una;
        self.limit = self.limit.max(una);
        self.lost_edge = self.lost_edge.max(una);
        self.high_rxt = self.high_rxt.max(una);
        was_sacked
    }

    /// True if nothing is SACKed, lost or retransmitted: everything that is outstanding is in flight.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.limit == self.una && self.lost == 0 && self.resent == 0
    }

    /// [`Scoreboard::advance`] of a board that [is clear](Scoreboard::is_clear).
    #[inline]
    pub(crate) fn advance_clear(&mut self, una: u64) {
        // Below an edge the first unacknowledged segment would count, so no edge is above it.
        debug_assert!(self.is_clear() && self.lost_edge <= self.una && self.high_rxt <= self.una);
        self.una = una;
        self.limit = una;
        self.lost_edge = una;
        self.high_rxt = una;
    }

    /// Removes segments from `self.una` up to `una` from all counts.
    fn retire(&mut self, una: u64) -> u64 {
        let (mut sacked, mut sacked_below_lost, mut sacked_below_resent) = (0, 0, 0);
        for seq in self.una..una.min(self.limit) {
            if self.skips[self.at(seq)] != 0 {
                sacked += 1;
                sacked_below_lost += u64::from(seq < self.lost_edge);
                sacked_below_resent += u64::from(seq < self.high_rxt);
            }
        }
        self.sacked -= sacked;
        self.sacked_above_edge -= sacked - sacked_below_lost;
        // A segment below an edge that is not SACKed counts there.
        self.lost -= una.min(self.lost_edge) - self.una - sacked_below_lost;
        if !self.lost_again.is_empty() {
            self.resent += self.retire_lost_again(una);
        }
        self.resent -= una.min(self.high_rxt) - self.una - sacked_below_resent;
        sacked
    }

    /// Marks `start..end` as SACKed. Returns how many of them were not. `start` must not be below `una`.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        if end <= start {
            return 0;
        }
        self.reach(end);
        let mut newly = 0;
        let mut seq = self.next_unsacked(start);
        while seq < end {
            let at = self.at(seq);
            // A single step. The search lengthens it when it is first used.
            self.skips[at] = 1;
            newly += 1;
            self.sacked_above_edge += u64::from(seq >= self.lost_edge);
            self.lost -= u64::from(seq < self.lost_edge);
            self.resent -= u64::from(seq < self.high_rxt && !self.lost_again.remove(&seq));
            seq = self.next_unsacked(seq + 1);
        }
        self.sacked += newly;
        newly
    }

    /// The first segment from `seq` on that is not SACKed.
    pub fn next_unsacked(&mut self, mut seq: u64) -> u64 {
        while seq < self.limit {
            let at = self.at(seq);
            let skip = u64::from(self.skips[at]);
            if skip == 0 {
                return seq;
            }
            let next = seq + skip;
            if next >= self.limit {
                return self.limit.max(next);
            }
            // Path halving: this entry also skips the run of its successor, as far as an entry can hold.
            let further = u64::from(self.skips[self.at(next)]);
            self.skips[at] = u16::try_from(skip + further).unwrap_or(skip as u16);
            seq = next + further;
        }
        seq
    }

    /// Marks every unSACKed segment below `end` with at least `threshold` SACKed segments above it as lost
    /// (RFC 6675's IsLost for full segments). Returns the number of new losses.
    pub fn detect(&mut self, threshold: u64, end: u64) -> u64 {
        let before = self.lost;
        let end = self.limit.min(end);
        while self.lost_edge < end {
            let sacked = u64::from(self.skips[self.at(self.lost_edge)] != 0);
            if self.sacked_above_edge - sacked < threshold {
                break;
            }
            self.sacked_above_edge -= sacked;
            self.lost += 1 - sacked;
            self.lost_edge += 1;
        }
        self.lost - before
    }

    /// Marks every unSACKed segment below `end` as lost. All of them have been sent. Returns the number of
    /// new losses.
    pub fn lose_below(&mut self, end: u64) -> u64 {
        let before = self.lost;
        while self.lost_edge < end {
            let sacked = self.is_sacked(self.lost_edge);
            self.sacked_above_edge -= u64::from(sacked);
            self.lost += u64::from(!sacked);
            self.lost_edge += 1;
        }
        self.lost - before
    }

    /// The retransmission of `seq`, an unSACKed segment below `high_rxt`, was lost. True if that was not
    /// known before.
    pub fn lose_again(&mut self, seq: u64) -> bool {
        debug_assert!((self.una..self.high_rxt).contains(&seq) && !self.is_sacked(seq));
        self.lose_below(seq + 1);
        let unknown = self.lost_again.insert(seq);
        self.resent -= u64::from(unknown);
        unknown
    }

    /// The lowest segment whose retransmission was lost.
    #[inline]
    pub fn first_lost_again(&self) -> Option<u64> {
        self.lost_again.first().copied()
    }

    /// Segments whose retransmission was lost.
    pub fn lost_again(&self) -> u64 {
        self.lost_again.len() as u64
    }

    /// All segments whose retransmission was lost.
    pub fn all_lost_again(&self) -> impl Iterator<Item = u64> {
        self.lost_again.iter().copied()
    }

    /// The lowest segment whose retransmission was lost has been retransmitted once more.
    pub fn resend_lost_again(&mut self) {
        self.resent += u64::from(self.lost_again.pop_first().is_some());
    }

    /// Forgets lost retransmissions below `una`. Returns their number.
    #[cold]
    fn retire_lost_again(&mut self, una: u64) -> u64 {
        let before = self.lost_again.len();
        while self.lost_again.first().is_some_and(|&seq| seq < una) {
            self.lost_again.pop_first();
        }
        (before - self.lost_again.len()) as u64
    }

    /// Marks the segment at `una` as lost, because there were enough duplicates.
    pub fn lose_first(&mut self) {
        if self.lost_edge == self.una {
            debug_assert!(!self.is_sacked(self.una), "the first unacknowledged segment is not SACKed");
            self.lost_edge += 1;
            self.lost += 1;
        }
    }

    /// A new episode begins: nothing has been retransmitted yet.
    pub fn begin_episode(&mut self) {
        self.high_rxt = self.una;
        self.resent = 0;
        self.lost_again.clear();
    }

    /// `seq`, the lowest unSACKed segment from the edge on, has been retransmitted.
    pub fn resend(&mut self, seq: u64) {
        debug_assert!(
            seq == self.next_unsacked(self.high_rxt),
            "retransmissions take the lowest hole, or the edge says nothing"
        );
        self.high_rxt = seq + 1;
        self.resent += 1;
    }

    /// After a timeout nothing below `nxt` is in flight: everything is lost, except what is SACKed.
    pub fn lose_all(&mut self, nxt: u64) {
        self.begin_episode();
        self.lost_edge = nxt;
        self.lost = nxt - self.una - self.sacked;
        self.sacked_above_edge = 0;
    }

    /// Forgets all SACK information (RFC 2018 section 8: after a timeout, in case the receiver reneged).
    pub fn forget(&mut self) {
        let una = self.una;
        *self = Scoreboard {
            skips: std::mem::take(&mut self.skips),
            una,
            limit: una,
            lost_edge: una,
            high_rxt: una,
            ..Scoreboard::default()
        };
    }

    #[inline]
    fn at(&self, seq: u64) -> usize {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        seq as usize & (self.skips.len() - 1)
    }

    /// Makes entries valid up to `end`.
    fn reach(&mut self, end: u64) {
        if end - self.una > self.skips.len() as u64 {
            self.enlarge(end - self.una);
        }
        while self.limit < end {
            let at = self.at(self.limit);
            self.skips[at] = 0;
            self.limit += 1;
        }
    }

    fn enlarge(&mut self, needed: u64) {
        let size = (needed as usize).next_power_of_two().max(64);
        let mut skips = vec![0; size];
        for seq in self.una..self.limit {
            skips[seq as usize & (size - 1)] = self.skips[self.at(seq)];
        }
        self.skips = skips;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same knowledge, stored in the obvious way.
    #[derive(Default)]
    struct Naive {
        una: u64,
        sacked: BTreeSet<u64>,
        lost_edge: u64,
        high_rxt: u64,
        lost_again: BTreeSet<u64>,
    }

    impl Naive {
        fn unsacked(&self, from: u64, to: u64) -> u64 {
            (from..to).filter(|seq| !self.sacked.contains(seq)).count() as u64
        }
        fn pipe(&self, nxt: u64) -> u64 {
            self.unsacked(self.una, nxt) - self.unsacked(self.una, self.lost_edge)
                + self.unsacked(self.una, self.high_rxt)
                - self.lost_again.len() as u64
        }
        fn is_lost(&self, seq: u64, threshold: usize) -> bool {
            !self.sacked.contains(&seq) && self.sacked.range(seq + 1..).count() >= threshold
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Sack(u64, u64),
        Advance(u64),
        Resend,
        NewEpisode,
        Detect,
        LoseBelow(u64),
        LoseAgain(u64),
        ResendLostAgain,
        LoseAll,
        Forget,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0_u64..90, 1_u64..20).prop_map(|(offset, length)| Step::Sack(offset, length)),
            3 => (0_u64..30).prop_map(Step::Advance),
            4 => Just(Step::Resend),
            1 => Just(Step::NewEpisode),
            4 => Just(Step::Detect),
            1 => (0_u64..60).prop_map(Step::LoseBelow),
            2 => (0_u64..30).prop_map(Step::LoseAgain),
            1 => Just(Step::ResendLostAgain),
            1 => Just(Step::LoseAll),
            1 => Just(Step::Forget),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_model(steps in prop::collection::vec(step(), 1..200)) {
            let (mut board, mut naive) = (Scoreboard::default(), Naive::default());
            for step in steps {
                match step {
                    Step::Sack(offset, length) => {
                        // The first unacknowledged segment is never SACKed.
                        let start = naive.una + 1 + offset;
                        let fresh = naive.unsacked(start, start + length);
                        naive.sacked.extend(start..start + length);
                        prop_assert_eq!(board.sack(start, start + length), fresh);
                    }
                    Step::Advance(by) => {
                        let mut una = naive.una + by;
                        while naive.sacked.contains(&una) {
                            una += 1;
                        }
                        let was = naive.sacked.range(..una).count() as u64;
                        naive.una = una;
                        naive.sacked = naive.sacked.split_off(&una);
                        naive.lost_edge = naive.lost_edge.max(una);
                        naive.high_rxt = naive.high_rxt.max(una);
                        if board.is_clear() {
                            board.clone().advance_clear(una); // its own assertions
                        }
                        prop_assert_eq!(board.advance(una), was);
                    }
                    Step::Resend => {
                        let next = (naive.high_rxt..).find(|seq| !naive.sacked.contains(seq)).unwrap_or(0);
                        prop_assert_eq!(board.next_unsacked(naive.high_rxt), next);
                        board.resend(next);
                        naive.high_rxt = next + 1;
                    }
                    Step::NewEpisode => {
                        board.begin_episode();
                        naive.high_rxt = naive.una;
                        naive.lost_again.clear();
                    }
                    Step::Detect => {
                        board.detect(3, u64::MAX);
                        let top = naive.sacked.iter().next_back().copied().unwrap_or(0);
                        let lost = (naive.una..top).rev().find(|&seq| naive.is_lost(seq, 3));
                        let above_lost = lost.map_or(0, |seq| seq + 1);
                        // The edge may or may not pass SACKed segments: they count nowhere.
                        naive.lost_edge = naive.lost_edge.max(above_lost);
                    }
                    Step::LoseBelow(offset) => {
                        let end = naive.una + offset;
                        let fresh = naive.unsacked(naive.lost_edge.min(end), end);
                        naive.lost_edge = naive.lost_edge.max(end);
                        prop_assert_eq!(board.lose_below(end), fresh);
                    }
                    Step::LoseAgain(offset) => {
                        let seq = naive.una + offset;
                        if seq < naive.high_rxt && !naive.sacked.contains(&seq) {
                            prop_assert_eq!(board.lose_again(seq), naive.lost_again.insert(seq));
                            naive.lost_edge = naive.lost_edge.max(seq + 1);
                        }
                    }
                    Step::ResendLostAgain => {
                        prop_assert_eq!(board.first_lost_again(), naive.lost_again.pop_first());
                        board.resend_lost_again();
                    }
                    Step::LoseAll => {
                        board.lose_all(naive.una + 200);
                        naive.high_rxt = naive.una;
                        naive.lost_edge = naive.una + 200;
                    }
                    Step::Forget => {
                        board.forget();
                        naive.sacked.clear();
                        naive.high_rxt = naive.una;
                        naive.lost_edge = naive.una;
                    }
                }
                naive.lost_again.retain(|seq| {
                    *seq >= naive.una && *seq < naive.high_rxt && !naive.sacked.contains(seq)
                });
                let nxt = naive.una + 200;
                prop_assert_eq!(board.lost_again(), naive.lost_again.len() as u64);
                prop_assert_eq!(board.sacked(), naive.sacked.len() as u64);
                prop_assert_eq!(board.lost(), naive.unsacked(naive.una, naive.lost_edge));
                prop_assert_eq!(board.pipe(nxt), naive.pipe(nxt));
                for seq in naive.una..nxt {
                    prop_assert_eq!(board.is_sacked(seq), naive.sacked.contains(&seq));
                }
            }
        }
    }

    #[test]
    fn long_runs_cost_little() {
        // A receiver repeats a run that grows by one segment, 100,000 times. Stepping through it would take
        // 5e9 steps.
        let mut board = Scoreboard::default();
        for end in 2..100_000 {
            assert_eq!(board.sack(1, end), 1);
        }
        assert_eq!(board.next_unsacked(1), 99_999);
    }
}
