//! What is sent next.

use super::{Sender, State, real};
use crate::packet::{Data, Flags};
use crate::recovery::Pick;
use ackclock_cc::Event;
use ackclock_units::Time;

/// RFC 3042: the number of duplicates that may each send one new segment.
const LIMITED_TRANSMITS: u32 = 2;

impl Sender {
    /// What is left of [`Sender::poll_transmit`], called until it returns `None`, after an acknowledgement
    /// that [was predicted](Sender::is_predicted), while something is in flight and nothing is paced.
    #[inline(always)] // the segments stay in registers
    pub(super) fn send_new(&mut self, now: Time, mut send: impl FnMut(Data)) {
        let before = self.nxt;
        loop {
            self.cwnd_limited = real(self.nxt - self.una) + 1.0 > self.window.cwnd;
            if self.cwnd_limited || !self.has_new_data() {
                break;
            }
            let flags = self.flags_of_new();
            let seq = self.take_new(now);
            send(Data { seq, sent_at: now, bytes: self.segment_bytes, flags });
        }
        if self.nxt > before {
            self.counters.sent += self.nxt - before;
            self.last_sent = now;
            self.timer.start(now);
        }
    }

    /// The next packet to send, if window, data and receiver allow one. Call it until it returns `None`.
    #[inline(always)] // the packet stays in registers
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        if self.pace.is_early(now) && self.is_held_back() {
            return None;
        }
        if self.una == self.nxt {
            if self.probing.take_due() {
                return Some(self.probe(now));
            }
            if (self.needs.window || now.since(self.last_sent) > self.timer.rtt().rto())
                && self.has_new_data()
            {
                self.restart_after_idleness(now);
            }
        }
        let pick = match (self.next_probe(now), self.repair.state()) {
            (Some(probe), _) => probe,
            (None, State::Open) => self.next_open()?,
            (None, State::Recovery) => self.next_repaired()?,
            (None, State::Loss) => self.next_loss()?,
        };
        Some(self.send(now, pick))
    }

    /// True if a new segment may leave now in the usual way: nothing is repaired, and something is in flight,
    /// so that an acknowledgement will ask again if the segment does not leave.
    #[cold] // only for [`Config::local_congestion`](crate::Config::local_congestion)
    pub fn is_about_to_send(&self, now: Time) -> bool {
        let in_flight = self.in_flight();
        self.repair.state() == State::Open
            && self.has_new_data()
            && in_flight > 0
            && real(in_flight) + 1.0 <= self.window.cwnd
            && !(self.is_paced() && self.pace.is_early(now))
    }

    /// RFC 5681 section 4.1: the ACK clock has stopped, so the window starts again from its initial value.
    fn restart_after_idleness(&mut self, now: Time) {
        if self.needs.window {
            if self.rate.as_ref().is_some_and(|rate| rate.is_app_limited()) {
                self.tell(now, Event::Idle);
            }
            return;
        }
        self.window.cwnd = self.window.cwnd.min(self.config.initial_window);
        self.last_sent = now;
        self.tell(now, Event::Idle);
    }

    #[inline]
    fn next_open(&mut self) -> Option<Pick> {
        let mut window = self.window.cwnd;
        let mut in_flight = self.in_flight();
        if self.duplicates.count() > 0 || self.board.sacked() > 0 {
            if self.is_waiting() {
                return self.next_waiting();
            }
            (window, in_flight) = self.with_limited_transmit(window, in_flight);
        }
        self.cwnd_limited = real(in_flight) + 1.0 > window;
        (!self.cwnd_limited && self.has_new_data()).then_some(Pick::New)
    }

    /// RFC 3042: each of the first two duplicates sends a new segment beyond the window. With SACK the
    /// reported segments have left the pipe (RFC 6675 section 5 (3)), which has the same effect.
    #[cold]
    fn with_limited_transmit(&self, window: f64, in_flight: u64) -> (f64, u64) {
        let served = self.config.limited_transmit || self.config.recovery.scheme().serves_first_duplicates;
        match (served, self.sack) {
            (false, _) => (window, self.nxt - self.una),
            (true, true) => (window, in_flight),
            (true, false) => (window + f64::from(self.duplicates.count().min(LIMITED_TRANSMITS)), in_flight),
        }
    }

    #[inline]
    fn next_repaired(&mut self) -> Option<Pick> {
        let pick = self.next_recovery();
        if self.needs.window {
            self.cwnd_limited = pick.is_none() && real(self.in_flight()) + 1.0 > self.window.cwnd;
        }
        pick
    }

    fn next_loss(&mut self) -> Option<Pick> {
        self.cwnd_limited = real(self.board.pipe(self.nxt)) + 1.0 > self.window.cwnd;
        if self.cwnd_limited {
            return None;
        }
        if let Some(seq) = self.board.first_lost_again() {
            self.board.resend_lost_again();
            return Some(Pick::Retransmit(seq));
        }
        let hole = self.board.next_unsacked(self.board.high_rxt());
        if hole < self.repair.recover() {
            self.board.resend(hole);
            return Some(Pick::Retransmit(hole));
        }
        self.has_new_data().then_some(Pick::New)
    }

    #[inline(always)] // the packet stays in registers
    fn send(&mut self, now: Time, pick: Pick) -> Data {
        let mut flags = self.epoch;
        let seq = match pick {
            Pick::Retransmit(seq) => {
                flags = flags.with(Flags::RETRANSMISSION);
                if self.config.dctcp_echo {
                    // As in Linux: a queue with a marking threshold would otherwise drop it.
                    flags = flags.with(if self.config.l4s { Flags::ECT1 } else { Flags::ECT });
                }
                self.counters.retransmits += 1;
                if let Some(undoing) = &mut self.undoing {
                    undoing.on_resent(now, seq);
                }
                self.sampling.on_resent(seq);
                seq
            }
            Pick::New => {
                flags = self.flags_of_new();
                self.take_new(now)
            }
        };
        if self.rack.is_some() || self.rate.is_some() {
            self.tell_of_departure(now, seq);
        }
        self.counters.sent += 1;
        self.last_sent = now;
        self.timer.start(now);
        if self.window.pacing.is_some() || self.pace.is_configured() {
            self.space_out(now);
        }
        Data { seq, sent_at: now, bytes: self.segment_bytes, flags }
    }

    /// The flags of the next new segment, which is sent now.
    #[inline(always)]
    fn flags_of_new(&mut self) -> Flags {
        let mut flags = self.epoch;
        if self.config.ecn {
            // RFC 3168 section 6.1.5: not on retransmissions
            flags = flags.with(if self.config.l4s { Flags::ECT1 } else { Flags::ECT });
            if self.cuts.announce() {
                flags = flags.with(Flags::CWR);
            }
        }
        flags
    }

    /// The next new segment, which is sent now.
    #[inline(always)]
    fn take_new(&mut self, now: Time) -> u64 {
        let seq = self.nxt;
        self.nxt += 1;
        self.sampling.on_sent(now, seq);
        seq
    }

    /// Segment `seq` is sent. It already counts as in flight.
    #[cold]
    fn tell_of_departure(&mut self, now: Time, seq: u64) {
        if self.rack.is_some() {
            self.tell_rack_of(now, seq);
        }
        if self.rate.is_some() {
            self.tell_rate_of(now, seq);
        }
    }
}
