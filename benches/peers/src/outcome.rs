//! What a run of either simulator came to, in the same words.

use serde::{Deserialize, Serialize};

/// One run. Counts are of the measuring window, but for `delivered_segments`, which speed is taken from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Payload delivered in order by all flows together, bit/s.
    pub goodput_bps: f64,
    /// Packets that the bottleneck's queue dropped.
    pub drops: u64,
    /// Packets that were lost on the bottleneck whatever its queue did.
    pub losses: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Reductions of a window.
    pub window_cuts: u64,
    /// Segments delivered in order over the whole run.
    pub delivered_segments: u64,
    /// Wall time from the first event to the last, s.
    pub wall_s: f64,
    /// Processor time of the same span, s.
    pub cpu_s: f64,
    /// Most memory that the process ever held, kB (VmHWM).
    pub peak_rss_kb: u64,
}

impl Outcome {
    /// Delivered segments per second of wall time.
    pub fn segments_per_wall_s(&self) -> f64 {
        self.delivered_segments as f64 / self.wall_s.max(1e-9)
    }

    /// Delivered segments per second of processor time.
    pub fn segments_per_cpu_s(&self) -> f64 {
        self.delivered_segments as f64 / self.cpu_s.max(1e-9)
    }
}
