//! Robust Recovery: what is in flight during recovery is counted, and that count takes the place of the window.
//!
//! Source: H. Wang and K. G. Shin, "Robust TCP Congestion Recovery", ICDCS 2001 (and H. Wang's dissertation,
//! University of Michigan 2003, chapter 3). It needs neither SACK nor anything else of the receiver.
//!
//! An episode has two sub-phases. *Retreat* is its first round trip: one new segment for every second duplicate,
//! which halves what is in flight. The first partial acknowledgement ends it, and `actnum`, the number of new
//! segments in flight, is known. In *probe* every duplicate lets out one new segment, and each partial acknowledgement ends a
//! round trip: if as many duplicates have come as segments were sent, none of them was lost, and `actnum` grows by
//! one; otherwise those that are missing were lost, `actnum` shrinks by just them, and the episode lasts until
//! everything sent so far is acknowledged. At the end cwnd is `actnum`, which is in flight already: no burst.
//!
//! What differs: the paper's flowchart (figure 2) compares duplicates with `actnum`. When a retransmission precedes the
//! round trip's extra segment, the duplicate of that segment comes after the next partial acknowledgement, so that
//! the comparison would find a loss that is not there. Here duplicates are compared with the new
//! segments that were sent ahead of the retransmission, which holds in either order. If no new segment can be sent,
//! only retransmissions leave, as in NewReno. A lost retransmission is left to the timer, as in the paper.

use super::{Begin, Episode, Heard, Pick, Progress, Recovery};
use crate::Scoreboard;
use ackclock_cc::Window;

/// What leaves first when a partial acknowledgement lets out a retransmission and an extra new segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// The retransmission; the times of the paper's figure 9 (exit at 2.87 s).
    Retransmission,
    /// The new segment, so that every repair waits behind it; the segment numbers of the paper's figure 5.
    NewSegment,
}

/// Which duplicates count for the first value of `actnum`, half their number rounded down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Those after the retransmission that began the episode: `actnum` is what retreat has sent.
    Retreat,
    /// Those that began the episode as well: `actnum` is half of what was in flight besides the loss.
    All,
}

/// What the paper leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RobustConfig {
    /// What leaves first. Default: the retransmission, since waiting delays every round trip of the episode.
    pub first: First,
    /// Which duplicates count. Default: those of retreat; with it figure 9's episode ends with cwnd 10, as published.
    pub counted: Counted,
}

impl Default for RobustConfig {
    fn default() -> RobustConfig {
        RobustConfig { first: First::Retransmission, counted: Counted::Retreat }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Retreat,
    Probe,
}

/// The least threshold (RFC 5681 (4)).
const LEAST_SSTHRESH: f64 = 2.0;

/// The recovery.
pub struct Robust {
    config: RobustConfig,
    phase: Phase,
    /// New segments that should be in flight at the end of the round trip, in probe.
    actnum: u64,
    /// Duplicates since the last retransmission.
    ndup: u64,
    /// Those that began the episode.
    began: u64,
    /// New segments sent since the last retransmission, and in the round trip before it: duplicates due in this one.
    sent: u64,
    expected: u64,
    resend: Option<u64>,
    /// New segments that may be sent.
    allowance: u64,
}

impl Robust {
    /// A recovery with these choices.
    pub fn new(config: RobustConfig) -> Robust {
        Robust {
            config,
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

    /// The end of a round trip, section 3.2.2; was there a further loss?
    fn end_round(&mut self) -> bool {
        match self.phase {
            Phase::Retreat => {
                let earlier = if self.config.counted == Counted::All { self.began } else { 0 };
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

    /// Section 3.2.3. If less is in flight than was counted, because there was no new data, less may be.
    fn exit(&self, episode: &Episode, w: &mut Window) {
        let flight = episode.nxt - episode.una;
        w.cwnd = self.actnum.min(flight + 1).max(1) as f64;
        // Congestion avoidance follows, whatever the controller has made of the threshold.
        w.ssthresh = w.ssthresh.min(w.cwnd).max(LEAST_SSTHRESH);
    }

    fn send_new(&mut self) -> Pick {
        self.allowance -= 1;
        self.sent += 1;
        Pick::New
    }
}

impl Recovery for Robust {
    /// cwnd stays as it is until the end and controls nothing.
    fn begin(&mut self, episode: &Episode, _heard: Heard, _board: &mut Scoreboard, _w: &mut Window) -> Begin {
        *self = Robust::new(self.config);
        self.began = u64::from(episode.duplicates);
        self.resend = Some(episode.una);
        Begin::Repair
    }

    fn on_ack(
        &mut self,
        episode: &Episode,
        heard: Heard,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Progress {
        if heard.acked == 0 {
            self.on_duplicate();
            return Progress::Continues;
        }
        // A further loss is looked for first: it moves the exit.
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
            self.allowance = 0; // what cannot be sent now is not made up for
        }
        if self.config.first == First::NewSegment && self.allowance > 0 {
            return Some(self.send_new());
        }
        if let Some(seq) = self.resend.take() {
            self.expected = std::mem::take(&mut self.sent);
            return Some(Pick::Again(seq));
        }
        (self.allowance > 0).then(|| self.send_new())
    }
}
