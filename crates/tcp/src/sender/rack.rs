//! The sender's part of RACK-TLP (RFC 8985): it reports transmissions and arrivals, and runs the two timers.
//!
//! Used only by senders with that detection.

use super::{Sender, State};
use crate::detection::{Probe, RackContext};
use crate::packet::Ack;
use crate::recovery::{AckSummary, Pick};
use ackclock_units::Time;

impl Sender {
    fn sight(&self, now: Time) -> RackContext {
        RackContext {
            now,
            repairing: self.repair.state() != State::Open,
            srtt: self.timer.rtt().srtt(),
            rtt_min: self.timer.rtt().rtt_min(),
        }
    }

    /// Segment `seq` is sent.
    #[cold]
    pub(super) fn tell_rack_of(&mut self, now: Time, seq: u64) {
        let idle = self.repair.state() == State::Open && self.board.sacked() == 0;
        let rto = self.timer.deadline().unwrap_or(now + self.timer.rtt().rto());
        let Some(rack) = &mut self.rack else { return };
        rack.on_sent(now, seq);
        if idle {
            rack.schedule_probe(now, self.timer.rtt().srtt(), self.nxt - self.una, Some(rto));
        }
    }

    /// Called before the scoreboard is updated: reports which segments have arrived, and whether one arrived
    /// twice.
    #[cold]
    pub(super) fn tell_rack(&mut self, now: Time, ack: &Ack) {
        let sight = self.sight(now);
        let Some(rack) = &mut self.rack else { return };
        let echo = self.config.timestamps.then_some(ack.echo);
        for seq in (self.una..ack.ack).filter(|&seq| !self.board.is_sacked(seq)) {
            rack.on_arrived(seq, &sight, echo);
        }
        for (start, end) in ack.runs().filter(|&(start, end)| start > ack.ack && end <= self.nxt) {
            let mut seq = self.board.next_unsacked(start);
            while seq < end {
                rack.on_arrived(seq, &sight, None);
                seq = self.board.next_unsacked(seq + 1);
            }
        }
        if ack.duplicate_report().is_some() {
            rack.on_duplicate_report(ack.ack, self.nxt);
        }
        rack.on_progress(ack.ack);
    }

    /// Detects losses. Returns the number of new ones.
    #[cold]
    pub(super) fn detect_by_time(&mut self, now: Time) -> u64 {
        let sight = self.sight(now);
        let Some(rack) = &mut self.rack else { return 0 };
        rack.detect(&sight, &mut self.board)
    }

    /// Called after an acknowledgement: checks the result of a tail loss probe, and whether another one is
    /// due.
    #[cold]
    pub(super) fn follow_probe(&mut self, now: Time, ack: &Ack, acked: u64) {
        let (una, sacked) = (self.una, self.board.sacked());
        let Some(rack) = &mut self.rack else { return };
        let mut repaired = false;
        if let Probe::Sent(end, again) = *rack.probe()
            && una >= end
        {
            // Section 7.4.2: either the original has arrived as well, as a report or a duplicate shows. Or
            // later data is acknowledged without either, and the probe has repaired a loss.
            let both = ack.duplicate_report().is_some_and(|(start, past)| start < end && end <= past)
                || acked == 0 && ack.ack == end && ack.runs().next().is_none();
            repaired = again && !both && una > end;
            if !again || both || una > end {
                *rack.probe() = Probe::None;
            }
        }
        let idle = self.repair.state() == State::Open && sacked == 0;
        if idle {
            rack.schedule_probe(now, self.timer.rtt().srtt(), self.nxt - una, self.timer.deadline());
        } else {
            rack.cancel_probe();
        }
        if repaired && self.repair.state() == State::Open {
            self.react_to_repair(now);
        }
    }

    /// The reordering timer, or the probe's.
    pub(super) fn on_rack_timer(&mut self, now: Time) {
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let Some(rack) = &mut self.rack else { return };
        if due(rack.probe_due()) {
            rack.want_probe();
            self.pace.release_probe(now); // as after the other timer, RFC 6298 (5.4)
        }
        if due(rack.deadline()) {
            let lost = self.detect_by_time(now);
            if self.rate.is_some() {
                self.tell_of_losses(now);
            }
            if self.repair.state() == State::Open && self.board.lost() > 0 {
                self.begin_recovery(now, AckSummary { acked: 0, delivered: 0, lost });
            }
        }
    }

    /// Section 7.3: a new segment if there is one, otherwise the last one again. The window does not apply.
    #[inline]
    pub(super) fn next_probe(&mut self, now: Time) -> Option<Pick> {
        let rack = self.rack.as_mut()?;
        if *rack.probe() == Probe::Wanted { self.take_probe(now) } else { None }
    }

    #[cold]
    fn take_probe(&mut self, now: Time) -> Option<Pick> {
        let new_data = self.has_new_data();
        let (una, nxt) = (self.una, self.nxt);
        let rack = self.rack.as_mut()?;
        *rack.probe() = Probe::None;
        if self.repair.state() != State::Open || una == nxt || self.board.is_sacked(nxt - 1) {
            return None;
        }
        let (pick, end) = if new_data { (Pick::New, nxt + 1) } else { (Pick::Retransmit(nxt - 1), nxt) };
        *rack.probe() = Probe::Sent(end, !new_data);
        self.timer.restart(now); // section 7.3
        Some(pick)
    }
}
