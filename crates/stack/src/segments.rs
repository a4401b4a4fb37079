//! The segments of a stream: which bytes each has, and when it was sent.
//!
//! The [sender](ackclock_tcp::Sender) counts in segments. A segment gets its bytes when it is first sent, and
//! keeps them: a retransmission has the same bytes. So an acknowledgement on the wire, which is a byte, maps
//! to the last boundary that it covers, and the edges of selective acknowledgements round inwards.

use ackclock_units::Time;
use std::collections::VecDeque;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The byte behind it. A FIN counts as a byte.
    end: u64,
    /// When it was last sent, and the timestamp on it.
    last: (Time, u32),
    /// The same for the first time.
    first: (Time, u32),
}

/// The fewest acknowledged segments that are remembered.
const REMEMBERED: usize = 64;

/// The segments from some acknowledged ones on. Reports of duplicates (RFC 2883) name acknowledged ones.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// The number of the first one here, and its first byte.
    first: u64,
    start: u64,
    sent: VecDeque<Sent>,
    una: u64,
    /// The most segments that were outstanding at once.
    most: usize,
}

impl Segments {
    /// The first segment that is not acknowledged as a whole.
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// The next segment to be cut.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// The byte at which segment `number` begins, for one that is here, or the next.
    pub(crate) fn start(&self, number: u64) -> u64 {
        match number.checked_sub(self.first + 1) {
            Some(before) => self.sent[before as usize].end,
            None => self.start,
        }
    }

    /// The bytes of segment `number`, if it was cut.
    pub(crate) fn bytes(&self, number: u64) -> Option<(u64, u64)> {
        let at = number.checked_sub(self.first)?;
        let sent = self.sent.get(at as usize)?;
        Some((self.start(number), sent.end))
    }

    /// Cuts the next segment up to the byte `end`. It is sent now.
    pub(crate) fn cut(&mut self, end: u64, now: Time, tick: u32) {
        self.sent.push_back(Sent { end, last: (now, tick), first: (now, tick) });
        self.most = self.most.max((self.next() - self.una) as usize);
    }

    /// Segment `number` is sent once more.
    pub(crate) fn resent(&mut self, number: u64, now: Time, tick: u32) {
        if let Some(sent) = number.checked_sub(self.first).and_then(|at| self.sent.get_mut(at as usize)) {
            sent.last = (now, tick);
        }
    }

    /// Everything below the byte `acked` has arrived. Returns the first segment that is not acknowledged.
    pub(crate) fn acknowledge(&mut self, acked: u64) -> u64 {
        while self.sent.get((self.una - self.first) as usize).is_some_and(|sent| sent.end <= acked) {
            self.una += 1;
        }
        let kept = (self.una - self.first) as usize;
        for _ in REMEMBERED.max(self.most)..kept {
            if let Some(gone) = self.sent.pop_front() {
                (self.first, self.start) = (self.first + 1, gone.end);
            }
        }
        self.una
    }

    /// The whole segments within the bytes `start..end`: first and one past the last. `None`: there is none.
    pub(crate) fn within(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.start {
            return None; // partly forgotten
        }
        let boundaries_below = |byte: u64| self.sent.partition_point(|sent| sent.end <= byte) as u64;
        // The first segment that begins at `start` or behind: all before it end at `start` or are cut by it.
        let from = match start == self.start {
            true => self.first,
            false => self.first + self.sent.partition_point(|sent| sent.end < start) as u64 + 1,
        };
        let to = self.first + boundaries_below(end);
        (from < to).then_some((from, to))
    }

    /// When the segment was sent whose timestamp is echoed with the acknowledgement of segment `number`.
    ///
    /// RFC 7323 section 4.3: the echo is of the segment that moved the acknowledgement on. The clock on the
    /// wire ticks each millisecond, so the exact time is kept here. An echo of neither transmission may be
    /// of one in between. `told` is its time by the clock; whatever a peer echoes, the segment was sent
    /// between its first and its last transmission.
    pub(crate) fn echoed(&self, number: u64, tick: u32, told: Time) -> Option<Time> {
        let sent = self.sent.get(number.checked_sub(self.first)? as usize)?;
        Some(match tick {
            tick if tick == sent.last.1 => sent.last.0,
            tick if tick == sent.first.1 => sent.first.0,
            _ => told.max(sent.first.0).min(sent.last.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn echoes_are_of_one_transmission_or_between() {
        let mut segments = Segments::default();
        segments.cut(1000, at(10), 10);
        segments.resent(0, at(50), 50);
        assert_eq!(segments.echoed(0, 10, at(10)), Some(at(10)));
        assert_eq!(segments.echoed(0, 50, at(50)), Some(at(50)));
        assert_eq!(segments.echoed(0, 30, at(30)), Some(at(30)));
        assert_eq!(segments.echoed(0, 0, at(0)), Some(at(10)), "a peer that echoes nothing");
        assert_eq!(segments.echoed(0, 99, at(99)), Some(at(50)), "a peer that echoes the future");
        assert_eq!(segments.echoed(1, 99, at(99)), None);
    }

    proptest! {
        /// Against a search through all boundaries.
        #[test]
        fn bytes_map_to_whole_segments(
            sizes in proptest::collection::vec(1_u64..5, 1..200),
            acked in 0_u64..1000,
            start in 0_u64..1000,
            length in 0_u64..100,
        ) {
            let mut segments = Segments::default();
            let mut bounds = vec![0];
            for size in sizes {
                let end = bounds[bounds.len() - 1] + size;
                segments.cut(end, Time::ZERO, 0);
                bounds.push(end);
            }
            let una = segments.acknowledge(acked);
            let covered = bounds[1..].iter().filter(|&&end| end <= acked).count() as u64;
            prop_assert_eq!(una, covered);
            let first = bounds.iter().position(|&bound| bound >= start).unwrap_or(bounds.len()) as u64;
            let past = bounds[1..].iter().filter(|&&end| end <= start + length).count() as u64;
            if start >= segments.start {
                let expected = (first < past).then_some((first, past));
                prop_assert_eq!(segments.within(start, start + length), expected);
            } else {
                prop_assert_eq!(segments.within(start, start + length), None);
            }
            for number in segments.first..segments.next() {
                let bytes = (bounds[number as usize], bounds[number as usize + 1]);
                prop_assert_eq!(segments.bytes(number), Some(bytes));
            }
        }
    }
}
