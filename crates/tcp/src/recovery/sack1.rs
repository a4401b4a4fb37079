//! SACK as Fall and Floyd simulated it: in the estimate of the flight a lost segment counts until it is
//! acknowledged.
//!
//! Source: K. Fall and S. Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", Computer
//! Communication Review 26(3), 1996, and the agent TCP/Sack1 of ns-2, which published simulations of SACK
//! have used. It is older than RFC 6675, whose pipe leaves out what counts as lost.
//!
//! The pipe begins with everything outstanding that has not arrived, lost or not. Every acknowledgement of
//! the episode takes one from it, and a partial acknowledgement two: the retransmission, and the original
//! that was lost. Every segment sent adds one, but not the first retransmission. So after many losses the
//! pipe falls slowly, and fewer new segments are sent than with RFC 6675. A hole is repaired as soon as any
//! segment above it has arrived, before new data is sent.
//!
//! What differs: the agent begins with the outstanding segments less three, the duplicates that it has waited
//! for; here it is less those that have arrived, which is the same unless acknowledgements are lost. If a
//! detection such as RACK reports a lost retransmission, it is sent again in its old place in the pipe. The
//! agent leaves it to the timer.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::Entry;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "sack1",
        title: "SACK as in ns-2",
        source: "Fall and Floyd, Computer Communication Review 26(3), 1996; ns-2's agent TCP/Sack1",
        summary: "SACK whose estimate of the flight holds lost segments until they are acknowledged.",
        equations: &[
            "at first pipe = outstanding segments, less those that have arrived",
            "each segment sent, but the first retransmission: pipe += 1",
            "each acknowledgement: pipe -= 1; each partial acknowledgement: pipe -= 2",
        ],
        notes: &["the pipe begins without what has arrived; the agent takes off three"],
        parameters: &[],
    },
    selective: true,
    serves_first_duplicates: false,
    build: |_| Box::new(Sack1 { first: None, pipe: 0 }),
};

/// The recovery.
struct Sack1 {
    /// The first retransmission is sent whatever the pipe is, and adds nothing to it.
    first: Option<u64>,
    /// The estimate of the flight, segments. Acknowledgements that report nothing new may take it below zero.
    pipe: i64,
}

impl Recovery for Sack1 {
    fn begin(
        &mut self,
        episode: &Episode,
        _summary: AckSummary,
        board: &mut Scoreboard,
        w: &mut Window,
    ) -> Begin {
        w.cwnd = w.ssthresh;
        board.begin_episode();
        board.lose_first();
        self.first = Some(episode.una);
        self.pipe = (episode.nxt - episode.una).saturating_sub(board.sacked()) as i64;
        Begin::Repair
    }

    fn on_ack(
        &mut self,
        episode: &Episode,
        summary: AckSummary,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Progress {
        if episode.una >= episode.recover {
            w.cwnd = w.ssthresh;
            return Progress::Ends;
        }
        self.pipe -= 1 + i64::from(summary.acked > 0);
        Progress::Continues
    }

    fn next(&mut self, episode: &Episode, board: &mut Scoreboard, w: &Window) -> Option<Pick> {
        // Unless a pacer has delayed it until the original arrived.
        if let Some(seq) = self.first.take()
            && seq == episode.una
        {
            board.resend(seq);
            return Some(Pick::Retransmit(seq));
        }
        if self.pipe as f64 + 1.0 > w.cwnd {
            return None;
        }
        if let Some(seq) = board.first_lost_again() {
            board.resend_lost_again();
            return Some(Pick::Retransmit(seq));
        }
        let hole = board.next_unsacked(board.high_rxt());
        let pick = if hole < board.limit() {
            board.resend(hole);
            Pick::Retransmit(hole)
        } else if episode.new_data {
            Pick::New
        } else {
            return None;
        };
        self.pipe += 1;
        Some(pick)
    }
}
