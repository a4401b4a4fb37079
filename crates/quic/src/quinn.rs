//! quinn 0.11: the adapter to its `congestion::Controller`.
//!
//! quinn tells of acknowledged packets one by one and of lost ones in batches, paces by itself at 1.25
//! windows per round trip, and sends while the window is larger than what would then be in flight.

use crate::control::{Control, Error};
use crate::driver::Driver;
use ackclock_units::Time;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Builds the controller of each path. For `TransportConfig::congestion_controller_factory`.
#[derive(Debug)]
pub struct QuinnFactory(Control);

impl Control {
    /// The controller for quinn.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if it needs what quinn cannot give: a pacing rate, marks by number, each loss by
    /// itself, one-way delays. [`Error::Uncontrolled`] for `none`.
    pub fn quinn(&self) -> Result<Arc<QuinnFactory>, Error> {
        self.check(&ackclock_cc::QUINN)?;
        Ok(Arc::new(QuinnFactory(self.clone())))
    }
}

impl ControllerFactory for QuinnFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let driver = Driver::new(&self.0, current_mtu, Time::ZERO);
        Box::new(Adapter { driver, epoch: now })
    }
}

/// A controller on one path.
#[derive(Clone, Debug)]
struct Adapter {
    driver: Driver,
    /// The zero of the driver's time.
    epoch: Instant,
}

impl Adapter {
    fn time(&self, at: Instant) -> Time {
        Time::from_nanos(at.saturating_duration_since(self.epoch).as_nanos() as u64)
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.driver.on_sent(self.time(now), bytes);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, _app_limited: bool, _rtt: &RttEstimator) {
        self.driver.on_acked(self.time(sent), bytes, None);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.driver.on_ack_end(self.time(now), Some(in_flight), largest, !app_limited, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        if lost_bytes == 0 {
            self.driver.on_marks(now, sent, 1);
        } else {
            self.driver.on_loss(now, sent, lost_bytes, persistent);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.driver.on_mtu(new_mtu);
    }

    /// One byte more than the window: quinn wants less than the window in flight, and controllers allow it
    /// all.
    fn window(&self) -> u64 {
        self.driver.window_bytes() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.driver.window_bytes();
        metrics.ssthresh = self.driver.threshold_bytes();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.driver.initial_window_bytes()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
