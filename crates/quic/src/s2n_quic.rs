//! s2n-quic 1.91: the adapter to its `CongestionController`.
//!
//! s2n-quic tells of losses one by one and before the acknowledgement that reveals them, and counts marks.
//! The controller counts what is in flight, and says when the next packet may leave.

use crate::control::{Control, Error};
use crate::departure::Departure;
use crate::driver::Driver;
use ackclock_units::Time;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::RttEstimator;
use s2n_quic_core::recovery::congestion_controller::{CongestionController, Endpoint, PathInfo, Publisher};
use s2n_quic_core::time::Timestamp;
use std::time::Duration;

/// As s2n-quic's own controllers: packets leave in bursts of ten.
const BURST_PACKETS: u64 = 10;
/// As s2n-quic's own controllers: below this round-trip time nothing is paced, because timers are slower.
const LEAST_PACED_RTT_NS: u64 = 2_000_000;
/// As s2n-quic's own controllers: the window is used if fewer packets than this would still fit.
const UNUSED_PACKETS: u64 = 3;
/// Windows per round trip, as s2n-quic's own controllers pace: RFC 9002 section 7.7, and twice in slow start.
const GAIN: f64 = 1.25;
const SLOW_START_GAIN: f64 = 2.0;

/// Builds the controller of each path. For `with_congestion_controller` of s2n-quic's servers and clients.
#[derive(Clone, Debug)]
pub struct S2nQuicEndpoint(Control);

impl Control {
    /// The controller for s2n-quic.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if it needs what s2n-quic cannot give: one-way delays, ECT(1).
    /// [`Error::Uncontrolled`] for `none`.
    pub fn s2n_quic(&self) -> Result<S2nQuicEndpoint, Error> {
        self.check(&ackclock_cc::S2N_QUIC)?;
        Ok(S2nQuicEndpoint(self.clone()))
    }
}

impl Endpoint for S2nQuicEndpoint {
    type CongestionController = S2nQuicController;

    fn new_congestion_controller(&mut self, path_info: PathInfo<'_>) -> S2nQuicController {
        S2nQuicController {
            driver: Driver::new(&self.0, path_info.max_datagram_size, Time::ZERO),
            epoch: None,
            round_trips: 0,
            out_of_data: false,
            must_retransmit: false,
            pacer: Pacer::default(),
        }
    }
}

/// A controller on one path.
#[derive(Clone, Debug)]
pub struct S2nQuicController {
    driver: Driver,
    /// The zero of the driver's time: when the first packet left.
    epoch: Option<Timestamp>,
    /// Samples of the round-trip time, which stand for the largest acknowledged packet.
    round_trips: u64,
    /// True if the application could not fill the window.
    out_of_data: bool,
    /// A recovery period has begun, and its first packet may leave whatever the window says (RFC 9002 section
    /// 7.3.2).
    must_retransmit: bool,
    pacer: Pacer,
}

/// What a packet keeps until it is acknowledged or lost.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    sent: Time,
    departure: Departure,
}

/// When the next burst may leave.
#[derive(Clone, Debug, Default)]
struct Pacer {
    /// Bytes of the present burst that may still leave.
    left: u64,
    next: Option<Timestamp>,
}

impl Pacer {
    /// `bytes` leave at `now`; `rate` in bytes per second.
    fn on_sent(&mut self, now: Timestamp, bytes: u64, rate: f64, mtu: u16) {
        let burst = BURST_PACKETS * u64::from(mtu);
        if self.left == 0 {
            let gap = Duration::from_secs_f64((burst as f64 / rate).min(1.0));
            self.next = Some(self.next.map_or(now, |next| (next + gap).max(now)));
            self.left = burst;
        }
        self.left = self.left.saturating_sub(bytes);
    }
}

impl S2nQuicController {
    fn time(&mut self, at: Timestamp) -> Time {
        let epoch = *self.epoch.get_or_insert(at);
        Time::from_nanos(at.saturating_duration_since(epoch).as_nanos() as u64)
    }

    /// The rate at which packets leave, bytes per second: the controller's, or some windows per round trip.
    fn rate(&self) -> Option<f64> {
        if let Some(rate) = self.driver.pacing_rate() {
            return Some(rate as f64);
        }
        let rtt = self.driver.smoothed_rtt();
        let gain = if self.driver.in_slow_start() { SLOW_START_GAIN } else { GAIN };
        let paced = rtt.as_nanos() >= LEAST_PACED_RTT_NS;
        paced.then(|| gain * self.driver.window_bytes() as f64 / rtt.as_secs_f64())
    }

    /// True if fewer than `packets` full packets fit into the window.
    fn is_full(&self, packets: u64) -> bool {
        let room = u64::from(self.congestion_window()).saturating_sub(self.driver.flight());
        room < packets * u64::from(self.driver.mtu())
    }
}

impl CongestionController for S2nQuicController {
    type PacketInfo = PacketInfo;

    fn congestion_window(&self) -> u32 {
        self.driver.window_bytes().try_into().unwrap_or(u32::MAX)
    }

    fn bytes_in_flight(&self) -> u32 {
        self.driver.flight().try_into().unwrap_or(u32::MAX)
    }

    fn is_congestion_limited(&self) -> bool {
        self.is_full(1)
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.must_retransmit
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) -> PacketInfo {
        let sent = self.time(time_sent);
        if sent_bytes == 0 {
            return PacketInfo { sent, departure: Departure::default() };
        }
        let departure = self.driver.on_sent(sent, sent_bytes as u64);
        self.out_of_data = app_limited.unwrap_or(true) && !self.is_full(UNUSED_PACKETS);
        self.must_retransmit = false;
        if let Some(rate) = self.rate() {
            self.pacer.on_sent(time_sent, sent_bytes as u64, rate, self.driver.mtu());
        }
        PacketInfo { sent, departure }
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        _time_sent: Timestamp,
        _now: Timestamp,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) {
        self.round_trips += 1;
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        _newest_acked_time_sent: Timestamp,
        bytes_acknowledged: usize,
        newest: PacketInfo,
        _rtt_estimator: &RttEstimator,
        _random_generator: &mut dyn Generator,
        ack_receive_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.time(ack_receive_time);
        self.driver.on_acked(newest.sent, bytes_acknowledged as u64, Some(&newest.departure));
        let idle = self.out_of_data;
        self.driver.on_ack_end(now, None, Some(self.round_trips), !idle, idle);
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet: PacketInfo,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _random_generator: &mut dyn Generator,
        timestamp: Timestamp,
        _publisher: &mut Pub,
    ) {
        let (now, bytes) = (self.time(timestamp), u64::from(lost_bytes));
        self.driver.on_packet_lost(now, 0, bytes, &packet.departure);
        self.must_retransmit |= self.driver.on_loss(now, packet.sent, bytes, persistent_congestion);
    }

    fn on_explicit_congestion<Pub: Publisher>(
        &mut self,
        ce_count: u64,
        event_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.time(event_time);
        self.driver.on_marks(now, self.driver.newest_acknowledged(), ce_count);
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _publisher: &mut Pub) {
        self.driver.on_mtu(max_data_size);
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _publisher: &mut Pub) {
        self.driver.on_discarded(bytes_sent as u64);
        self.must_retransmit = false; // what was lost may have been among it, and is not sent again
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.pacer.next
    }
}
