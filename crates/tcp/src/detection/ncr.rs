//! Non-congestion robustness (TCP-NCR): a hole is a loss once about a window of segments has arrived above
//! it.
//!
//! Source: RFC 4653, the standardised successor of TCP-DCR's count form. It needs SACK. While the hole is
//! open (Extended Limited Transmit), new segments are sent so that no more is in flight than was outstanding
//! when the hole opened. The careful variant sends one segment for two that have arrived, the aggressive one
//! sends one for each. The threshold follows the number of outstanding segments. When the hole closes by
//! itself, the window is set so that no burst is sent.
//!
//! What differs: in slow start the threshold of the window (ssthresh) is not lowered to the number of
//! outstanding segments, because mere reordering would then end slow start. Other holes of the window count
//! as losses with the same number of segments above them. The RFC leaves rounding open (up, here). If the
//! hole is a loss, the RFC halves the outstanding data. Here the controller makes its own reduction, from
//! cwnd, which has not grown in the meantime.

use super::{DUP_THRESH, Detector, Hole, LossDelay, Scheme, Settings};
use ackclock_cc::Window;
use ackclock_registry::{Entry, Parameter};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "ncr",
        title: "Non-congestion robustness (TCP-NCR)",
        source: "RFC 4653",
        summary: "A hole is a loss once about a window of segments has arrived above it.",
        equations: &[],
        notes: &[
            "in slow start ssthresh is not lowered to what was outstanding: that would end slow start for a mere reordering",
            "rounding is left open by the RFC: up, here",
            "the controller makes its own reduction, from cwnd; the RFC halves what was outstanding",
        ],
        parameters: &[Parameter::flag(
            "aggressive",
            false,
            "one new segment for each that has arrived above the hole, which is a loss after half a window; otherwise one for \
         two, and two thirds of a window (careful, which also halves what is in flight if it is a loss)",
        )],
    },
    selective: true,
    reads_duplicate_reports: false,
    build: |settings| Detector::patience(Ncr::new(settings)),
};

/// The detection.
struct Ncr {
    aggressive: bool,
    /// FlightSizePrev: the segments outstanding when the hole opened.
    flight: u64,
    /// Segments that the careful variant did not send.
    skipped: u64,
    threshold: u64,
    /// True if the next hole follows from the last one, with what was outstanding then.
    follows: bool,
}

impl Ncr {
    fn new(settings: &Settings) -> Ncr {
        let aggressive = settings.get("aggressive");
        Ncr { aggressive, flight: 0, skipped: 0, threshold: u64::from(DUP_THRESH), follows: false }
    }

    /// DupThresh = max(LT_F * FlightSize, 3), LT_F 2/3 or 1/2.
    fn threshold_for(&self, flight: u64) -> u64 {
        let share = if self.aggressive { flight.div_ceil(2) } else { (2 * flight).div_ceil(3) };
        share.max(u64::from(DUP_THRESH))
    }
}

impl LossDelay for Ncr {
    fn begin(&mut self, hole: &Hole) -> bool {
        if !std::mem::take(&mut self.follows) {
            self.flight = hole.flight;
        }
        self.skipped = 0;
        true
    }

    fn is_over(&mut self, hole: &Hole) -> bool {
        self.threshold = self.threshold_for(hole.flight);
        hole.above >= self.threshold
    }

    fn room(&self, _w: &Window) -> f64 {
        self.flight.saturating_sub(self.skipped) as f64
    }

    fn sent(&mut self) {
        self.skipped += u64::from(!self.aggressive);
    }

    fn grows(&self) -> bool {
        false
    }

    /// Termination: the window is the outstanding segments plus one, and slow start leads back to the earlier
    /// window.
    fn closed(&mut self, flight: u64, more: bool, w: &mut Window) {
        let most = self.flight as f64;
        w.cwnd = (flight as f64 + 1.0).min(most);
        w.ssthresh = w.ssthresh.max(most);
        self.follows = more;
    }

    fn threshold(&self) -> u64 {
        self.threshold
    }
}
