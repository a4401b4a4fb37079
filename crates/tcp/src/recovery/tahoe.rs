//! Tahoe: fast retransmit without fast recovery.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, with the fast retransmit of 4.3BSD
//! Tahoe. After a loss the window starts over from one segment and everything from the hole on is sent again
//! as slow start allows, except what acknowledgements show to have arrived.

use super::{Begin, Episode, Heard, Pick, Progress, Recovery};
use crate::Scoreboard;
use ackclock_cc::Window;

/// The recovery; it has no state of its own, because there is no episode.
pub struct Tahoe;

impl Recovery for Tahoe {
    fn begin(&mut self, _: &Episode, _: Heard, _: &mut Scoreboard, _: &mut Window) -> Begin {
        Begin::StartOver
    }

    fn on_ack(&mut self, _: &Episode, _: Heard, _: &mut Scoreboard, _: &mut Window) -> Progress {
        Progress::Ends
    }

    fn next(&mut self, _: &Episode, _: &mut Scoreboard, _: &Window) -> Option<Pick> {
        None
    }
}
