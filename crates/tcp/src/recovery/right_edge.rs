//! Right-edge recovery: one new segment for each duplicate, so that small windows have duplicates enough.
//!
//! Source: as H. Wang and K. G. Shin compare with it in "Robust TCP Congestion Recovery", ICDCS 2001; the proposal is H.
//! Balakrishnan et al., "TCP Behavior of a Busy Internet Server", INFOCOM 1998. What is in flight does not shrink during the
//! episode, and losses among the new segments are not seen.
//!
//! What differs: the comparison says only what a duplicate lets out. Everything else is NewReno's (RFC 6582): one hole
//! per partial acknowledgement, until what was sent before the episode is acknowledged, and an exit without a burst.

use super::{Begin, Episode, Heard, Pick, Progress, Recovery};
use crate::Scoreboard;
use ackclock_cc::Window;

/// The recovery.
#[derive(Default)]
pub struct RightEdge {
    resend: Option<u64>,
    /// New segments that duplicates have let out.
    allowance: u64,
}

impl Recovery for RightEdge {
    fn begin(&mut self, episode: &Episode, _heard: Heard, _board: &mut Scoreboard, w: &mut Window) -> Begin {
        w.cwnd = w.ssthresh;
        self.resend = Some(episode.una);
        self.allowance = 1; // for the duplicate that began the episode; the sender has served those before
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
            self.allowance += 1;
            return Progress::Continues;
        }
        if episode.una >= episode.recover {
            let flight = (episode.nxt - episode.una) as f64;
            w.cwnd = w.ssthresh.min(flight.max(1.0) + 1.0);
            return Progress::Ends;
        }
        self.resend = Some(episode.una);
        Progress::Continues
    }

    fn next(&mut self, episode: &Episode, _board: &mut Scoreboard, _w: &Window) -> Option<Pick> {
        if let Some(seq) = self.resend.take() {
            return Some(Pick::Again(seq));
        }
        if !episode.new_data {
            self.allowance = 0; // what cannot be sent now is not made up for
        }
        self.allowance = self.allowance.checked_sub(1)?;
        Some(Pick::New)
    }
}
