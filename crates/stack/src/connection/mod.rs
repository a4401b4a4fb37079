//! A connection: the states of RFC 9293 above a sending and a receiving half.
//!
//! The state follows from what has happened: each half is open, closed, or closed and acknowledged.

mod arrive;
mod depart;
mod open;
mod timers;

pub(crate) use depart::{Leaving, reset};

use crate::accurate::{Arrived, EcnFeedback};
use crate::inbound::Inbound;
use crate::options::Options;
use crate::outbound::Outbound;
use crate::sequence::Numbering;
use ackclock_net::{Ecn, Rng};
use ackclock_units::{Duration, Time};
use ackclock_wire::endpoint::Header;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

/// RFC 5961 section 5 and Linux (tcp_invalid_ratelimit): the least time from one answer to what may be forged
/// to the next.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// The state of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN has arrived and was answered.
    SynReceived,
    /// Data goes both ways.
    Established,
    /// Our FIN is sent or waits behind data.
    FinWait1,
    /// It is acknowledged. The peer may go on.
    FinWait2,
    /// The peer has closed, we have not.
    CloseWait,
    /// Both have closed at the same time.
    Closing,
    /// The peer has closed first, and our FIN is not acknowledged.
    LastAck,
    /// Everything is done. Old segments may still arrive.
    TimeWait,
    /// The connection has ended.
    Closed,
}

/// Why a connection has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Both ends have closed it.
    Closed,
    /// The peer has reset it.
    Reset,
    /// The peer has answered a SYN with a reset.
    Refused,
    /// The peer does not answer.
    TimedOut,
    /// The application has aborted it.
    Aborted,
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    SynSent,
    SynReceived,
    /// Sequence numbers of both sides are known.
    Synchronised,
    TimeWait,
    Ended(Why),
}

/// What the handshake has agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    /// The most bytes of a segment that the peer takes, without options.
    mss: u32,
    timestamps: bool,
    /// The peer takes selective acknowledgements.
    sack: bool,
    feedback: EcnFeedback,
    /// Both scale their windows.
    scales: bool,
    /// The shifts of the peer's windows and of ours.
    their_shift: u8,
    our_shift: u8,
}

/// The retransmission of a SYN.
#[derive(Clone, Copy, Debug)]
struct Opening {
    began: Time,
    due: Time,
    interval: Duration,
    again: bool,
    /// SYNs that have left.
    count: u32,
    /// The codepoint of the peer's last SYN.
    ecn: Ecn,
}

/// What a connection may use of its host.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    /// Segments without data that leave at once.
    pub(crate) out: &'a mut VecDeque<Header>,
    /// The answers to what may be forged that the host has left in this second.
    pub(crate) challenges: &'a mut u32,
}

/// What the application has not been told yet.
#[derive(Clone, Copy, Default)]
pub(crate) struct News {
    pub(crate) connected: bool,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// A connection.
pub(crate) struct Connection {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) options: Arc<Options>,
    phase: Phase,
    ours: Numbering,
    theirs: Numbering,
    agreed: Agreed,
    opening: Opening,
    pub(crate) outbound: Outbound,
    pub(crate) inbound: Inbound,
    /// RFC 9768: what has arrived with which codepoint.
    arrived: Arrived,
    /// What arrives now is the answer to our SYN, with this codepoint.
    answer: Option<Ecn>,
    /// RFC 9768 section 3.1.5: nothing of ours may be marked, because the handshake did not tell both sides
    /// the same.
    unmarkable: bool,
    /// The peer had closed before we did.
    closed_second: bool,
    /// The application needs it no more.
    released: bool,
    /// The application waits for room to write.
    pub(crate) wants_room: bool,
    pub(crate) news: News,
    /// RFC 9293: SND.WL1 and SND.WL2, the segment that has told the window.
    window_from: (u64, u64),
    /// The difference between the host's clock and timestamps (RFC 7323 section 7.1).
    stamp_offset: u32,
    /// The peer's first timestamp and when it came.
    first_stamp: Option<(u32, Time)>,
    /// When the peer last said anything acceptable, and since when something is outstanding.
    heard: Time,
    busy_since: Time,
    /// Unanswered probes of an idle connection.
    probes: u32,
    challenged: Option<Time>,
    /// When it ends by itself: TIME-WAIT, and a released connection without the peer's FIN.
    expires: Option<Time>,
    linger: Duration,
    abandoned: Duration,
    leaving: Option<Leaving>,
    draws: Rng,
    pub(crate) opened_at: Option<Time>,
}

/// What a new connection is made from.
pub(crate) struct Seeds {
    /// ISS.
    pub(crate) initial: u32,
    pub(crate) stamp_offset: u32,
    pub(crate) draws: Rng,
    pub(crate) linger: Duration,
    pub(crate) abandoned: Duration,
}

impl Connection {
    fn new(
        now: Time,
        local: SocketAddr,
        remote: SocketAddr,
        options: Arc<Options>,
        seeds: Seeds,
    ) -> Connection {
        let interval = options.tcp.rto_initial;
        Connection {
            local,
            remote,
            phase: Phase::SynSent,
            ours: Numbering { initial: seeds.initial },
            theirs: Numbering::default(),
            agreed: Agreed::default(),
            opening: Opening {
                began: now,
                due: now + interval,
                interval,
                again: false,
                count: 0,
                ecn: Ecn::NotEct,
            },
            outbound: Outbound::default(),
            inbound: Inbound::new(&options.tcp, options.receive_buffer),
            options,
            arrived: Arrived::default(),
            answer: None,
            unmarkable: false,
            closed_second: false,
            released: false,
            wants_room: false,
            news: News::default(),
            window_from: (0, 0),
            stamp_offset: seeds.stamp_offset,
            first_stamp: None,
            heard: now,
            busy_since: now,
            probes: 0,
            challenged: None,
            expires: None,
            linger: seeds.linger,
            abandoned: seeds.abandoned,
            leaving: None,
            draws: seeds.draws,
            opened_at: None,
        }
    }

    /// The state by the names of RFC 9293.
    pub(crate) fn state(&self) -> State {
        let (closed, acknowledged) = (self.outbound.is_closed(), self.outbound.is_finished());
        match (self.phase, closed, self.inbound.is_finished()) {
            (Phase::SynSent, ..) => State::SynSent,
            (Phase::SynReceived, ..) => State::SynReceived,
            (Phase::TimeWait, ..) => State::TimeWait,
            (Phase::Ended(_), ..) => State::Closed,
            (Phase::Synchronised, false, false) => State::Established,
            (Phase::Synchronised, false, true) => State::CloseWait,
            (Phase::Synchronised, true, false) if acknowledged => State::FinWait2,
            (Phase::Synchronised, true, false) => State::FinWait1,
            (Phase::Synchronised, true, true) if self.closed_second => State::LastAck,
            (Phase::Synchronised, true, true) => State::Closing,
        }
    }

    /// Why it has ended, if it has.
    pub(crate) fn why(&self) -> Option<Why> {
        match self.phase {
            Phase::Ended(why) => Some(why),
            Phase::TimeWait => Some(Why::Closed),
            _ => None,
        }
    }

    /// Nothing will ever happen again.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// How marks are fed back, once that is agreed on.
    pub(crate) fn feedback(&self) -> EcnFeedback {
        self.agreed.feedback
    }

    pub(crate) fn is_half_open(&self) -> bool {
        self.phase == Phase::SynReceived
    }

    pub(crate) fn is_waiting_for_time(&self) -> bool {
        self.phase == Phase::TimeWait
    }

    pub(crate) fn is_synchronised(&self) -> bool {
        self.phase == Phase::Synchronised
    }

    pub(crate) fn is_released(&self) -> bool {
        self.released
    }

    /// RFC 6191: a SYN with a newer timestamp or a later sequence number may follow a connection in
    /// TIME-WAIT.
    pub(crate) fn may_be_followed_by(&self, header: &Header) -> bool {
        let newer = match header.options.timestamps {
            Some((stamp, _)) if self.agreed.timestamps => {
                crate::sequence::difference(stamp, self.inbound.stamp()) > 0
            }
            _ => false,
        };
        newer || self.theirs.distance(header.seq, self.inbound.expected()) > 0
    }

    /// Adds bytes to what is to be sent. Returns how many fit.
    pub(crate) fn write(&mut self, now: Time, bytes: &[u8]) -> usize {
        let idle = !self.outbound.is_outstanding();
        let taken = self.outbound.write(now, bytes, self.options.send_buffer);
        if idle && taken > 0 {
            self.busy_since = now;
        }
        self.wants_room = taken < bytes.len();
        taken
    }

    /// The bytes that [`Connection::write`] would take.
    pub(crate) fn room(&self) -> usize {
        self.options.send_buffer.saturating_sub(self.outbound.waiting() as usize)
    }

    /// Larger buffers; the peer hears of the window with the next acknowledgement.
    pub(crate) fn enlarge_buffers(&mut self, send: usize, receive: usize) {
        let options = Arc::make_mut(&mut self.options);
        options.send_buffer = options.send_buffer.max(send);
        options.receive_buffer = options.receive_buffer.max(receive);
        if self.is_synchronised() {
            self.inbound.enlarge(receive as u64, self.largest_window());
        }
    }

    /// The application takes bytes that have arrived.
    pub(crate) fn consume(&mut self, context: &mut Context<'_>, bytes: usize) {
        if self.inbound.consume(bytes as u64) && self.is_synchronised() {
            self.send_ack(context);
        }
    }

    /// A FIN follows what is written.
    pub(crate) fn close(&mut self, context: &mut Context<'_>) {
        if self.outbound.is_closed() || self.why().is_some() {
            return;
        }
        self.closed_second = self.inbound.is_finished();
        if !self.outbound.is_outstanding() {
            self.busy_since = context.now;
        }
        self.outbound.close(context.now);
    }

    /// RFC 9293 section 3.10.5: a reset, and the end.
    pub(crate) fn abort(&mut self, context: &mut Context<'_>) {
        if matches!(self.phase, Phase::SynReceived | Phase::Synchronised) {
            self.send_reset(context);
        }
        if self.why().is_none() {
            self.end(Why::Aborted);
        }
    }

    /// The application needs it no more. What it has written is still delivered. If it leaves data unread,
    /// the peer must learn that it was not read (RFC 9293 section 3.6.1, RFC 2525 section 2.17).
    pub(crate) fn release(&mut self, context: &mut Context<'_>) {
        self.released = true;
        if self.inbound.waiting() > 0 && self.why().is_none() {
            return self.abort(context);
        }
        if self.phase == Phase::SynSent && self.outbound.written() == 0 {
            return self.end(Why::Aborted); // nobody would ever notice it
        }
        self.close(context);
        self.inbound.discard();
        self.settle(context.now);
    }

    /// Follows from what is closed and acknowledged.
    fn settle(&mut self, now: Time) {
        if self.phase != Phase::Synchronised || !self.outbound.is_finished() {
            return;
        }
        if !self.inbound.is_finished() {
            if self.released {
                self.expires.get_or_insert(now + self.abandoned);
            }
        } else if self.closed_second {
            self.end(Why::Closed);
        } else {
            self.phase = Phase::TimeWait;
            self.expires = Some(now + self.linger);
            self.outbound.retire();
        }
    }

    /// TIME-WAIT is over.
    pub(crate) fn expire(&mut self) {
        self.end(Why::Closed);
    }

    fn end(&mut self, why: Why) {
        self.phase = Phase::Ended(why);
        (self.expires, self.leaving) = (None, None);
        self.outbound.retire();
    }
}
