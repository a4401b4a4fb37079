//! Pacing: segments are sent one by one, not in the bursts of acknowledgements.
//!
//! If the controller sets a rate, that is the pacing rate. Otherwise, if the endpoint is told to pace, it
//! sends one window per round trip: segments are RTT / (gain cwnd) apart (L. Zhang, S. Shenker, D. Clark,
//! SIGCOMM 1991; A. Aggarwal, S. Savage, T. Anderson, INFOCOM 2000). Up to `burst` due segments may be sent
//! at once: a token bucket of that depth.
//!
//! A controller's rate has a least value, so that a transfer makes progress whatever the rate is: one segment
//! per smoothed round-trip time, because no window is below one segment, or per second where that is shorter.
//! Linux's fq does not delay a packet by more than a second, either.

use super::Sender;
use crate::config::{PacedRtt, Pacing};
use ackclock_units::{Duration, Time};

/// Where the round-trip time is shorter or unknown: the longest time from one segment to the next.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// When segments may be sent.
pub(super) struct Pace {
    /// The next one not before this, if there is a rate.
    until: Time,
    /// Set if segments are paced although the controller sets no rate.
    pacer: Option<Box<Pacer>>,
}

struct Pacer {
    config: Pacing,
    /// When the next segment would be sent if all segments kept their distance.
    next: Time,
    /// The last raw round-trip time.
    latest: Duration,
}

impl Pace {
    pub(super) fn new(config: Option<Pacing>) -> Pace {
        let pacer = config.map(|config| Box::new(Pacer { config, next: Time::ZERO, latest: Duration::ZERO }));
        Pace { until: Time::ZERO, pacer }
    }

    /// True if segments are spaced whatever the controller does.
    #[inline]
    pub(super) fn is_configured(&self) -> bool {
        self.pacer.is_some()
    }

    #[inline]
    pub(super) fn on_sample(&mut self, rtt: Option<Duration>) {
        if let (Some(pacer), Some(rtt)) = (&mut self.pacer, rtt) {
            pacer.latest = rtt;
        }
    }

    /// The next segment is not due yet, if there is a rate.
    #[inline]
    pub(super) fn is_early(&self, now: Time) -> bool {
        now < self.until
    }

    /// The next segment is sent now, whatever the pacing rate of the others is.
    pub(super) fn release(&mut self, now: Time) {
        self.until = now;
        if let Some(pacer) = &mut self.pacer {
            pacer.next = now;
        }
    }

    /// The next one, too, but the distances that `burst` counts stay as they are.
    pub(super) fn release_probe(&mut self, now: Time) {
        self.until = now;
    }
}

impl Sender {
    /// A segment was sent at `now`. Computes when the next one may be sent.
    #[inline(never)]
    pub(super) fn space_out(&mut self, now: Time) {
        let Some(interval) = self.interval() else {
            self.pace.until = now; // no rate before the first sample
            return;
        };
        let longest = now + self.longest_interval();
        let Some(pacer) = &mut self.pace.pacer else {
            // Segments that left early, while the controller had no rate, are not all paid for afterwards.
            self.pace.until = (self.pace.until.max(now) + interval).min(longest);
            return;
        };
        pacer.next = pacer.next.max(now) + interval;
        let ahead = interval.saturating_mul(u64::from(pacer.config.burst.saturating_sub(1)));
        self.pace.until = Time::ZERO + (pacer.next.since(Time::ZERO) - ahead);
    }

    /// The longest time from one segment to the next at a rate of the controller's.
    fn longest_interval(&self) -> Duration {
        self.timer.rtt().srtt().max(MAX_INTERVAL)
    }

    /// The time from one segment to the next.
    fn interval(&self) -> Option<Duration> {
        if let Some(rate) = self.window.pacing {
            let segment = u64::from(self.segment_bytes);
            return Some(rate.time_for(segment).min(self.longest_interval()));
        }
        let pacer = self.pace.pacer.as_ref()?;
        let rtt = match pacer.config.rtt {
            PacedRtt::Smoothed => self.timer.rtt().srtt(),
            PacedRtt::Least => self.timer.rtt().rtt_min(),
            PacedRtt::Latest => pacer.latest,
        };
        let known = !rtt.is_zero() && rtt != Duration::MAX;
        known.then(|| rtt.mul_f64(1.0 / (pacer.config.gain * self.window.cwnd)))
    }

    /// With pacing: when [`Sender::poll_transmit`] may return a packet without another acknowledgement.
    #[inline]
    pub fn poll_pacing(&self, now: Time) -> Option<Time> {
        (self.pace.until > now && self.is_paced() && self.has_something()).then_some(self.pace.until)
    }

    /// The controller may have removed its rate since the last segment was sent.
    #[inline]
    pub(super) fn is_paced(&self) -> bool {
        self.window.pacing.is_some() || self.pace.pacer.is_some()
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
