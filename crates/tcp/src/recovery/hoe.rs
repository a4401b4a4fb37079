//! Hoe's recovery: one new segment for a number of duplicates. With other numbers it is right-edge recovery,
//! or Lin and Kung's.
//!
//! Sources: J. Hoe, "Improving the Start-up Behavior of a Congestion Control Scheme for TCP", SIGCOMM 1996:
//! one new segment for every second duplicate. H. Wang and K. G. Shin compare with it as New-Reno in "Robust
//! TCP Congestion Recovery", ICDCS 2001. They name two more:
//!
//! - *right-edge* (H. Balakrishnan et al., "TCP Behavior of a Busy Internet Server", INFOCOM 1998): one new
//!   segment for each duplicate, so that small windows have enough duplicates. The flight does not shrink
//!   during the episode.
//! - *Lin and Kung's* (D. Lin and H. T. Kung, "TCP Fast Recovery Strategies: Analysis and Improvements",
//!   INFOCOM 1998): one new segment for each of the first two duplicates, which became RFC 3042, and from the
//!   third on one for two. The paper's proposals for sources without new data are left out.
//!
//! The sender handles the first two duplicates. The rest is the same for all: one hole per partial
//! acknowledgement, until everything sent before the episode is acknowledged, and an exit without a burst.
//! Losses among the new segments are not detected.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::Entry;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "hoe",
        title: "Hoe's recovery",
        source: "Hoe, SIGCOMM 1996",
        summary: "One new segment for every second duplicate.",
        equations: &[],
        notes: &[],
        parameters: &[],
    },
    selective: false,
    serves_first_duplicates: false,
    build: |_| Box::new(Hoe::new()),
};

/// The registry's entry of right-edge recovery.
pub const RIGHT_EDGE: Scheme = Scheme {
    entry: Entry {
        name: "right-edge",
        title: "Right-edge recovery",
        source: "Balakrishnan et al., INFOCOM 1998",
        summary: "One new segment for each duplicate, so that small windows have duplicates enough.",
        equations: &[],
        notes: &[],
        parameters: &[],
    },
    selective: false,
    serves_first_duplicates: true,
    build: |_| Box::new(Hoe::right_edge()),
};

/// The registry's entry of Lin and Kung's recovery.
pub const LIN_KUNG: Scheme = Scheme {
    entry: Entry {
        name: "lin-kung",
        title: "Lin and Kung's recovery",
        source: "Lin and Kung, INFOCOM 1998",
        summary: "One new segment for each of the first two duplicates, then one for two.",
        equations: &[],
        notes: &["the paper's proposals for sources without new data are not here"],
        parameters: &[],
    },
    selective: false,
    serves_first_duplicates: true,
    build: |_| Box::new(Hoe::new()),
};

/// The recovery.
pub struct Hoe {
    /// The number of duplicates for one new segment.
    price: u64,
    resend: Option<u64>,
    /// Duplicates in this round trip.
    ndup: u64,
    /// New segments that duplicates allow.
    allowance: u64,
}

impl Hoe {
    /// One new segment for every second duplicate of a round trip.
    pub fn new() -> Hoe {
        Hoe { price: 2, resend: None, ndup: 0, allowance: 0 }
    }

    /// One new segment for each duplicate.
    pub fn right_edge() -> Hoe {
        Hoe { price: 1, ..Hoe::new() }
    }
}

impl Default for Hoe {
    fn default() -> Hoe {
        Hoe::new()
    }
}

impl Recovery for Hoe {
    fn begin(
        &mut self,
        episode: &Episode,
        _summary: AckSummary,
        _board: &mut Scoreboard,
        w: &mut Window,
    ) -> Begin {
        w.cwnd = w.ssthresh;
        self.resend = Some(episode.una);
        self.ndup = 0;
        self.allowance = 1 / self.price; // for the duplicate that began the episode
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
            self.ndup += 1;
            self.allowance += u64::from(self.ndup.is_multiple_of(self.price));
            return Progress::Continues;
        }
        if episode.una >= episode.recover {
            w.cwnd = episode.exit_window(w.ssthresh);
            return Progress::Ends;
        }
        self.resend = Some(episode.una);
        self.ndup = 0;
        Progress::Continues
    }

    fn next(&mut self, episode: &Episode, _board: &mut Scoreboard, _w: &Window) -> Option<Pick> {
        if let Some(seq) = self.resend.take() {
            return Some(Pick::Retransmit(seq));
        }
        if !episode.new_data {
            self.allowance = 0; // not made up for later
        }
        self.allowance = self.allowance.checked_sub(1)?;
        Some(Pick::New)
    }
}
