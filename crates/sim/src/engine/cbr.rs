//! A stream that does not react to congestion: what it sends, and what of it arrives.

use super::in_flight::Entrance;
use super::packets::Segment;
use ackclock_scenario::measured::CbrTally;
use ackclock_scenario::plan::CbrPlan;
use ackclock_tcp::Data;
use ackclock_units::Time;

pub(super) struct CbrSource {
    pub(super) plan: CbrPlan,
    pub(super) out: Entrance,
    next_seq: u64,
    delivered: u64,
    delivered_bytes: u64,
}

impl CbrSource {
    pub(super) fn new(plan: CbrPlan, out: Entrance) -> CbrSource {
        CbrSource { plan, out, next_seq: 0, delivered: 0, delivered_bytes: 0 }
    }

    /// The datagram that is due at `now`, and when the next one is due. `None` if the stream has stopped.
    pub(super) fn send(&mut self, now: Time) -> Option<(Segment, Time)> {
        if self.plan.stop.is_some_and(|stop| now >= stop) {
            return None;
        }
        let data = Data { seq: self.next_seq, sent_at: now, bytes: self.plan.bytes, ..Data::default() };
        self.next_seq += 1;
        Some((Segment(data), self.plan.next_departure(self.next_seq, now)))
    }

    /// A datagram has arrived.
    pub(super) fn receive(&mut self, packet: &Segment) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(packet.0.bytes);
    }

    /// Takes over what the same stream has counted where it was sent.
    pub(super) fn gather(&mut self, sent: &mut CbrSource) {
        self.next_seq = sent.next_seq;
        self.delivered += std::mem::take(&mut sent.delivered);
        self.delivered_bytes += std::mem::take(&mut sent.delivered_bytes);
    }

    /// What it has counted so far.
    pub(super) fn tally(&self) -> CbrTally {
        CbrTally { sent: self.next_seq, delivered: self.delivered, delivered_bytes: self.delivered_bytes }
    }
}
