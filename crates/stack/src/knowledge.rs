//! What a connection's sender knows, as it is told.

use ackclock_tcp::{Counters, Sender};
use ackclock_units::Duration;

/// The state of a connection's sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderInfo {
    /// The most bytes of a segment.
    pub payload: u32,
    /// The congestion window, segments.
    pub cwnd: f64,
    /// The slow-start threshold, segments.
    pub ssthresh: f64,
    /// The segments in flight.
    pub in_flight: u64,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The smallest round-trip time, once there is one.
    pub rtt_min: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Its counters, in segments.
    pub counters: Counters,
}

impl SenderInfo {
    /// What a sender of segments of at most `payload` bytes knows.
    pub(crate) fn of(sender: &Sender, payload: u64) -> SenderInfo {
        let (window, rtt) = (sender.window(), sender.rtt());
        let least = rtt.rtt_min();
        SenderInfo {
            payload: payload as u32,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight: sender.in_flight(),
            srtt: rtt.srtt(),
            rtt_min: (least != Duration::MAX).then_some(least),
            rto: rtt.rto(),
            counters: *sender.counters(),
        }
    }
}
