//! Segments that arrive: RFC 9293 section 3.10.7.4, with RFC 5961 against forged ones and RFC 7323 against
//! old ones.

use super::{CHALLENGE_INTERVAL, Connection, Context, Phase, Why};
use crate::accurate::{Echo, EcnFeedback, Told, counter, was_mangled};
use crate::inbound::Text;
use crate::outbound::Report;
use ackclock_net::Ecn;
use ackclock_units::{Duration, Time};
use ackclock_wire::MAX_SACKS;
use ackclock_wire::endpoint::{Header, flag};

/// A peer's timestamps are taken for milliseconds, as Linux's are. RFC 7323 section 5.4 allows others.
const TICK: Duration = Duration::from_millis(1);
/// The application hears of room to write when so much of the buffer is free, one part in this many.
const WORTH_WRITING: usize = 4;

impl Connection {
    /// A segment, or a train of `segments`, arrives.
    pub(crate) fn receive(
        &mut self,
        context: &mut Context<'_>,
        header: &Header,
        payload: &[u8],
        segments: u32,
    ) {
        if self.phase == Phase::SynSent {
            return self.arrive_syn_sent(context, header);
        }
        if self.is_over() {
            return;
        }
        // RFC 9768 section 3.2.2.1: its acknowledgement says how it has arrived.
        self.answer = header.has(flag::SYN | flag::ACK).then_some(header.ecn);
        self.take_segment(context, header, payload, segments);
        self.answer = None;
    }

    fn take_segment(&mut self, context: &mut Context<'_>, header: &Header, payload: &[u8], segments: u32) {
        let Some(start) = self.acceptable(context, header, payload.len()) else { return };
        if header.has(flag::RST) {
            return self.on_reset(context, start);
        }
        if header.has(flag::SYN) {
            return self.challenge(context); // RFC 5961 section 4.2
        }
        if !header.has(flag::ACK) || !self.take_ack(context, header, start, payload.len()) {
            return;
        }
        let accurate = self.agreed.feedback == EcnFeedback::Accurate;
        let mut urgent = accurate && self.arrived.take(header.ecn, segments, payload.len());
        if let Some((stamp, _)) = header.options.timestamps.filter(|_| self.agreed.timestamps) {
            self.inbound.note_stamp(context.now, start, stamp);
        }
        (self.heard, self.probes) = (context.now, 0);
        if !payload.is_empty() || header.has(flag::FIN) {
            urgent &= !self.take_text(context, header, payload, start, segments);
        }
        if urgent && self.phase == Phase::Synchronised {
            self.send_ack(context);
        }
        self.settle(context.now);
    }

    /// Checks sequence number and timestamp. Returns the first byte. A segment that begins before byte 0 was
    /// there before.
    fn acceptable(&mut self, context: &mut Context<'_>, header: &Header, payload: usize) -> Option<u64> {
        let stamp = header.options.timestamps.filter(|_| self.agreed.timestamps);
        let reset = header.has(flag::RST);
        // RFC 7323 section 3.2: without a timestamp it is not of this connection.
        if self.agreed.timestamps && stamp.is_none() && !reset {
            return None;
        }
        let own = self.phase == Phase::SynReceived && header.seq == self.theirs.initial;
        if own && header.has(flag::SYN) && !reset {
            self.repeated_syn(context, header);
            return None;
        }
        let old = stamp.is_some_and(|(stamp, _)| self.inbound.is_old(context.now, stamp)) && !reset;
        let expected = self.inbound.expected();
        let length = payload as u64 + u64::from(header.has(flag::SYN)) + u64::from(header.has(flag::FIN));
        let start = self.theirs.byte(header.seq, expected);
        let inside = start.filter(|&start| !self.inbound.is_outside(start, start + length));
        if let Some(start) = inside.filter(|_| !old) {
            return Some(start);
        }
        if reset {
            return None;
        }
        self.refuse(context, header, start, payload);
        None
    }

    /// An unacceptable segment is answered with an acknowledgement. If it has data that was there already,
    /// the peer may have missed the last one.
    fn refuse(&mut self, context: &mut Context<'_>, header: &Header, start: Option<u64>, payload: usize) {
        if self.phase == Phase::TimeWait {
            if header.has(flag::FIN) {
                self.expires = Some(context.now + self.linger); // RFC 9293: restart the 2 MSL timeout
            }
            return self.challenge(context);
        }
        match start {
            Some(start) if payload > 0 && start < self.inbound.next() => {
                self.inbound.repeat(start, start + payload as u64);
                self.send_ack(context);
            }
            _ if payload > 0 => self.send_ack(context),
            _ => self.challenge(context),
        }
    }

    /// RFC 5961 section 3.2: only a reset with exactly the expected number counts.
    fn on_reset(&mut self, context: &mut Context<'_>, start: u64) {
        if start != self.inbound.expected() {
            return self.challenge(context);
        }
        match self.phase {
            Phase::TimeWait => {} // RFC 1337
            Phase::SynReceived => self.end(Why::Refused),
            _ => self.end(Why::Reset),
        }
    }

    /// An acknowledgement that shows the present state, unless there was one lately (RFC 5961 section 7).
    pub(super) fn challenge(&mut self, context: &mut Context<'_>) {
        let lately = self.challenged.is_some_and(|at| context.now.since(at) < CHALLENGE_INTERVAL);
        if lately || *context.challenges == 0 {
            return;
        }
        *context.challenges -= 1;
        self.challenged = Some(context.now);
        if self.phase != Phase::SynReceived {
            self.send_ack(context);
        } else {
            self.repeat_syn(context);
        }
    }

    /// The peer's SYN has come again: our answer was lost. Or both have opened at the same time, and this is
    /// the peer's answer (RFC 9293 section 3.5, figure 7).
    fn repeated_syn(&mut self, context: &mut Context<'_>, header: &Header) {
        if header.has(flag::ACK) && header.ack == self.ours.wire(0) {
            self.establish(context.now, u64::from(header.window), Told::new());
            return self.send_ack(context);
        }
        self.opening.again = true;
        self.opening.ecn = header.ecn;
        // RFC 9768 section 3.1.5: a peer that asks for different things may not know what was agreed on.
        match (self.agreed.feedback, EcnFeedback::asked(header.flags)) {
            (EcnFeedback::Classic, EcnFeedback::Accurate) | (EcnFeedback::Accurate, EcnFeedback::Classic)
                if !header.has(flag::ACK) =>
            {
                self.send_reset(context);
                return self.end(Why::Refused);
            }
            (EcnFeedback::Accurate, EcnFeedback::None) => self.unmarkable = true,
            _ => {}
        }
        self.challenge(context);
    }

    /// Processes the acknowledgement. False: the segment counts no further.
    fn take_ack(&mut self, context: &mut Context<'_>, header: &Header, start: u64, payload: usize) -> bool {
        let (una, sent) = (self.outbound.acked(), self.outbound.sent());
        let distance = self.ours.distance(header.ack, una);
        let window = u64::from(header.window) << self.agreed.their_shift;
        let mut begun = false;
        if self.phase == Phase::SynReceived {
            if distance != 0 {
                self.send_reset_at(context, header.ack);
                return false;
            }
            let mut marks = Told::new();
            // RFC 9768 section 3.2.2.1.
            if payload == 0 && header.options.sacks().is_empty() {
                marks.begin(counter(header.flags));
                self.unmarkable |= was_mangled(counter(header.flags));
                begun = true;
            }
            self.establish(context.now, window, marks);
            self.window_from = (start, 0);
        }
        if self.phase == Phase::TimeWait {
            return true;
        }
        // RFC 5961 section 5.2.
        let oldest = -(self.outbound.most_window().min(i64::MAX as u64) as i64);
        let ahead = una.checked_add_signed(distance).is_some_and(|acked| acked > sent);
        if distance < oldest || ahead {
            self.challenge(context);
            return false;
        }
        let Some(acked) = una.checked_add_signed(distance).filter(|_| distance >= 0) else {
            return true; // old, and what it carries may be new
        };
        let from = (start, acked);
        let newer =
            from.0 > self.window_from.0 || from.0 == self.window_from.0 && acked >= self.window_from.1;
        if newer {
            self.window_from = from;
        }
        let marks = self.agreed.feedback == EcnFeedback::Accurate && !begun;
        self.report(context.now, header, acked, newer.then_some(window), (payload == 0, marks));
        true
    }

    /// Tells the sending half. `bare`: there is no payload. `marks`: the flags count marks.
    fn report(
        &mut self,
        now: Time,
        header: &Header,
        acked: u64,
        window: Option<u64>,
        (bare, marks): (bool, bool),
    ) {
        let mut runs = [(0, 0); MAX_SACKS];
        let mut count = 0;
        if self.agreed.sack {
            for &(left, right) in header.options.sacks() {
                let edges = (self.ours.byte(left, acked), self.ours.byte(right, acked));
                if let (Some(start), Some(end)) = edges
                    && start < end
                {
                    runs[count] = (start, end);
                    count += 1;
                }
            }
        }
        let stamps = header.options.timestamps.filter(|_| self.agreed.timestamps);
        let report = Report {
            acked,
            window,
            echo: stamps.map(|(_, echo)| (echo, self.time_of(now, echo))),
            sent_at: self.their_time(now, stamps.map(|(stamp, _)| stamp)),
            congestion: self.agreed.feedback == EcnFeedback::Classic && header.has(flag::ECE),
            echo_of_marks: marks.then(|| Echo {
                counter: counter(header.flags),
                bytes: header.options.echoed,
                stamp: stamps.map(|(stamp, _)| stamp),
            }),
            runs: &runs[..count],
            pure: bare && !header.has(flag::FIN),
        };
        let draws = &mut self.draws;
        self.outbound.on_report(now, &report, || draws.uniform());
        if self.wants_room && self.room() >= self.options.send_buffer / WORTH_WRITING {
            self.wants_room = false;
            self.news.writable = true;
        }
    }

    /// The time of a tick of ours that is echoed.
    fn time_of(&self, now: Time, tick: u32) -> Time {
        let ago = crate::sequence::difference(self.tick(now), tick).max(0) as u64;
        let begun = now.as_nanos() - now.as_nanos() % TICK.as_nanos();
        Time::from_nanos(begun.saturating_sub(ago * TICK.as_nanos()))
    }

    /// When the peer says that it sent something, by a clock that showed our time when its SYN came. Only
    /// differences of one-way delays mean anything (RFC 6817 section 2.3).
    fn their_time(&self, now: Time, stamp: Option<u32>) -> Time {
        match (stamp, self.first_stamp) {
            (Some(stamp), Some((first, at))) => {
                let ticks = crate::sequence::difference(stamp, first);
                at + Duration::from_millis(u64::from(ticks.max(0) as u32))
            }
            _ => now,
        }
    }

    /// True: it was acknowledged.
    fn take_text(
        &mut self,
        context: &mut Context<'_>,
        header: &Header,
        payload: &[u8],
        start: u64,
        segments: u32,
    ) -> bool {
        if self.phase != Phase::Synchronised || self.inbound.is_finished() {
            return false;
        }
        if self.released && !payload.is_empty() {
            // RFC 9293 section 3.6.1: nobody will read it.
            self.send_reset(context);
            self.end(Why::Aborted);
            return false;
        }
        let before = self.inbound.expected();
        let text = Text {
            start,
            payload,
            segments,
            fin: header.has(flag::FIN),
            marked: header.ecn == Ecn::Ce && self.agreed.feedback == EcnFeedback::Classic,
            reduced: header.has(flag::CWR),
        };
        let at_once = self.inbound.take(context.now, &text);
        if at_once {
            self.send_ack(context);
        }
        self.news.readable |= self.inbound.expected() > before;
        at_once
    }
}
