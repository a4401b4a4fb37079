//! NewReno: fast recovery until everything sent before the loss is acknowledged.
//!
//! Source: RFC 6582. A partial acknowledgement shows the next hole, which is retransmitted at once: one hole
//! per round trip. The inflation of the window is kept apart from cwnd.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme, Settings};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::{Entry, Parameter};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "newreno",
        title: "NewReno",
        source: "RFC 6582",
        summary: "Fast recovery over a whole window of losses, one hole per round trip.",
        equations: &[],
        notes: &[],
        parameters: &[
            Parameter::flag(
                "impatient",
                true,
                "restart the retransmission timer only on the first partial acknowledgement (RFC 6582 section 3.2 step 5, its \
             recommendation) rather than on each (\"slow but steady\")",
            ),
            Parameter::flag(
                "cautious_exit",
                true,
                "leave with min(ssthresh, flight + 1) rather than ssthresh (RFC 6582 section 3.2 step 3, option 1): no burst",
            ),
        ],
    },
    selective: false,
    serves_first_duplicates: false,
    build: |settings| Box::new(NewReno::new(settings)),
};

/// The recovery.
pub struct NewReno {
    impatient: bool,
    cautious_exit: bool,
    inflation: f64,
    resend: Option<u64>,
    partial_seen: bool,
}

impl NewReno {
    /// A recovery with checked `settings`.
    pub fn new(settings: &Settings) -> NewReno {
        NewReno {
            impatient: settings.get("impatient"),
            cautious_exit: settings.get("cautious_exit"),
            inflation: 0.0,
            resend: None,
            partial_seen: false,
        }
    }
}

impl Recovery for NewReno {
    fn begin(
        &mut self,
        episode: &Episode,
        _summary: AckSummary,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Begin {
        w.cwnd = w.ssthresh;
        // RFC 6582 section 3.2 step 2, through RFC 5681 section 3.2 (3): the duplicates have left the
        // network.
        self.inflation = f64::from(episode.duplicates);
        self.resend = Some(episode.una);
        self.partial_seen = false;
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
            self.inflation += 1.0;
            return Progress::Continues;
        }
        if episode.una >= episode.recover {
            w.cwnd = if self.cautious_exit { episode.exit_window(w.ssthresh) } else { w.ssthresh };
            return Progress::Ends;
        }
        // Step 5: deflate by what was acknowledged, then add back one segment.
        self.inflation += 1.0 - summary.acked as f64;
        self.resend = Some(episode.una);
        let first = !std::mem::replace(&mut self.partial_seen, true);
        if self.impatient && !first { Progress::ContinuesOnTimer } else { Progress::Continues }
    }

    fn next(&mut self, episode: &Episode, _board: &mut Scoreboard, w: &Window) -> Option<Pick> {
        if let Some(seq) = self.resend.take() {
            return Some(Pick::Retransmit(seq));
        }
        let flight = (episode.nxt - episode.una) as f64;
        (episode.new_data && flight + 1.0 <= w.cwnd + self.inflation).then_some(Pick::New)
    }
}
