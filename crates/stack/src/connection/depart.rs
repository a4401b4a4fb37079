//! Segments that leave. Those without data leave at once. Those with data wait until the host asks, which
//! joins them to trains.

use super::{Connection, Context, Phase};
use crate::accurate::{EcnFeedback, arrived_with};
use crate::outbound::Piece;
use ackclock_net::Ecn;
use ackclock_tcp::Flags;
use ackclock_units::Time;
use ackclock_wire::endpoint::{Header, flag};
use ackclock_wire::{MAX_SACKS, Options as HeaderOptions};

/// The longest train, bytes of payload: what an IP packet holds beside headers.
const MOST: u64 = 65_535 - 40 - 60;

/// A segment that was taken from the sender and did not fit the train before it.
pub(crate) type Leaving = Piece;

/// A segment with data, or a train of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) header: Header,
    pub(crate) piece: Piece,
    /// The bytes of each segment except the last.
    pub(crate) size: u64,
}

impl Connection {
    /// Our clock on the wire, in milliseconds (RFC 7323 section 5.4), from an arbitrary start (7.1).
    pub(super) fn tick(&self, now: Time) -> u32 {
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.stamp_offset)
    }

    fn stamps(&self, now: Time) -> HeaderOptions {
        let mut options = HeaderOptions::default();
        options.timestamps = self.agreed.timestamps.then(|| (self.tick(now), self.inbound.stamp()));
        options
    }

    /// The headers of a segment that acknowledges what has arrived.
    fn header(&mut self, now: Time, seq: u32, flags: u16) -> Header {
        let (expected, window) = self.inbound.acknowledge();
        let echo = match (self.agreed.feedback, self.answer) {
            (EcnFeedback::Accurate, Some(ecn)) => arrived_with(ecn), // RFC 9768 section 3.2.2.1
            (EcnFeedback::Accurate, None) => self.arrived.flags(),
            (EcnFeedback::Classic, _) if self.inbound.echoes() => flag::ECE,
            _ => 0,
        };
        Header {
            from: self.local,
            to: self.remote,
            seq,
            ack: self.theirs.wire(expected),
            flags: flag::ACK | echo | flags,
            window: (window >> self.agreed.our_shift).min(u64::from(u16::MAX)) as u16,
            ecn: Ecn::NotEct,
            identification: 0,
            options: self.stamps(now),
        }
    }

    /// An acknowledgement leaves.
    pub(super) fn send_ack(&mut self, context: &mut Context<'_>) {
        let sent = self.outbound.sent().max(self.outbound.acked());
        let seq = self.ours.wire(sent);
        self.send_ack_from(context, seq);
    }

    /// An acknowledgement with this sequence number leaves.
    pub(super) fn send_ack_from(&mut self, context: &mut Context<'_>, seq: u32) {
        let mut header = self.header(context.now, seq, 0);
        let accurate = self.agreed.feedback == EcnFeedback::Accurate;
        let echoed = if accurate { self.arrived.report() } else { None };
        let first = accurate && self.answer.is_some();
        header.options.echoed = if first { Some(self.arrived.all()) } else { echoed };
        if self.agreed.sack && !first {
            let theirs = self.theirs;
            let runs = self.inbound.report().take(MAX_SACKS);
            for (at, (start, end)) in runs.enumerate() {
                let fits = header.options.add_sack(theirs.wire(start), theirs.wire(end));
                // RFC 9768 section 3.2.3.3: two blocks are more important than counters of bytes.
                if !fits && at < 2 && header.options.echoed.take().is_some() {
                    header.options.add_sack(theirs.wire(start), theirs.wire(end));
                }
            }
        }
        if header.options.echoed.is_some() {
            self.arrived.reported();
        }
        context.out.push_back(header);
    }

    /// A reset leaves.
    pub(super) fn send_reset(&mut self, context: &mut Context<'_>) {
        let seq = self.ours.wire(self.outbound.sent().max(self.outbound.acked()));
        let header = Header { window: 0, ..self.header(context.now, seq, flag::RST) };
        context.out.push_back(header);
    }

    /// A reset that answers an acknowledgement of what was never sent (RFC 9293 section 3.5.2).
    pub(super) fn send_reset_at(&mut self, context: &mut Context<'_>, seq: u32) {
        context.out.push_back(reset(self.local, self.remote, seq, None));
    }

    /// The next segment or train, if one may leave now.
    pub(crate) fn depart(&mut self, now: Time) -> Option<Departure> {
        if self.phase != Phase::Synchronised {
            return None;
        }
        let tick = self.tick(now);
        let idle = !self.outbound.is_outstanding();
        let first = self.leaving.take().or_else(|| self.outbound.next(now, tick))?;
        if idle {
            self.busy_since = now;
        }
        let size = first.end - first.start;
        let mut train = first;
        // Segments of a train are of one size, and only the last may be shorter, push, or be the last of all.
        // Of a counter with this bit, offloads make another one behind the first segment (RFC 9768 section
        // 3.3.4).
        let accurate = self.agreed.feedback == EcnFeedback::Accurate;
        let alone = accurate && self.arrived.flags() & flag::CWR != 0;
        while !alone && !train.push && !train.fin && size > 0 && train.end - train.start + size <= MOST {
            let Some(more) = self.outbound.next(now, tick) else { break };
            if !joins(&train, &more, size) {
                self.leaving = Some(more);
                break;
            }
            (train.end, train.push, train.fin) = (more.end, more.push, more.fin);
            if more.end - more.start < size {
                break;
            }
        }
        let flags = if train.push { flag::PSH } else { 0 }
            | if train.fin { flag::FIN } else { 0 }
            | if train.flags.has(Flags::CWR) && !accurate { flag::CWR } else { 0 };
        let seq = self.ours.wire(train.start);
        let mut header = self.header(now, seq, flags);
        let markable = !self.unmarkable && self.outbound.may_be_marked();
        header.ecn = match (train.flags.has(Flags::ECT1), train.flags.has(Flags::ECT)) {
            (true, _) if markable => Ecn::Ect1,
            (false, true) if markable => Ecn::Ect0,
            _ => Ecn::NotEct,
        };
        Some(Departure { header, piece: train, size })
    }
}

/// True if `more` continues a train of segments of this size.
fn joins(train: &Piece, more: &Piece, size: u64) -> bool {
    let ect = |piece: &Piece| (piece.flags.has(Flags::ECT), piece.flags.has(Flags::ECT1));
    let bytes = more.end - more.start;
    more.start == train.end
        && bytes > 0
        && bytes <= size
        && ect(train) == ect(more)
        && !more.flags.has(Flags::CWR)
}

/// A reset between these ends, with an acknowledgement or without.
pub(crate) fn reset(
    from: std::net::SocketAddr,
    to: std::net::SocketAddr,
    seq: u32,
    ack: Option<u32>,
) -> Header {
    Header {
        from,
        to,
        seq,
        ack: ack.unwrap_or(0),
        flags: flag::RST | if ack.is_some() { flag::ACK } else { 0 },
        window: 0,
        ecn: Ecn::NotEct,
        identification: 0,
        options: HeaderOptions::default(),
    }
}
