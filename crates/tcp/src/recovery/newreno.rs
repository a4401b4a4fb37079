//! NewReno: fast recovery that lasts until everything sent before the loss is acknowledged.
//!
//! Source: RFC 6582. A partial acknowledgement shows the next hole, which is retransmitted at once: one hole per
//! round trip. The inflation of the window is kept apart from cwnd.

use super::{Begin, Episode, Heard, Pick, Progress, Recovery};
use crate::Scoreboard;
use ackclock_cc::Window;

/// What RFC 6582 leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewRenoConfig {
    /// Restart the retransmission timer only on the first partial acknowledgement (RFC 6582 section 3.2 step 5:
    /// "impatient", its recommendation) rather than on each ("slow but steady").
    pub impatient: bool,
    /// Leave with min(ssthresh, flight + 1) rather than ssthresh (RFC 6582 section 3.2 step 3, option 1): no burst.
    pub cautious_exit: bool,
}

impl Default for NewRenoConfig {
    fn default() -> NewRenoConfig {
        NewRenoConfig { impatient: true, cautious_exit: true }
    }
}

/// The recovery.
pub struct NewReno {
    config: NewRenoConfig,
    inflation: f64,
    resend: Option<u64>,
    partial_seen: bool,
}

impl NewReno {
    /// A recovery with these choices.
    pub fn new(config: NewRenoConfig) -> NewReno {
        NewReno { config, inflation: 0.0, resend: None, partial_seen: false }
    }
}

impl Recovery for NewReno {
    fn begin(&mut self, episode: &Episode, _heard: Heard, _board: &mut Scoreboard, w: &mut Window) -> Begin {
        w.cwnd = w.ssthresh;
        // RFC 6582 section 3.2 step 2, through RFC 5681 section 3.2 (3): the duplicates have left the network.
        self.inflation = f64::from(episode.duplicates);
        self.resend = Some(episode.una);
        self.partial_seen = false;
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
            self.inflation += 1.0;
            return Progress::Continues;
        }
        if episode.una >= episode.recover {
            w.cwnd = if self.config.cautious_exit { episode.exit_window(w.ssthresh) } else { w.ssthresh };
            return Progress::Ends;
        }
        // Step 5: deflate by what was acknowledged, then add back one segment.
        self.inflation += 1.0 - heard.acked as f64;
        self.resend = Some(episode.una);
        let first = !std::mem::replace(&mut self.partial_seen, true);
        if self.config.impatient && !first { Progress::ContinuesOnTimer } else { Progress::Continues }
    }

    fn next(&mut self, episode: &Episode, _board: &mut Scoreboard, w: &Window) -> Option<Pick> {
        if let Some(seq) = self.resend.take() {
            return Some(Pick::Again(seq));
        }
        let flight = (episode.nxt - episode.una) as f64;
        (episode.new_data && flight + 1.0 <= w.cwnd + self.inflation).then_some(Pick::New)
    }
}
