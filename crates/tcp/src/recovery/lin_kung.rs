//! Lin and Kung's recovery: one new segment for each of the first two duplicates, then one for two.
//!
//! Source: D. Lin and H. T. Kung, "TCP Fast Recovery Strategies: Analysis and Improvements", INFOCOM 1998, as H. Wang
//! and K. G. Shin compare with it in "Robust TCP Congestion Recovery", ICDCS 2001. The first two duplicates are the
//! sender's to serve, and RFC 3042 has made a standard of it.
//!
//! What differs: from the third duplicate on this is the comparison's NewReno (J. Hoe, SIGCOMM 1996): one new segment for
//! every second duplicate of a round trip, one hole per partial acknowledgement, and an exit without a burst. The
//! paper's proposals for sources without new data are not here.

use super::{Begin, Episode, Heard, Pick, Progress, Recovery};
use crate::Scoreboard;
use ackclock_cc::Window;

/// The recovery.
#[derive(Default)]
pub struct LinKung {
    resend: Option<u64>,
    /// Duplicates in this round trip.
    ndup: u64,
    /// New segments that duplicates have let out.
    allowance: u64,
}

impl Recovery for LinKung {
    fn begin(&mut self, episode: &Episode, _heard: Heard, _board: &mut Scoreboard, w: &mut Window) -> Begin {
        w.cwnd = w.ssthresh;
        *self = LinKung { resend: Some(episode.una), ..LinKung::default() };
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
            self.ndup += 1;
            self.allowance += u64::from(self.ndup.is_multiple_of(2));
            return Progress::Continues;
        }
        if episode.una >= episode.recover {
            let flight = (episode.nxt - episode.una) as f64;
            w.cwnd = w.ssthresh.min(flight.max(1.0) + 1.0);
            return Progress::Ends;
        }
        self.resend = Some(episode.una);
        self.ndup = 0;
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
