//! SACK: holes are repaired from selective acknowledgements, while the pipe, an estimate of the flight, is
//! held at the window.
//!
//! Source: RFC 6675. With `proportional_rate` the sending during the episode follows RFC 9937 (Proportional
//! Rate Reduction), instead of waiting for the pipe to fall below the new window.
//!
//! What differs: a segment here is a full segment, so the byte counts of the RFCs become counts of segments.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme, Settings};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::{Entry, Parameter};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "sack",
        title: "SACK",
        source: "RFC 6675; with proportional_rate RFC 9937",
        summary: "Pipe-controlled repair from selective acknowledgements.",
        equations: &[],
        notes: &["proportional_rate: a controller that sets its window in every state is not subject to it"],
        parameters: &[Parameter::flag(
            "proportional_rate",
            false,
            "spread the reduction over the round trip (Proportional Rate Reduction, RFC 9937)",
        )],
    },
    selective: true,
    serves_first_duplicates: false,
    build: |settings| Box::new(Sack::new(settings)),
};

/// The recovery.
pub struct Sack {
    proportional_rate: bool,
    /// RFC 6675 section 5 (4.3): the first retransmission is sent whatever the pipe is.
    first: Option<u64>,
    /// RFC 6675's RescueRxt, plus one. There is a rescue once more than that is acknowledged.
    rescued: u64,
    prr: Prr,
}

/// State of RFC 9937, in segments.
#[derive(Default)]
struct Prr {
    /// RecoverFS: the flight when the acknowledgement that began the episode arrived.
    flight: f64,
    delivered: f64,
    out: f64,
    /// Segments that the last acknowledgement allows.
    allowance: f64,
}

impl Prr {
    /// On any transmission or retransmission.
    fn sent(&mut self) {
        self.allowance -= 1.0;
        self.out += 1.0;
    }
}

impl Sack {
    /// A recovery with checked `settings`.
    pub fn new(settings: &Settings) -> Sack {
        let proportional_rate = settings.get("proportional_rate");
        Sack { proportional_rate, first: None, rescued: 0, prr: Prr::default() }
    }

    /// RFC 9937 section 6.2: how many segments the acknowledgement allows.
    fn reduce_proportionally(&mut self, summary: AckSummary, pipe: f64, ssthresh: f64) {
        let prr = &mut self.prr;
        let delivered = summary.delivered as f64;
        prr.delivered += delivered;
        let send = if pipe > ssthresh {
            (prr.delivered * ssthresh / prr.flight.max(1.0)).ceil() - prr.out
        } else {
            // Conservative bound, and slow start's one more while holes close and no new ones open
            // ("SafeACK").
            let safe = summary.acked > 0 && summary.lost == 0;
            ((prr.delivered - prr.out).max(delivered) + f64::from(u8::from(safe))).min(ssthresh - pipe)
        };
        prr.allowance = send.max(0.0);
    }

    /// RFC 6675 section 4, NextSeg ().
    fn next_segment(&mut self, episode: &Episode, board: &mut Scoreboard) -> Option<Pick> {
        if let Some(seq) = board.first_lost_again() {
            board.resend_lost_again();
            return Some(Pick::Retransmit(seq)); // RFC 8985 section 6.2: a lost retransmission is a loss like any other
        }
        let hole = board.next_unsacked(board.high_rxt());
        let repairs = hole < board.lost_edge(); // (1)
        if !repairs && episode.new_data {
            return Some(Pick::New); // (2)
        }
        if repairs || hole < board.limit() {
            board.resend(hole);
            return Some(Pick::Retransmit(hole)); // (1), (3)
        }
        self.rescue(episode, board)
    }

    /// NextSeg (4): the highest segment that is outstanding, so that the episode can end if the tail was
    /// lost. Once per episode, and HighRxt (the edge of retransmissions) stays where it is.
    fn rescue(&mut self, episode: &Episode, board: &Scoreboard) -> Option<Pick> {
        if episode.una <= self.rescued {
            return None;
        }
        self.rescued = episode.recover;
        (episode.una..episode.nxt).rev().find(|&seq| !board.is_sacked(seq)).map(Pick::Retransmit)
    }
}

impl Recovery for Sack {
    fn begin(
        &mut self,
        episode: &Episode,
        summary: AckSummary,
        board: &mut Scoreboard,
        w: &mut Window,
    ) -> Begin {
        w.cwnd = w.ssthresh;
        board.begin_episode();
        board.lose_first();
        self.first = Some(episode.una);
        // Section 5 (4.3): no rescue before the first retransmission is acknowledged.
        self.rescued = episode.una + 1;
        // RFC 9937 section 6.1: what is delivered by this very acknowledgement is delivered during the
        // episode.
        let flight = episode.nxt - episode.una - board.sacked() + summary.delivered;
        self.prr = Prr { flight: flight as f64, ..Prr::default() };
        self.reduce_proportionally(summary, board.pipe(episode.nxt) as f64, w.ssthresh);
        Begin::Repair
    }

    fn on_ack(
        &mut self,
        episode: &Episode,
        summary: AckSummary,
        board: &mut Scoreboard,
        w: &mut Window,
    ) -> Progress {
        if episode.una >= episode.recover {
            w.cwnd = w.ssthresh;
            return Progress::Ends;
        }
        if self.proportional_rate {
            self.reduce_proportionally(summary, board.pipe(episode.nxt) as f64, w.ssthresh);
        }
        Progress::Continues
    }

    fn leave_window(&mut self) {
        self.proportional_rate = false; // there is nothing to reduce in proportion to
    }

    fn next(&mut self, episode: &Episode, board: &mut Scoreboard, w: &Window) -> Option<Pick> {
        // Unless a pacer has delayed it until the original arrived.
        if let Some(seq) = self.first.take()
            && seq == episode.una
        {
            board.resend(seq);
            self.prr.sent();
            return Some(Pick::Retransmit(seq));
        }
        let room = if self.proportional_rate {
            self.prr.allowance >= 1.0
        } else {
            board.pipe(episode.nxt) as f64 + 1.0 <= w.cwnd // RFC 6675 section 5 (C)
        };
        if !room {
            return None;
        }
        let pick = self.next_segment(episode, board)?;
        self.prr.sent();
        Some(pick)
    }
}
