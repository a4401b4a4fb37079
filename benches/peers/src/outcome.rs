//! The result of a run, in the same terms for both simulators.

use serde::{Deserialize, Serialize};

/// The result of one run. Counts cover the measuring window, except `delivered_segments`, which gives the
/// speed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The payload that all flows together delivered in order, bit/s.
    pub goodput_bps: f64,
    /// The part of it that the first flow delivered, bit/s.
    pub first_goodput_bps: f64,
    /// The part of it that flows with a rate-based transport delivered, bit/s.
    pub rate_goodput_bps: f64,
    /// The mean over time of the loss event rate of the first such flow, over the whole run.
    pub loss_event_rate: Option<f64>,
    /// The packets that the queues of all bottlenecks dropped.
    pub drops: u64,
    /// The packets that the first bottleneck marked instead of dropping.
    pub marks: u64,
    /// The mean number of packets that wait at the first bottleneck.
    pub queue_mean: f64,
    /// The packets that the first bottleneck lost at random.
    pub losses: u64,
    /// The retransmitted segments.
    pub retransmits: u64,
    /// The expiries of retransmission timers.
    pub timeouts: u64,
    /// The reductions of a window.
    pub window_cuts: u64,
    /// The segments delivered in order over the whole run.
    pub delivered_segments: u64,
    /// The wall time from the first to the last event, s.
    pub wall_s: f64,
    /// The processor time of the same span, s.
    pub cpu_s: f64,
    /// The peak memory of the process, kB (VmHWM).
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
