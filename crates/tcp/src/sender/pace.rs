//! Pacing: segments are sent one by one, not in the bursts of acknowledgements.
//!
//! If the controller sets a rate, that is the pacing rate. Otherwise, if the endpoint is told to pace, it
//! sends one window per round trip: segments are RTT / (gain cwnd) apart (L. Zhang, S. Shenker, D. Clark,
//! SIGCOMM 1991; A. Aggarwal, S. Savage, T. Anderson, INFOCOM 2000). Up to `burst` due segments may be sent
//! at once: a token bucket of that depth.

use super::Sender;
use crate::config::{PacedRtt, Pacing};
use ackclock_units::{Duration, Time};

/// The state of a pacing sender.
pub(super) struct Pacer {
    config: Pacing,
    /// When the next segment would be sent if all segments kept their distance.
    next: Time,
    /// The last raw round-trip time.
    latest: Duration,
}

impl Pacer {
    pub(super) fn new(config: Pacing) -> Pacer {
        Pacer { config, next: Time::ZERO, latest: Duration::ZERO }
    }

    #[cold]
    pub(super) fn on_sample(&mut self, rtt: Option<Duration>) {
        self.latest = rtt.unwrap_or(self.latest);
    }
}

impl Sender {
    /// A segment was sent at `now`. Computes when the next one may be sent.
    #[inline(never)]
    pub(super) fn pace(&mut self, now: Time) {
        let Some(interval) = self.interval() else {
            self.paced_until = now; // no rate before the first sample
            return;
        };
        let Some(pacer) = &mut self.pacer else {
            self.paced_until = self.paced_until.max(now) + interval;
            return;
        };
        pacer.next = pacer.next.max(now) + interval;
        let ahead = interval.saturating_mul(u64::from(pacer.config.burst.saturating_sub(1)));
        self.paced_until = Time::ZERO + (pacer.next.since(Time::ZERO) - ahead);
    }

    /// The time from one segment to the next.
    fn interval(&self) -> Option<Duration> {
        if let Some(rate) = self.window.pacing {
            return Some(rate.time_for(u64::from(self.config.segment_bytes())));
        }
        let pacer = self.pacer.as_ref()?;
        let rtt = match pacer.config.rtt {
            PacedRtt::Smoothed => self.rtt.srtt(),
            PacedRtt::Least => self.rtt.rtt_min(),
            PacedRtt::Latest => pacer.latest,
        };
        let known = !rtt.is_zero() && rtt != Duration::MAX;
        known.then(|| rtt.mul_f64(1.0 / (pacer.config.gain * self.window.cwnd)))
    }

    /// With pacing: when [`Sender::poll_transmit`] may return a packet without another acknowledgement.
    #[inline]
    pub fn poll_pacing(&self, now: Time) -> Option<Time> {
        (self.paced_until > now && self.is_paced() && self.has_something()).then_some(self.paced_until)
    }

    /// The controller may have removed its rate since the last segment was sent.
    #[inline]
    fn is_paced(&self) -> bool {
        self.window.pacing.is_some() || self.pacer.is_some()
    }

    /// The next segment is sent now, whatever the pacing rate of the others is.
    pub(super) fn leave_at_once(&mut self, now: Time) {
        self.paced_until = now;
        if let Some(pacer) = &mut self.pacer {
            pacer.next = now;
        }
    }

    /// True if pacing holds the sender back: the next segment is not due yet. The rate follows from the
    /// window, or is the controller's. So the window is not full, but not for lack of data. A controller that
    /// sets its window in every state knows its own rate, and gets only the window's state.
    #[cold]
    pub(super) fn is_held_back(&mut self) -> bool {
        let paced = self.is_paced();
        if paced && !self.needs.window && self.has_new_data() {
            self.cwnd_limited = true;
        }
        paced
    }
}
