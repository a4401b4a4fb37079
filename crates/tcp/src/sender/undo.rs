//! Undoes a reduction if it turns out that nothing was lost.
//!
//! Sources: the Eifel detection (RFC 3522: an acknowledgement of the first retransmitted segment echoes a
//! time before its retransmission), or the receiver's reports of duplicates (RFC 3708: every retransmission
//! of the episode arrived twice). The response is Eifel's (RFC 4015) for both: the threshold becomes its
//! earlier value, or the earlier flight, and slow start leads there without a burst.
//!
//! What differs: the response waits for the end of the episode. Timeouts are not undone.

use super::{Sender, State};
use crate::config::Undo;
use crate::packet::Ack;
use ackclock_cc::{Event, Window};
use ackclock_units::Time;

/// The state before an episode, and what has been learnt since.
pub(super) struct Undoing {
    rule: Undo,
    before: Option<Before>,
}

struct Before {
    cwnd: f64,
    /// RFC 4015's pipe_prev: the larger of the threshold and what was outstanding.
    ssthresh: f64,
    /// The first unacknowledged segment, and when it was first retransmitted.
    first: u64,
    first_again: Option<Time>,
    /// One past the outstanding segments.
    end: u64,
    /// The retransmissions that were not reported as duplicates.
    unreported: u64,
    resent: bool,
    spurious: bool,
}

impl Undoing {
    pub(super) fn new(rule: Undo) -> Undoing {
        Undoing { rule, before: None }
    }

    /// The reduction cannot be undone any more.
    pub(super) fn forget(&mut self) {
        self.before = None;
    }

    /// Segment `seq` is retransmitted.
    pub(super) fn on_resent(&mut self, now: Time, seq: u64) {
        let Some(before) = &mut self.before else { return };
        before.resent = true;
        before.unreported += 1;
        if seq == before.first {
            before.first_again.get_or_insert(now);
        }
    }
}

impl Sender {
    /// An episode begins. `window` is the window before the reduction.
    pub(super) fn remember(&mut self, window: &Window) {
        let flight = (self.nxt - self.una) as f64;
        let (first, end) = (self.una, self.nxt);
        let Some(undoing) = &mut self.undoing else { return };
        undoing.before = Some(Before {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh.max(flight),
            first,
            first_again: None,
            end,
            unreported: 0,
            resent: false,
            spurious: false,
        });
    }

    /// Called after an acknowledgement: checks whether the last reduction was spurious.
    #[cold]
    pub(super) fn consider_undoing(&mut self, now: Time, ack: &Ack, acked: u64) {
        let Some(undoing) = &mut self.undoing else { return };
        let Some(before) = &mut undoing.before else { return };
        match undoing.rule {
            Undo::Eifel if acked > 0 && ack.ack > before.first => {
                // RFC 3522 section 3.2: only the first acceptable acknowledgement decides.
                if let Some(again) = before.first_again.take() {
                    before.spurious = self.config.timestamps && ack.echo < again;
                }
            }
            Undo::Duplicates => {
                let report = ack.duplicate_report();
                if report.is_some_and(|(seq, _)| (before.first..before.end).contains(&seq)) {
                    before.unreported = before.unreported.saturating_sub(1);
                }
                before.spurious = before.resent && before.unreported == 0;
            }
            Undo::Eifel | Undo::Never => {}
        }
        if before.spurious && self.repair.state() == State::Open {
            let most = before.cwnd;
            // RFC 4015 section 3.2 (6): the flight, plus at most an initial window at once.
            let flight = (self.nxt - self.una) as f64;
            let cwnd = flight + (acked as f64).min(self.config.initial_window);
            if !self.needs.window {
                self.window.cwnd = cwnd.min(most).max(self.window.cwnd);
                self.window.ssthresh = before.ssthresh;
            }
            undoing.before = None;
            self.counters.undone += 1;
            self.tell(now, Event::Spurious);
        }
    }
}
