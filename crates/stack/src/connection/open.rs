//! The handshake: what is offered, what is agreed on (RFC 9293 section 3.5, RFC 7323, RFC 2018, RFC 3168, RFC
//! 9768).

use super::{Agreed, Connection, Context, Phase, Seeds, Why};
use crate::accurate::{EcnFeedback, Told, arrived_with, counter, was_mangled};
use crate::options::Options;
use crate::outbound::Opened;
use crate::sequence::Numbering;
use ackclock_net::Ecn;
use ackclock_registry::{Chosen, Listed};
use ackclock_tcp::{Config, Sender, Undo, detection, recovery};
use ackclock_units::{Duration, Time};
use ackclock_wire::Options as HeaderOptions;
use ackclock_wire::endpoint::{Header, flag};
use std::net::SocketAddr;
use std::sync::Arc;

/// RFC 7323 section 2.3.
const MAX_SHIFT: u8 = 14;
/// Windows up to 8 MiB, whatever the buffer is at first (Linux with its usual limit: the same).
const LEAST_SHIFT: u8 = 7;
/// The largest window without a shift.
const MAX_WINDOW: u64 = 65_535;
/// What is assumed of a peer that does not say (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;
const DEFAULT_MSS_6: u32 = 1220;
/// Linux (TCP_MIN_SND_MSS): a peer that asks for less would cost a packet for every few bytes.
const LEAST_PAYLOAD: u32 = 48;
/// The timestamps of a segment, with their padding (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
const TCP_HEADER: u32 = 20;
/// SYNs, and answers to one, that speak of accurate ECN.
const TRIES: u32 = 2;
/// The longest interval between SYNs.
const MAX_INTERVAL: Duration = Duration::from_secs(60);
/// RFC 6298 (5.7): the first timeout of a connection whose SYN was lost.
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The length of the IP and the TCP header between these ends.
fn headers(end: &SocketAddr) -> u32 {
    TCP_HEADER + if end.is_ipv4() { 20 } else { 40 }
}

/// The smallest shift that brings a receive buffer into 16 bits. It leaves room for a buffer that grows.
fn shift(buffer: usize) -> u8 {
    (LEAST_SHIFT..MAX_SHIFT).find(|&shift| buffer as u64 >> shift <= MAX_WINDOW).unwrap_or(MAX_SHIFT)
}

impl Connection {
    /// The largest window that can be told, bytes.
    pub(super) fn largest_window(&self) -> u64 {
        MAX_WINDOW << self.agreed.our_shift
    }

    /// Opens a connection: a SYN leaves.
    pub(crate) fn connect(
        context: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        options: Arc<Options>,
        seeds: Seeds,
    ) -> Connection {
        let mut connection = Connection::new(context.now, local, remote, options, seeds);
        connection.send_syn(context);
        connection
    }

    /// Answers a SYN.
    pub(crate) fn answer(
        context: &mut Context<'_>,
        header: &Header,
        options: Arc<Options>,
        seeds: Seeds,
    ) -> Connection {
        let mut connection = Connection::new(context.now, header.to, header.from, options, seeds);
        connection.phase = Phase::SynReceived;
        connection.take_offer(context.now, header);
        connection.send_syn(context);
        connection
    }

    /// SYN, or SYN and ACK.
    fn send_syn(&mut self, context: &mut Context<'_>) {
        let (now, answers) = (context.now, self.phase == Phase::SynReceived);
        let tcp = &self.options.tcp;
        let offers = |agreed: bool| !answers || agreed;
        let mtu = self.options.mtu.min(65_535);
        let mss = (mtu - headers(&self.local).min(mtu)).min(u32::from(u16::MAX)) as u16;
        let timestamps = tcp.timestamps && offers(self.agreed.timestamps);
        let mut options = HeaderOptions::default();
        options.mss = Some(mss);
        options.window_scale = offers(self.agreed.scales).then(|| shift(self.options.receive_buffer));
        // Without it a peer acknowledges every segment out of order by itself, which recoveries that count
        // duplicates need. Linux otherwise joins such acknowledgements (tcp_comp_sack_nr).
        options.sack_permitted = tcp.recovery.scheme().selective && offers(self.agreed.sack);
        options.timestamps = timestamps.then(|| (self.tick(now), self.inbound.stamp()));
        // RFC 9768 section 3.2.3.2.1: the option is tried once.
        let accurate = self.agreed.feedback == EcnFeedback::Accurate;
        options.echoed = (answers && accurate && self.opening.count == 0).then(|| self.arrived.all());
        let ecn = if answers { self.ecn_answer() } else { self.ecn_request() };
        self.opening.count += 1;
        context.out.push_back(Header {
            from: self.local,
            to: self.remote,
            seq: self.ours.initial,
            ack: if answers { self.theirs.wire(0) } else { 0 },
            flags: flag::SYN | ecn | if answers { flag::ACK } else { 0 },
            window: (self.options.receive_buffer as u64).min(MAX_WINDOW) as u16,
            ecn: Ecn::NotEct,
            identification: 0,
            options,
        });
    }

    /// The SYN timer has expired. False: the connection has ended.
    pub(super) fn repeat_syn(&mut self, context: &mut Context<'_>) -> bool {
        let now = context.now;
        if now.since(self.opening.began) >= self.options.give_up_opening {
            self.end(Why::TimedOut);
            return false;
        }
        self.opening.again = true;
        self.opening.interval = self.opening.interval.saturating_mul(2).min(MAX_INTERVAL);
        self.opening.due = now + self.opening.interval;
        self.send_syn(context);
        true
    }

    /// Takes what the peer's SYN offers.
    fn take_offer(&mut self, now: Time, header: &Header) {
        let (tcp, offer) = (&self.options.tcp, &header.options);
        self.theirs = Numbering { initial: header.seq };
        let default = if self.local.is_ipv4() { DEFAULT_MSS } else { DEFAULT_MSS_6 };
        let timestamps = tcp.timestamps && offer.timestamps.is_some();
        let scales = offer.window_scale.is_some();
        self.opening.ecn = header.ecn;
        let feedback = match (header.has(flag::ACK), tcp.ecn, self.phase) {
            (_, false, _) => EcnFeedback::None,
            (true, true, _) => self.wanted_feedback().confirmed(header.flags),
            // Both open at the same time: the peer has heard what was asked for here.
            (false, true, Phase::SynSent) => EcnFeedback::asked(header.flags).min(self.wanted_feedback()),
            (false, true, _) => EcnFeedback::asked(header.flags),
        };
        self.agreed = Agreed {
            mss: offer.mss.map_or(default, u32::from),
            timestamps,
            sack: offer.sack_permitted && tcp.recovery.scheme().selective,
            feedback,
            scales,
            their_shift: offer.window_scale.unwrap_or(0).min(MAX_SHIFT),
            our_shift: if scales { shift(self.options.receive_buffer) } else { 0 },
        };
        if let Some((stamp, _)) = offer.timestamps.filter(|_| timestamps) {
            self.inbound.note_stamp(now, 0, stamp);
            self.first_stamp = Some((stamp, now));
        }
        self.inbound.limit_window(if scales { u64::MAX } else { MAX_WINDOW });
        self.heard = now;
    }

    /// A segment arrives after a SYN was sent (RFC 9293 section 3.10.7.3).
    pub(super) fn arrive_syn_sent(&mut self, context: &mut Context<'_>, header: &Header) {
        let acknowledges = header.has(flag::ACK);
        let acceptable = acknowledges && header.ack == self.ours.wire(0);
        if acknowledges && !acceptable {
            if !header.has(flag::RST) {
                self.send_reset_at(context, header.ack);
            }
            return;
        }
        if header.has(flag::RST) {
            if acceptable {
                self.end(Why::Refused);
            }
            return;
        }
        if !header.has(flag::SYN) {
            return;
        }
        self.take_offer(context.now, header);
        if acceptable {
            if self.agreed.feedback == EcnFeedback::Accurate {
                self.unmarkable = was_mangled(counter(header.flags));
                self.arrived.take_answer(header.ecn);
                self.answer = Some(header.ecn);
            }
            self.establish(context.now, u64::from(header.window), Told::new());
            self.send_ack(context);
            self.answer = None;
        } else {
            (self.phase, self.opening.count) = (Phase::SynReceived, 0); // both open at the same time
            self.send_syn(context);
        }
    }

    /// The feedback that our SYN asks for. Who needs no more than one mark in a round trip is content with
    /// RFC 3168's.
    fn wanted_feedback(&self) -> EcnFeedback {
        let tcp = &self.options.tcp;
        match (tcp.ecn, tcp.dctcp_echo || tcp.l4s) {
            (false, _) => EcnFeedback::None,
            (true, false) => EcnFeedback::Classic,
            (true, true) => EcnFeedback::Accurate,
        }
    }

    /// The ECN flags of a SYN. RFC 9768 section 3.1.4.1: two are tried with accurate ECN, for it may be what
    /// somebody on the path drops.
    fn ecn_request(&self) -> u16 {
        match self.wanted_feedback() {
            EcnFeedback::Accurate if self.opening.count >= TRIES => 0,
            wanted => wanted.request(),
        }
    }

    /// The ECN flags of the answer to a SYN (RFC 3168 section 6.1.1, RFC 9768 sections 3.1.2 and 3.2.3.2.2).
    fn ecn_answer(&mut self) -> u16 {
        match self.agreed.feedback {
            EcnFeedback::Accurate if self.opening.count >= TRIES => {
                self.unmarkable = true; // section 3.1.5
                0
            }
            EcnFeedback::Accurate => arrived_with(self.opening.ecn),
            EcnFeedback::Classic => flag::ECE,
            EcnFeedback::None => 0,
        }
    }

    /// The peer has acknowledged our SYN. `window` is its receive window, bytes; `marks` what it has told of
    /// marks.
    pub(super) fn establish(&mut self, now: Time, window: u64, marks: Told) {
        let payload = self.payload(self.options.mtu);
        let mut config = self.config(payload);
        let selective = self.agreed.sack && config.recovery.scheme().selective;
        let (control, needs) = (self.options.control.build(), self.options.control.needs());
        let marks = (self.agreed.feedback == EcnFeedback::Accurate).then_some(marks);
        let opened = Opened { payload: payload.into(), selective, nagle: self.options.nagle, window, marks };
        self.outbound.begin(now, &opened, |room| {
            config.peer_window = room;
            Sender::new(config.into(), control, needs, 0, 0, now)
        });
        self.phase = Phase::Synchronised;
        self.window_from = (0, 0);
        (self.heard, self.busy_since) = (now, now);
        self.opened_at = Some(now);
        self.news.connected = true;
        self.news.writable |= self.wants_room;
    }

    /// The most bytes of a segment, over a path that carries packets of this size.
    pub(super) fn payload(&self, mtu: u32) -> u32 {
        let options = if self.agreed.timestamps { TIMESTAMPS } else { 0 };
        let most = mtu.min(65_535).saturating_sub(headers(&self.local));
        self.agreed.mss.min(most).saturating_sub(options).max(LEAST_PAYLOAD)
    }

    /// The settings of the sender, as far as the peer goes along.
    fn config(&self, payload: u32) -> Config {
        let options = if self.agreed.timestamps { TIMESTAMPS } else { 0 };
        let ecn = self.agreed.feedback != EcnFeedback::None;
        let mut config = Config {
            payload: payload as u16,
            header: (headers(&self.local) + options) as u16,
            timestamps: self.agreed.timestamps,
            ecn,
            l4s: self.options.tcp.l4s && ecn,
            dctcp_echo: self.options.tcp.dctcp_echo && ecn,
            ..self.options.tcp.clone()
        };
        if !self.agreed.sack {
            // What needs selective acknowledgements would never repair a loss before its timeout.
            if config.recovery.scheme().selective {
                config.recovery = default("newreno");
            }
            if config.detection.scheme().selective {
                config.detection = detection::Settings::defaults(&detection::DUPACKS);
            }
        }
        let proof = match config.undo {
            Undo::Never => true,
            Undo::Duplicates => self.agreed.sack,
            Undo::Eifel => self.agreed.timestamps,
        };
        if !proof {
            config.undo = Undo::Never;
        }
        if self.opening.again {
            config.initial_window = 1.0; // RFC 5681 section 3.1: the SYN or its answer was lost
            config.rto_initial = AFTER_LOST_SYN.max(config.rto_initial);
        }
        config
    }
}

/// The recovery of this name with its defaults.
fn default(name: &str) -> recovery::Settings {
    let scheme = recovery::Scheme::find(name).unwrap_or(&recovery::SACK);
    Chosen::defaults(scheme)
}
