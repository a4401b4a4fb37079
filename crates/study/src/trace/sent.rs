//! What a direction has sent: pieces of the sequence space, when each left, and what acknowledgements tell.
//!
//! Source: the definitions of tcptrace 6.6.7 (Ostermann, Ohio University): a piece that was seen before is a
//! retransmission, one that is before what was seen is out of order, and an acknowledgement times the piece
//! that ends where it points.
//!
//! Pieces that are acknowledged and without a gap between them are one. So memory grows with what is in
//! flight, and with what the capture lost.

use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Bytes from `start` to before `end`, counted from the first sequence number.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    /// When it left, the last time.
    at: Time,
    /// How often it left again.
    again: u32,
    acked: bool,
}

/// The pieces, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    pieces: VecDeque<Piece>,
    /// All before it is acknowledged: the pieces that begin there are the first ones.
    acked: u64,
}

/// What became of a segment when it was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Added {
    /// Bytes that were seen before.
    pub(super) again: u64,
    /// It fills a gap before what was seen.
    pub(super) out_of_order: bool,
    /// It left for the n-th time again, so long after the time before.
    pub(super) repeated: Option<(u32, Duration)>,
}

/// What an acknowledgement told of the pieces that it newly covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Covered {
    /// Bytes newly acknowledged.
    pub(super) bytes: u64,
    /// The time from the piece that it points at.
    pub(super) rtt: Option<Duration>,
    /// It points at a piece that left more than once, so it times nothing (Karn).
    pub(super) ambiguous: bool,
    /// It points at a piece that left once, but one before it was sent again meanwhile.
    pub(super) after_loss: bool,
    /// Pieces that it covers beside the one it points at.
    pub(super) others: u64,
}

impl Sent {
    /// A segment with the bytes from `start` to before `end` leaves at `now`.
    pub(super) fn add(&mut self, now: Time, start: u64, end: u64) -> Added {
        let mut added = Added::default();
        if start >= end {
            return added;
        }
        let acked = self.acked;
        let new = |start, end| Piece { start, end, at: now, again: 0, acked: start < acked };
        // Usually it follows all others.
        if self.pieces.back().is_none_or(|last| start >= last.end) {
            self.pieces.push_back(new(start, end));
            return added;
        }
        let mut at = self.pieces.partition_point(|piece| piece.end <= start);
        let mut from = start;
        while from < end {
            let Some(piece) = self.pieces.get_mut(at) else {
                self.pieces.push_back(new(from, end));
                break;
            };
            if from < piece.start {
                // It begins in a gap.
                added.out_of_order |= end < piece.end;
                let to = end.min(piece.start);
                self.pieces.insert(at, new(from, to));
                from = to;
            } else {
                let to = end.min(piece.end);
                added.again += to - from;
                piece.again += 1;
                if added.repeated.is_none() && !piece.acked {
                    added.repeated = Some((piece.again, now.since(piece.at)));
                }
                piece.at = now;
                from = to;
            }
            at += 1;
        }
        if added.out_of_order && start < acked {
            self.merge(0, self.pieces.partition_point(|piece| piece.acked));
        }
        added
    }

    /// All bytes before `ack` are acknowledged at `now`.
    pub(super) fn acknowledge(&mut self, now: Time, ack: u64) -> Covered {
        let mut covered = Covered::default();
        self.acked = self.acked.max(ack);
        let mut latest = Time::ZERO;
        // Those that were acknowledged are at the front, one for each gap of the capture.
        let first = self.pieces.partition_point(|piece| piece.acked);
        if let Some(before) = first.checked_sub(1) {
            latest = self.pieces[before].at;
        }
        let mut next = first;
        while let Some(piece) = self.pieces.get_mut(next).filter(|piece| piece.start < ack) {
            piece.acked = true;
            covered.bytes += piece.end.min(ack) - piece.start;
            latest = latest.max(piece.at);
            if piece.end != ack {
                covered.others += 1;
            } else if latest > piece.at {
                covered.after_loss = true;
            } else if piece.again > 0 {
                covered.ambiguous = true;
            } else {
                covered.rtt = Some(now.since(piece.at));
            }
            next += 1;
        }
        self.merge(first.saturating_sub(1), next);
        covered
    }

    /// Makes one piece of neighbours among the acknowledged ones from `first` to before `end`.
    fn merge(&mut self, first: usize, end: usize) {
        let mut keep = first;
        for at in first + 1..end {
            let piece = self.pieces[at];
            let last = &mut self.pieces[keep];
            if last.end == piece.start {
                (last.end, last.at) = (piece.end, last.at.max(piece.at));
            } else {
                keep += 1;
                self.pieces[keep] = piece;
            }
        }
        if keep + 1 < end {
            self.pieces.drain(keep + 1..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_acknowledgement_times_the_piece_it_points_at() {
        let mut sent = Sent::default();
        for number in 0..4 {
            assert_eq!(sent.add(at(number), number * 100, number * 100 + 100), Added::default());
        }
        let covered = sent.acknowledge(at(40), 100);
        assert_eq!((covered.bytes, covered.rtt, covered.others), (100, Some(Duration::from_millis(40)), 0));
        let covered = sent.acknowledge(at(43), 300);
        assert_eq!((covered.bytes, covered.rtt, covered.others), (200, Some(Duration::from_millis(41)), 1));
        assert_eq!(sent.acknowledge(at(44), 300), Covered::default());
        assert_eq!(sent.pieces.len(), 2); // what is acknowledged is one
    }

    #[test]
    fn what_was_seen_before_is_sent_again_and_times_nothing() {
        let mut sent = Sent::default();
        for number in 0..3 {
            assert_eq!(sent.add(at(number), number * 100, number * 100 + 100), Added::default());
        }
        let again = sent.add(at(50), 0, 100);
        assert_eq!((again.again, again.out_of_order), (100, false));
        assert_eq!(again.repeated, Some((1, Duration::from_millis(50))));
        // The third piece left before the first one left again: its time is none.
        let covered = sent.acknowledge(at(90), 300);
        assert_eq!((covered.rtt, covered.after_loss, covered.ambiguous), (None, true, false));
        let half = sent.add(at(95), 250, 350);
        assert_eq!((half.again, half.repeated), (50, None)); // it had been acknowledged
        sent.add(at(96), 350, 450);
        sent.add(at(97), 350, 450);
        let covered = sent.acknowledge(at(99), 450);
        assert_eq!((covered.rtt, covered.ambiguous, covered.others), (None, true, 1));
    }

    #[test]
    fn what_fills_a_gap_is_out_of_order() {
        let mut sent = Sent::default();
        sent.add(at(0), 0, 100);
        sent.add(at(1), 200, 300);
        assert_eq!(sent.add(at(2), 100, 200), Added { out_of_order: true, ..Added::default() });
        assert_eq!(sent.add(at(3), 100, 200).again, 100);
        // A gap that the capture lost stays, and is no part of what was acknowledged.
        sent.add(at(4), 400, 500);
        assert_eq!(sent.acknowledge(at(9), 500).bytes, 400);
        assert_eq!(sent.pieces.len(), 2);
        assert!(sent.add(at(10), 300, 400).out_of_order);
        assert_eq!(sent.pieces.len(), 1);
    }
}
