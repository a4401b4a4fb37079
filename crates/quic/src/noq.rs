//! noq 1.4: the adapter to its `congestion::Controller`.
//!
//! noq tells of every packet that is sent, acknowledged or lost, sends at the controller's rate if there is
//! one, and reports spurious losses.

use crate::control::{Control, Error};
use crate::departure::Departure;
use crate::driver::Driver;
use ackclock_units::Time;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Builds the controller of each path. For `TransportConfig::congestion_controller_factory`.
#[derive(Debug)]
pub struct NoqFactory(Control);

impl Control {
    /// The controller for noq.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if it needs what noq cannot give: marks by number, one-way delays.
    /// [`Error::Uncontrolled`] for `none`.
    pub fn noq(&self) -> Result<Arc<NoqFactory>, Error> {
        self.check(&ackclock_cc::NOQ)?;
        Ok(Arc::new(NoqFactory(self.clone())))
    }
}

impl ControllerFactory for NoqFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let driver = Driver::new(&self.0, current_mtu, Time::ZERO);
        let needs = self.0.settings().needs();
        let log = needs.rate.then(Log::default);
        let by_window = needs.window;
        Box::new(Adapter { driver, epoch: now, now: Time::ZERO, log, by_window, window_limited: false })
    }
}

/// A controller on one path.
#[derive(Clone, Debug)]
struct Adapter {
    driver: Driver,
    /// The zero of the driver's time.
    epoch: Instant,
    /// The last instant that the stack told.
    now: Time,
    /// The packets in flight, if the controller needs their departures.
    log: Option<Log>,
    /// True if the controller must know whether the window held the sender back, and not its pacing.
    by_window: bool,
    /// True if the window held the sender back since the last acknowledgement.
    window_limited: bool,
}

/// Packets in the order of their departure. The numbers of Initial, Handshake and other packets are apart, so
/// a packet is known by its departure and its number.
#[derive(Clone, Debug, Default)]
struct Log {
    packets: VecDeque<Packet>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Time,
    number: u64,
    /// `None` once it is settled.
    departure: Option<Departure>,
}

impl Log {
    fn push(&mut self, at: Time, number: u64, departure: Departure) {
        self.packets.push_back(Packet { at, number, departure: Some(departure) });
    }

    /// The departure of an acknowledged packet.
    fn take_acked(&mut self, at: Time, number: u64) -> Option<Departure> {
        let from = self.packets.partition_point(|packet| packet.at < at);
        let same = self.packets.range_mut(from..).take_while(|packet| packet.at == at);
        let found = same.filter(|packet| packet.departure.is_some()).find(|packet| packet.number == number);
        let departure = found.and_then(|packet| packet.departure.take());
        self.forget_settled();
        departure
    }

    /// The departure of a lost packet: one of the oldest.
    fn take_lost(&mut self, number: u64) -> Option<Departure> {
        let open = self.packets.iter_mut().filter(|packet| packet.departure.is_some());
        let departure = open.into_iter().find(|packet| packet.number == number)?.departure.take();
        self.forget_settled();
        departure
    }

    fn forget_settled(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.departure.is_none()) {
            self.packets.pop_front();
        }
    }
}

impl Adapter {
    fn time(&self, at: Instant) -> Time {
        Time::from_nanos(at.saturating_duration_since(self.epoch).as_nanos() as u64)
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.now = self.time(now);
        let departure = self.driver.on_sent(self.now, bytes.into());
        if let Some(log) = &mut self.log {
            log.push(self.now, pn, departure);
        }
    }

    fn on_cwnd_limited(&mut self) {
        self.window_limited = true;
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, _idle: bool, _rtt: &RttEstimator) {
        self.now = self.time(now);
        let sent = self.time(sent);
        let departure = self.log.as_mut().and_then(|log| log.take_acked(sent, pn));
        self.driver.on_acked(sent, bytes, departure.as_ref());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.now = self.time(now);
        let by_window = std::mem::take(&mut self.window_limited);
        let limited = if self.by_window { by_window } else { !app_limited };
        self.driver.on_ack_end(self.now, Some(in_flight), largest, limited, app_limited);
        if in_flight == 0
            && let Some(log) = &mut self.log
        {
            log.packets.clear(); // probes of the MTU are lost without a word
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.now = now;
        if is_ecn {
            self.driver.on_marks(now, sent, 1);
        } else {
            self.driver.on_loss(now, sent, lost_bytes, persistent);
        }
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.now = self.time(now);
        if let Some(departure) = self.log.as_mut().and_then(|log| log.take_lost(pn)) {
            self.driver.on_packet_lost(self.now, pn, lost_bytes.into(), &departure);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.driver.on_spurious(self.now);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.driver.on_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.driver.window_bytes()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.driver.window_bytes();
        metrics.ssthresh = self.driver.threshold_bytes();
        metrics.pacing_rate = self.driver.pacing_rate();
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
