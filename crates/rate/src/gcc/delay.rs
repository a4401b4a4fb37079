//! The delay-based controller: groups, filter, detector and rate, for the half that sees departures and
//! arrivals.

use super::aimd::Aimd;
use super::detector::{Detector, Signal};
use super::filter::Filter;
use super::groups::Groups;
use super::incoming::Incoming;
use ackclock_units::{Duration, Time};

/// The controller.
#[derive(Clone, Debug)]
pub struct DelayBased {
    pub(super) groups: Groups,
    pub(super) filter: Filter,
    pub(super) detector: Detector,
    pub(super) incoming: Incoming,
    pub(super) aimd: Aimd,
    /// Groups so far, up to `most_groups`: what the filter's value is multiplied by.
    pub(super) count: u64,
    pub(super) most_groups: u64,
    /// The filter's last value, multiplied, ms.
    pub(super) trend: f64,
}

impl DelayBased {
    /// A packet of `bytes` that left at `sent` arrived.
    pub fn on_packet(&mut self, sent: Time, arrived: Time, bytes: u32, rtt: Duration) {
        self.incoming.add(arrived, bytes);
        let Some(change) = self.groups.on_packet(sent, arrived) else { return };
        self.count = (self.count + 1).min(self.most_groups);
        self.trend = self.filter.on_change(&change) * self.count as f64;
        let signal: Signal = self.detector.on_trend(self.trend, &change);
        self.aimd.on_signal(change.arrived, signal, self.incoming.rate(), rtt);
    }

    /// A, bit/s.
    pub fn rate(&self) -> f64 {
        self.aimd.rate()
    }

    /// Sets A, bit/s.
    pub fn set(&mut self, rate: f64) {
        self.aimd.set(rate);
    }

    /// Shows the filter's value, the threshold and the incoming rate to a probe.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("trend_ms", self.trend);
        see("threshold_ms", self.detector.threshold());
        see("incoming_bps", self.incoming.rate().unwrap_or(f64::NAN));
    }
}
