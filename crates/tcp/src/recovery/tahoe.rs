//! Tahoe: fast retransmit without fast recovery.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, with the fast retransmit of 4.3BSD
//! Tahoe. After a loss the window starts again from one segment. Everything from the hole on is sent again as
//! slow start allows, except what acknowledgements show to have arrived.

use super::{AckSummary, Begin, Episode, Pick, Progress, Recovery, Scheme};
use crate::Scoreboard;
use ackclock_cc::Window;
use ackclock_registry::Entry;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "tahoe",
        title: "Tahoe",
        source: "Jacobson, SIGCOMM 1988",
        summary: "Starts over from one segment after a fast retransmit.",
        equations: &[],
        notes: &[],
        parameters: &[],
    },
    selective: false,
    serves_first_duplicates: false,
    build: |_| Box::new(Tahoe),
};

/// The recovery. It has no state, because there is no episode.
pub struct Tahoe;

impl Recovery for Tahoe {
    fn begin(&mut self, _: &Episode, _: AckSummary, _: &mut Scoreboard, _: &mut Window) -> Begin {
        Begin::StartOver
    }

    fn on_ack(&mut self, _: &Episode, _: AckSummary, _: &mut Scoreboard, _: &mut Window) -> Progress {
        Progress::Ends
    }

    fn next(&mut self, _: &Episode, _: &mut Scoreboard, _: &Window) -> Option<Pick> {
        None
    }
}
