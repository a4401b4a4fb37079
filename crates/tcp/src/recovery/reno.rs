//! Reno: fast retransmit, and fast recovery until the first new acknowledgement.
//!
//! Source: RFC 2581 section 3.2 (the behaviour of 4.3BSD Reno). The inflation of the window by duplicates is
//! kept apart from cwnd, so that controllers and probes never see an inflated window.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::Entry;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "reno",
        title: "Reno",
        source: "RFC 2581 section 3.2",
        summary: "Fast recovery that ends with the first new acknowledgement.",
        equations: &[],
        notes: &[],
        parameters: &[],
    },
    selective: false,
    serves_first_duplicates: false,
    build: |_| Box::<Reno>::default(),
};

/// The recovery.
#[derive(Default)]
pub struct Reno {
    /// The inflation of the window, segments: one per duplicate.
    inflation: f64,
    resend: Option<u64>,
}

impl Recovery for Reno {
    fn begin(
        &mut self,
        episode: &Episode,
        _summary: AckSummary,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Begin {
        w.cwnd = w.ssthresh;
        self.inflation = f64::from(episode.duplicates); // RFC 2581 section 3.2 (2)
        self.resend = Some(episode.una);
        Begin::Repair
    }

    fn on_ack(
        &mut self,
        _episode: &Episode,
        summary: AckSummary,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Progress {
        if summary.acked > 0 {
            w.cwnd = w.ssthresh; // RFC 2581 section 3.2 (5)
            return Progress::EndsAtOnce;
        }
        self.inflation += 1.0; // (3)
        Progress::Continues
    }

    fn next(&mut self, episode: &Episode, _board: &mut Scoreboard, w: &Window) -> Option<Pick> {
        if let Some(seq) = self.resend.take() {
            return Some(Pick::Retransmit(seq));
        }
        let flight = (episode.nxt - episode.una) as f64;
        (episode.new_data && flight + 1.0 <= w.cwnd + self.inflation).then_some(Pick::New) // (4)
    }
}
