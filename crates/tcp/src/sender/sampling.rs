//! Raw round-trip times: RFC 7323 section 4.1, or Karn's rule without timestamps.

use crate::packet::Ack;
use ackclock_units::{Duration, Time};

/// Which segment gives the next sample.
pub(super) struct Sampling {
    /// With timestamps every acknowledgement of new data gives one.
    timestamps: bool,
    /// Without: the segment that is timed, and when it was sent.
    timed: Option<(u64, Time)>,
}

impl Sampling {
    pub(super) fn new(timestamps: bool) -> Sampling {
        Sampling { timestamps, timed: None }
    }

    /// The new segment `seq` is sent.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, seq: u64) {
        if !self.timestamps && self.timed.is_none() {
            self.timed = Some((seq, now));
        }
    }

    /// Segment `seq` is retransmitted, so that its acknowledgement is ambiguous (Karn).
    pub(super) fn on_resent(&mut self, seq: u64) {
        if self.timed.is_some_and(|(timed, _)| timed >= seq) {
            self.timed = None;
        }
    }

    /// The sample of an acknowledgement of new data, if it gives one.
    #[inline]
    pub(super) fn sample(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        if self.timestamps {
            return Some(now.since(ack.echo));
        }
        self.timed.take_if(|(seq, _)| *seq < ack.ack).map(|(_, sent_at)| now.since(sent_at))
    }
}
