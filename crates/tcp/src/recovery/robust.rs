//! Robust Recovery: during recovery the number of new segments in flight replaces the window.
//!
//! Source: H. Wang and K. G. Shin, "Robust TCP Congestion Recovery", ICDCS 2001 (and H. Wang's dissertation,
//! University of Michigan 2003, chapter 3). It needs neither SACK nor any other change of the receiver.
//!
//! An episode has two sub-phases. *Retreat* is its first round trip. It sends one new segment for every
//! second duplicate, which halves the flight. The first partial acknowledgement ends it. Then `actnum`, the
//! number of new segments in flight, is known. In *probe* every duplicate sends one new segment, and each
//! partial acknowledgement ends a round trip. If as many duplicates have come as segments were sent, none was
//! lost, and `actnum` grows by one. Otherwise the missing ones were lost: `actnum` is reduced by their
//! number, and the episode lasts until everything sent so far is acknowledged. At the end cwnd is `actnum`,
//! which is already in flight, so there is no burst.
//!
//! What differs: the paper's flowchart (figure 2) compares the number of duplicates with `actnum`. If a
//! retransmission precedes the extra segment of the round trip, the duplicate of that segment comes after the
//! next partial acknowledgement. The comparison would then find a loss that does not exist. Here the number
//! of duplicates is compared with the number of new segments that were sent before the retransmission, which
//! is correct in both orders. If no new segment can be sent, only retransmissions are sent, as in NewReno. A
//! lost retransmission is left to the timer, as in the paper.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme, Settings};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::{Entry, Parameter};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "robust",
        title: "Robust Recovery",
        source: "Wang and Shin, ICDCS 2001",
        summary: "New segments in flight are counted, and their number governs the episode.",
        equations: &[],
        notes: &[
            "duplicates are compared with the new segments sent ahead of the retransmission, not with actnum",
            "a lost retransmission is left to the timer, as in the paper",
        ],
        parameters: &[
            Parameter::choice(
                "first",
                "retransmission",
                &[
                    (
                        "retransmission",
                        "the retransmission; the times of the paper's figure 9 (exit at 2.87 s)",
                    ),
                    (
                        "new",
                        "the new segment, so that every repair waits behind it; the segment numbers of the paper's figure 5",
                    ),
                ],
                "what leaves first when a partial acknowledgement lets out a retransmission and an extra new segment; waiting \
             would delay every round trip of the episode",
            ),
            Parameter::choice(
                "counted",
                "retreat",
                &[
                    (
                        "retreat",
                        "those after the retransmission that began the episode: actnum is what retreat has sent",
                    ),
                    (
                        "all",
                        "those that began the episode as well: actnum is half of what was in flight besides the loss",
                    ),
                ],
                "which duplicates count for the first value of actnum, half their number rounded down; with the default figure \
             9's episode ends with cwnd 10, as published",
            ),
        ],
    },
    selective: false,
    serves_first_duplicates: false,
    build: |settings| Box::new(Robust::new(settings)),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Retreat,
    Probe,
}

/// The smallest threshold (RFC 5681 (4)).
const MIN_SSTHRESH: f64 = 2.0;

/// The recovery.
pub struct Robust {
    /// A new segment leaves ahead of the retransmission.
    new_first: bool,
    /// Duplicates that began the episode count for the first `actnum`, too.
    counts_all: bool,
    phase: Phase,
    /// The new segments that should be in flight at the end of the round trip, in probe.
    actnum: u64,
    /// Duplicates since the last retransmission.
    ndup: u64,
    /// The duplicates that began the episode.
    began: u64,
    /// New segments sent since the last retransmission, and in the round trip before it, which are the
    /// duplicates due in this one.
    sent: u64,
    expected: u64,
    resend: Option<u64>,
    /// New segments that may be sent.
    allowance: u64,
}

impl Robust {
    /// A recovery with checked `settings`.
    pub fn new(settings: &Settings) -> Robust {
        Robust::with(settings.get::<&str>("first") == "new", settings.get::<&str>("counted") == "all")
    }

    fn with(new_first: bool, counts_all: bool) -> Robust {
        Robust {
            new_first,
            counts_all,
            phase: Phase::Retreat,
            actnum: 0,
            ndup: 0,
            began: 0,
            sent: 0,
            expected: 0,
            resend: None,
            allowance: 0,
        }
    }

    fn on_duplicate(&mut self) {
        self.ndup += 1;
        // Section 3.2.1: one for two duplicates; section 3.2.2: one for each.
        if self.phase == Phase::Probe || self.ndup.is_multiple_of(2) {
            self.allowance += 1;
        }
    }

    /// Section 3.2.2, the end of a round trip. True if there was another loss.
    fn end_round(&mut self) -> bool {
        match self.phase {
            Phase::Retreat => {
                let earlier = if self.counts_all { self.began } else { 0 };
                self.actnum = (self.ndup + earlier) / 2;
                self.phase = Phase::Probe;
                false
            }
            Phase::Probe if self.ndup < self.expected => {
                self.actnum = self.actnum.saturating_sub(self.expected - self.ndup);
                true
            }
            Phase::Probe => {
                self.actnum += 1;
                self.allowance += 1;
                false
            }
        }
    }

    /// Section 3.2.3. If the flight is smaller than `actnum`, because there was no new data, the window is
    /// smaller, too.
    fn exit(&self, episode: &Episode, w: &mut Window) {
        let flight = episode.nxt - episode.una;
        w.cwnd = self.actnum.min(flight + 1).max(1) as f64;
        // Congestion avoidance follows, whatever threshold the controller has set.
        w.ssthresh = w.ssthresh.min(w.cwnd).max(MIN_SSTHRESH);
    }

    fn send_new(&mut self) -> Pick {
        self.allowance -= 1;
        self.sent += 1;
        Pick::New
    }
}

impl Recovery for Robust {
    /// cwnd does not change until the end, and controls nothing.
    fn begin(
        &mut self,
        episode: &Episode,
        _summary: AckSummary,
        _board: &mut Scoreboard,
        _w: &mut Window,
    ) -> Begin {
        *self = Robust::with(self.new_first, self.counts_all);
        self.began = u64::from(episode.duplicates);
        self.resend = Some(episode.una);
        Begin::Repair
    }

    fn on_ack(
        &mut self,
        episode: &Episode,
        summary: AckSummary,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Progress {
        if summary.acked == 0 {
            self.on_duplicate();
            return Progress::Continues;
        }
        // Another loss is checked first, because it moves the end of the episode.
        let further_loss = self.end_round();
        let exit = if further_loss { episode.nxt } else { episode.recover };
        if episode.una >= exit {
            self.exit(episode, w);
            return Progress::Ends;
        }
        self.resend = Some(episode.una);
        self.ndup = 0;
        if further_loss { Progress::Extends } else { Progress::Continues }
    }

    fn next(&mut self, episode: &Episode, _board: &mut Scoreboard, _w: &Window) -> Option<Pick> {
        if !episode.new_data {
            self.allowance = 0; // not made up for later
        }
        if self.new_first && self.allowance > 0 {
            return Some(self.send_new());
        }
        if let Some(seq) = self.resend.take() {
            self.expected = std::mem::take(&mut self.sent);
            return Some(Pick::Retransmit(seq));
        }
        (self.allowance > 0).then(|| self.send_new())
    }
}
