//! Reductions of the window: what the controller was asked, and for which data its answer stands.

use super::marks::Marks;
use super::{MIN_SSTHRESH, Sender, tamed};
use ackclock_cc::Signal;
use ackclock_units::Time;

/// The last reductions.
pub(super) struct Cuts {
    /// `nxt` when the controller was last asked. There is one reaction per window of data.
    asked: u64,
    /// `nxt` at the last reduction without an episode, for a mark or a probe. Losses below need no other
    /// reaction, unless marks are counted.
    without_episode: u64,
    /// True if the controller reacted to the last mark. If not, an echo does not stop its growth.
    heeds_marks: bool,
    /// True if it reacted to the last timeout. If not, the window does not change.
    collapses: bool,
    /// ECN: the next new segment carries CWR.
    announce: bool,
    /// Accurate ECN: what the next acknowledgement says of marks.
    pub(super) told: Option<Marks>,
}

impl Cuts {
    pub(super) fn new() -> Cuts {
        Cuts { asked: 0, without_episode: 0, heeds_marks: true, collapses: true, announce: false, told: None }
    }

    /// True if a loss of `una` was answered without an episode already.
    pub(super) fn cover(&self, una: u64) -> bool {
        una < self.without_episode
    }

    /// True if the next new segment, which is sent now, carries CWR.
    #[inline]
    pub(super) fn announce(&mut self) -> bool {
        std::mem::take(&mut self.announce)
    }
}

impl Sender {
    /// Asks the controller for a reduction. True if it reacted.
    pub(super) fn react(&mut self, now: Time, why: Signal) -> bool {
        self.cuts.asked = self.nxt;
        let path = self.path(now);
        let Some(ssthresh) = self.controller.cut(&path, &self.window, why) else {
            return false;
        };
        self.counters.window_cuts += 1;
        self.slow_start = None; // RFC 9406 section 4.2: a loss or a mark ends it
        self.window.ssthresh = tamed(ssthresh, MIN_SSTHRESH);
        self.cuts.announce = self.config.ecn; // RFC 3168 section 6.1.2: a reduction for any reason
        if why == Signal::Mark {
            self.reduce_without_episode();
            if self.config.dctcp_echo {
                self.cuts.without_episode = 0; // RFC 8257 section 3.5: marks cost a share, a loss costs the rest
            }
        }
        true
    }

    /// The threshold is set, and no recovery will lead the window there.
    fn reduce_without_episode(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.cuts.without_episode = self.nxt;
    }

    /// An acknowledgement with an echo. True if the window must not grow (RFC 3168 section 6.1.2).
    pub(super) fn react_to_mark(&mut self, now: Time) -> bool {
        // Beyond `asked`: CWR is on the segment there, and what is acknowledged before still echoes.
        if self.una > self.cuts.asked {
            self.cuts.heeds_marks = self.react(now, Signal::Mark);
        }
        self.cuts.heeds_marks
    }

    /// The timer has expired. True if the window starts over. `first`: not for the same segment as before;
    /// otherwise the threshold does not change (RFC 5681 section 3.1).
    pub(super) fn react_to_timeout(&mut self, now: Time, first: bool) -> bool {
        if first {
            self.cuts.collapses = self.react(now, Signal::Timeout);
        }
        self.cuts.collapses
    }

    /// RFC 8985 section 7.4.2: a tail loss probe has repaired a loss, and hidden it from the controller.
    pub(super) fn react_to_repair(&mut self, now: Time) {
        self.react_without_episode(now);
    }

    /// The queue of the sender's own host is full, and has not taken the segment that was about to be sent:
    /// the window is reduced, once per window of data. Nothing is lost.
    ///
    /// This is what Linux does where a device's queue refuses a packet (`tcp_enter_cwr`). There the window
    /// goes down to the threshold over one round trip, one segment with every second acknowledgement. Here it
    /// does so at once, and the next segment leaves as soon as the window allows it.
    pub fn on_local_congestion(&mut self, now: Time) {
        self.react_without_episode(now);
    }

    /// Something is as bad as a loss, and there is nothing to repair.
    fn react_without_episode(&mut self, now: Time) {
        if self.una > self.cuts.asked && self.react(now, Signal::Loss) {
            self.reduce_without_episode();
        }
    }
}
