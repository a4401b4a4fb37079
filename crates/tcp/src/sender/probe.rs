//! Probing a closed window: RFC 9293 section 3.8.6.1.
//!
//! What differs: a probe is a whole segment, because everything is counted in segments. A receiver without
//! room drops it and answers, as it does with the single byte of other stacks. A receiver with room
//! acknowledges it.

use super::Sender;
use crate::packet::{Data, Flags};
use ackclock_units::Time;

/// The state of the probing. All zero unless the receiver's window is closed and nothing is outstanding.
#[derive(Default)]
pub(super) struct Probing {
    /// The timer has expired: a probe must be sent.
    due: bool,
    /// The segment at `nxt` has been sent as a probe, so that its acknowledgement is in order.
    sent: bool,
    /// The number of probes since the window was closed. Each doubles the time to the next one.
    count: u32,
}

impl Probing {
    /// True once when the timer has expired: a probe must be sent.
    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// Segments that were sent and are not counted as sent: a probe.
    pub(super) fn uncounted(&self) -> u64 {
        u64::from(self.sent)
    }
}

impl Sender {
    /// Nothing is outstanding, so there is no retransmission timer (RFC 6298 (5.2)). A closed window needs
    /// the timer for probes.
    pub(super) fn all_acknowledged(&mut self, now: Time) {
        if self.peer_window == 0 && self.una < self.limit {
            self.timer.start(now);
        } else {
            self.timer.stop();
            self.probing = Probing::default();
        }
    }

    /// The timer has expired with nothing outstanding.
    pub(super) fn probe_timer_expired(&mut self, now: Time) {
        self.probing.due = true;
        self.probing.count += 1;
        self.timer.wait_for_window(now, self.probing.count);
    }

    /// If `ack` acknowledges the probe, the probe becomes an ordinary segment.
    #[cold]
    pub(super) fn probe_was_taken(&mut self, ack: u64) -> bool {
        let taken = self.probing.sent && ack == self.nxt + 1;
        if taken {
            self.nxt = ack;
            self.probing = Probing::default();
        }
        taken
    }

    /// The probe: the next new segment, which is not counted as sent until it is acknowledged.
    pub(super) fn probe(&mut self, now: Time) -> Data {
        let mut flags = self.epoch; // RFC 3168 section 6.1.6: neither ECT nor CWR
        if std::mem::replace(&mut self.probing.sent, true) {
            flags = flags.with(Flags::RETRANSMISSION);
            self.counters.retransmits += 1;
        }
        self.counters.sent += 1;
        self.last_sent = now;
        Data { seq: self.nxt, sent_at: now, bytes: self.segment_bytes, flags }
    }
}
