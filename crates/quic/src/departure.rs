//! The delivery rate, for controllers that ask for it: draft-ietf-ccwg-bbr-06 section 4.1.
//!
//! Every packet keeps how much had been delivered when it was sent. When it arrives, what was delivered since
//! then is a sample of the rate. Its time is the longer of the time to send and the time to acknowledge that
//! amount. Amounts are segments, and a packet of half the size is half a segment.

use ackclock_cc::{Lost, RateSample};
use ackclock_units::{Duration, Time};

/// What a packet keeps about its departure (section 4.1.2.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    at: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: f64,
    lost: f64,
    in_flight: f64,
    app_limited: bool,
}

/// The state of the path (section 4.1.2.1.1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampler {
    delivered_at: Time,
    /// When the packet left that was most recently found delivered.
    first_sent: Time,
    /// The amount delivered at which the gap in the sending has passed.
    app_limited: Option<f64>,
    /// Segments lost so far.
    lost: f64,
    /// Segments lost since the last sample.
    newly_lost: f64,
    /// Of the packets that the present acknowledgement delivers, the one that was sent last.
    newest: Option<Departure>,
}

impl Sampler {
    /// Section 4.1.2.2: a packet leaves. `in_flight` includes it; `alone`: nothing else is outstanding.
    pub(crate) fn on_sent(&mut self, now: Time, alone: bool, delivered: f64, in_flight: f64) -> Departure {
        if alone {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Departure {
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited.is_some(),
        }
    }

    /// Section 4.1.2.3, UpdateRateSample: a packet has arrived.
    pub(crate) fn on_arrived(&mut self, packet: &Departure) {
        if self.newest.is_none_or(|newest| packet.at >= newest.at) {
            self.newest = Some(*packet);
            self.first_sent = packet.at;
        }
    }

    /// Section 4.1.2.4: there was nothing to send. `settles` is what will have been delivered once all that
    /// is in flight has arrived.
    pub(crate) fn on_app_limited(&mut self, settles: f64) {
        self.app_limited = Some(settles);
    }

    /// True if the data ran out before the packets in flight were sent.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// A packet of `segments` is lost.
    pub(crate) fn on_lost(&mut self, seq: u64, segments: f64, packet: &Departure) -> Lost {
        self.lost += segments;
        self.newly_lost += segments;
        let lost = whole(self.lost - packet.lost);
        Lost { seq, in_flight: whole(packet.in_flight), lost, app_limited: packet.app_limited }
    }

    /// Segments lost since this was last asked.
    pub(crate) fn take_newly_lost(&mut self) -> u64 {
        whole(std::mem::take(&mut self.newly_lost))
    }

    /// GenerateRateSample: after all packets of an acknowledgement have been told. `delivered` includes
    /// `acked`.
    pub(crate) fn sample(
        &mut self,
        now: Time,
        delivered: f64,
        acked: f64,
        least: Duration,
    ) -> Option<RateSample> {
        if self.app_limited.is_some_and(|until| delivered > until) {
            self.app_limited = None;
        }
        self.delivered_at = now;
        let newest = self.newest.take()?;
        let interval = newest.at.since(newest.first_sent).max(now.since(newest.delivered_at));
        let reliable = least == Duration::MAX || interval >= least;
        Some(RateSample {
            acked: whole(acked),
            delivered: whole(delivered - newest.delivered),
            interval: if reliable { interval } else { Duration::ZERO },
            prior_delivered: newest.delivered as u64,
            in_flight: whole(newest.in_flight),
            lost: whole(self.lost - newest.lost),
            app_limited: newest.app_limited,
            rtt: Some(now.since(newest.at)),
        })
    }
}

/// The nearest whole number of segments.
fn whole(segments: f64) -> u64 {
    (segments + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Two packets leave at once and arrive 10 ms apart, after 100 ms.
    #[test]
    fn a_sample_compares_departure_and_arrival() {
        let mut sampler = Sampler::default();
        let packets = [sampler.on_sent(at(5), true, 0.0, 1.0), sampler.on_sent(at(5), false, 0.0, 2.0)];
        sampler.on_arrived(&packets[0]);
        let first = sampler.sample(at(105), 1.0, 1.0, Duration::MAX).expect("a packet has arrived");
        assert_eq!((first.delivered, first.interval), (1, Duration::from_millis(100)));
        sampler.on_arrived(&packets[1]);
        let second = sampler.sample(at(115), 2.0, 1.0, Duration::from_millis(100)).expect("another");
        assert_eq!((second.delivered, second.interval), (2, Duration::from_millis(110)));
        assert_eq!((second.in_flight, second.prior_delivered), (2, 0));
        assert!(sampler.sample(at(116), 2.0, 0.0, Duration::MAX).is_none());
    }

    #[test]
    fn a_gap_and_a_loss_are_part_of_what_a_packet_knows() {
        let mut sampler = Sampler::default();
        let lost = sampler.on_sent(at(1), true, 0.0, 1.0);
        sampler.on_app_limited(1.0);
        let late = sampler.on_sent(at(2), false, 0.0, 2.0);
        assert_eq!(sampler.on_lost(7, 1.0, &lost).lost, 1);
        assert_eq!((sampler.take_newly_lost(), sampler.take_newly_lost()), (1, 0));
        sampler.on_arrived(&late);
        let sample = sampler.sample(at(50), 2.0, 2.0, Duration::MAX).expect("a packet has arrived");
        assert_eq!((sample.app_limited, sample.lost), (true, 1));
        assert!(!sampler.is_app_limited(), "two of one segment have arrived");
    }
}
