//! Waiting: the sender's part while a [`LossDelay`] leaves a hole open.
//!
//! Used only by senders with such a detection, and only while nothing is repaired.

use super::{MAX_WINDOW, Sender, State};
use crate::detection::{DUP_THRESH, Hole, LossDelay};
use crate::recovery::{AckSummary, Pick};
use ackclock_cc::{self as cc, Path};
use ackclock_units::{Duration, Time};

/// A patience, and the state of its waiting.
pub(super) struct Waiting {
    patience: Box<dyn LossDelay>,
    /// True while a hole is left open.
    open: bool,
    /// New segments that duplicates allow and that are not sent yet.
    allowance: u64,
    /// The last raw round-trip time.
    rtt: Duration,
    /// Without SACK: the duplicates for the hole that have counted for growth.
    grown: u64,
}

impl Waiting {
    pub(super) fn new(patience: Box<dyn LossDelay>) -> Waiting {
        Waiting { patience, open: false, allowance: 0, rtt: Duration::ZERO, grown: 0 }
    }

    /// The time at which the hole is a loss in any case.
    pub(super) fn deadline(&self) -> Option<Time> {
        if self.open { self.patience.deadline() } else { None }
    }

    /// During an episode: the number of SACKed segments above another hole that make it a loss.
    pub(super) fn threshold(&self) -> u64 {
        self.patience.threshold()
    }

    /// The hole is repaired now, or the timer has expired.
    pub(super) fn end(&mut self) {
        self.open = false;
        self.grown = 0;
    }
}

impl Sender {
    /// Processes an acknowledgement while nothing is repaired. True if the first hole is now a loss.
    #[cold]
    pub(super) fn is_loss_after_all(
        &mut self,
        now: Time,
        rtt: Option<Duration>,
        summary: AckSummary,
    ) -> bool {
        let Some(mut waiting) = self.waiting.take() else { return false };
        waiting.rtt = rtt.unwrap_or(waiting.rtt);
        if summary.acked > 0 && waiting.open {
            waiting.open = false;
            let (flight, more) = (self.nxt - self.una, self.board.sacked() > 0);
            waiting.patience.closed(flight, more, &mut self.window);
        }
        let is_loss = self.has_hole() && self.consider(now, &mut waiting);
        if summary.acked > 0 && waiting.open {
            // Not a duplicate: the window decides what may be sent, as usual.
            let room = waiting.patience.room(&self.window) - self.pipe_over_holes();
            waiting.allowance = room.clamp(0.0, MAX_WINDOW) as u64;
        }
        self.waiting = Some(waiting);
        is_loss
    }

    /// True if a segment above the first unacknowledged one has arrived.
    fn has_hole(&self) -> bool {
        self.board.sacked() > 0 || self.duplicates.count() > 0 && self.is_fresh()
    }

    fn above_hole(&self) -> u64 {
        if self.sack { self.board.sacked() } else { u64::from(self.duplicates.count()) }
    }

    /// The segments that have not arrived, as far as is known. Without SACK each duplicate stands for one
    /// that has arrived.
    fn pipe_over_holes(&self) -> f64 {
        (self.nxt - self.una).saturating_sub(self.above_hole()) as f64
    }

    /// There is a hole: begins to wait, continues, or gives up. True if it is a loss.
    fn consider(&mut self, now: Time, waiting: &mut Waiting) -> bool {
        let hole = Hole {
            now,
            flight: self.nxt - self.una,
            above: self.above_hole(),
            slow_start: self.window.cwnd < self.window.ssthresh,
            srtt: self.timer.rtt().srtt(),
            rtt: waiting.rtt,
        };
        if !waiting.open {
            waiting.open = waiting.patience.begin(&hole);
            waiting.allowance = 0;
        }
        if !waiting.open {
            return hole.above >= u64::from(DUP_THRESH);
        }
        waiting.patience.is_over(&hole)
    }

    /// A duplicate allows one new segment.
    #[cold]
    pub(super) fn allow_for_duplicate(&mut self) {
        if let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.open) {
            waiting.allowance += 1;
        }
    }

    /// True if the delay has ended without another acknowledgement.
    pub(super) fn is_out_of_patience(&self, now: Time) -> bool {
        self.repair.state() == State::Open
            && self.waiting.as_ref().and_then(|waiting| waiting.deadline()).is_some_and(|until| until <= now)
    }

    /// True while a hole is left open, because it may not be a loss.
    pub fn is_waiting(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.open)
    }

    /// While a hole is open: one new segment per duplicate, as far as the patience allows.
    #[cold]
    pub(super) fn next_waiting(&mut self) -> Option<Pick> {
        let pipe = self.pipe_over_holes();
        self.cwnd_limited = pipe + 1.0 > self.window.cwnd;
        let new_data = self.has_new_data();
        let waiting = self.waiting.as_mut()?;
        if !new_data || pipe + 1.0 > waiting.patience.room(&self.window) {
            waiting.allowance = 0; // not made up for later: one for each duplicate, never two
        }
        if waiting.allowance == 0 {
            return None;
        }
        waiting.allowance -= 1;
        waiting.patience.sent();
        Some(Pick::New)
    }

    /// Growth in which a duplicate counts as the segment for which it stands. Each segment counts once.
    #[cold]
    pub(super) fn grow_over_holes(
        &mut self,
        path: &Path,
        sample: &cc::Ack,
        summary: AckSummary,
        duplicate: bool,
    ) {
        let Some(waiting) = &mut self.waiting else { return };
        let fresh = if !waiting.patience.grows() {
            sample.acked
        } else if self.sack {
            self.config.counting.counted(summary.delivered) as f64
        } else if duplicate {
            waiting.grown += u64::from(waiting.open);
            f64::from(u8::from(waiting.open))
        } else {
            let earlier = std::mem::take(&mut waiting.grown);
            self.config.counting.counted(summary.acked.saturating_sub(earlier)) as f64
        };
        if fresh > 0.0 {
            self.grow(path, &cc::Ack { acked: fresh, ..*sample });
        }
    }
}
