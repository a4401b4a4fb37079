//! A session: sealed packets in both directions, whoever sees, repeats, changes or forges datagrams.
//!
//! No packet number is used twice, because a number is the nonce. A number counts once, and only after its
//! packet was found authentic. Keys are renewed by a handshake inside the session; both ends keep the old
//! ones for what is under way. A packet from another address moves the session there only after the new
//! address has answered. There is no clock and no I/O: the caller passes the time and carries packets.

use crate::mailbox::Mailbox;
use crate::noise::{Entropy, Key, WrongKeys, mac, renew};
use crate::replay::Replay;
use crate::wire::{
    CONTROL, Envelope, Frame, SEALED_HEADER, Standing, TAG_BYTES, UDP_IP_BYTES, put_sealed_header,
};
use ackclock_units::{Duration, Time};
use snow::{HandshakeState, StatelessTransportState};
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

/// When the end that began renews the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renewal {
    /// After so many packets in either direction.
    pub packets: u64,
    /// After so much time.
    pub time: Duration,
}

impl Default for Renewal {
    /// Two minutes as in WireGuard, and fewer packets than any limit of the cipher (RFC 9001 section 6.6).
    fn default() -> Renewal {
        Renewal { packets: 1 << 32, time: Duration::from_secs(120) }
    }
}

/// Between two signs of life, if nothing else is sent.
const PING: Duration = Duration::from_secs(1);
/// Challenges to a new address before it is given up.
const CHALLENGES: u8 = 3;
/// Copies of the packet that closes a session.
const FAREWELLS: u8 = 3;
/// The shortest wait for an answer inside the session.
const LEAST_WAIT: Duration = Duration::from_millis(50);
/// Challenges of the other end that wait for an answer.
const MAX_RESPONSES: usize = 4;
/// Of the sealed forms of a handshake inside the session.
const MAX_NOISE: usize = 128;
/// Words of the other end are cut to this, bytes.
const MAX_WORDS: usize = 400;

/// Why an end has closed the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// All is done.
    Done,
    /// It does not want what was offered.
    Refused,
    /// The other end broke the protocol.
    Broken,
    /// It cannot go on.
    Failed,
    /// Its user has stopped it.
    Stopped,
}

impl Why {
    const ALL: [Why; 5] = [Why::Done, Why::Refused, Why::Broken, Why::Failed, Why::Stopped];

    fn code(self) -> u8 {
        Why::ALL.iter().position(|&why| why == self).unwrap_or(0) as u8
    }
}

/// The other end has closed the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Farewell {
    /// Why.
    pub why: Why,
    /// In its words, without what would control a terminal.
    pub words: String,
}

/// How a session was opened.
pub(crate) struct Opened {
    pub(crate) now: Time,
    pub(crate) me: u32,
    pub(crate) peer: u32,
    pub(crate) address: SocketAddr,
    pub(crate) handshake: Duration,
    /// This end began.
    pub(crate) dials: bool,
}

/// New keys that are on the way.
struct Dialing {
    state: HandshakeState,
    message: Vec<u8>,
    due: Time,
}

/// New keys that the other end does not use yet.
struct Next {
    keys: StatelessTransportState,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// The answer leaves.
    due: bool,
}

/// A new address that has to answer.
struct Candidate {
    address: SocketAddr,
    token: u64,
    left: u8,
    due: Time,
}

struct Closing {
    frame: (u8, String),
    left: u8,
    due: Time,
}

/// What fits into a packet.
fn shortened(words: &str) -> String {
    words[..words.floor_char_boundary(MAX_WORDS)].to_owned()
}

/// A session.
pub struct Channel {
    me: u32,
    peer: u32,
    address: SocketAddr,
    dials: bool,
    handshake: Duration,
    entropy: Entropy,
    /// Binds renewals to this session.
    binding: Key,
    epoch: u8,
    keys: StatelessTransportState,
    previous: Option<StatelessTransportState>,
    next: Option<Next>,
    dialing: Option<Dialing>,
    renewal: Renewal,
    renewed: Time,
    /// Packets since then.
    packets: u64,
    next_control: u64,
    /// The highest number of a data packet that left.
    last_data: u64,
    data: Replay,
    control: Replay,
    /// The session's messages.
    pub mailbox: Mailbox,
    heard: Time,
    sent: Time,
    candidate: Option<Candidate>,
    responses: VecDeque<(u64, SocketAddr)>,
    closing: Option<Closing>,
    farewell: Option<Farewell>,
    /// Datagrams that were not authentic, or were repeated.
    refused: u64,
    plain: Vec<u8>,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("address", &self.address)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Channel {
    pub(crate) fn new(
        opened: Opened,
        state: HandshakeState,
        secret: &Key,
        entropy: Entropy,
    ) -> Result<Channel, WrongKeys> {
        let Opened { now, me, peer, address, handshake, dials } = opened;
        let binding = mac(secret, &[b"renewal", state.get_handshake_hash()]);
        Ok(Channel {
            me,
            peer,
            address,
            dials,
            handshake,
            entropy,
            binding,
            epoch: 0,
            keys: state.into_stateless_transport_mode()?,
            previous: None,
            next: None,
            dialing: None,
            renewal: Renewal::default(),
            renewed: now,
            packets: 0,
            next_control: CONTROL,
            last_data: 0,
            data: Replay::default(),
            control: Replay::default(),
            mailbox: Mailbox::default(),
            heard: now,
            sent: now,
            candidate: None,
            responses: VecDeque::new(),
            closing: None,
            farewell: None,
            refused: 0,
            plain: Vec::new(),
        })
    }

    /// The first authentic packet came from `address`.
    pub(crate) fn begin(&mut self, now: Time, address: SocketAddr) {
        (self.address, self.heard, self.sent, self.renewed) = (address, now, now, now);
    }

    /// When keys are renewed, if this end began the session.
    pub fn renew(&mut self, when: Renewal) {
        self.renewal = when;
    }

    /// Where packets go.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How long the handshake took; zero for the end that answered.
    pub fn handshake(&self) -> Duration {
        self.handshake
    }

    /// How often keys were renewed, modulo 256.
    pub fn epoch(&self) -> u8 {
        self.epoch
    }

    /// Datagrams that were not authentic, or were repeated.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The last authentic packet, or the begin.
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// The other end has closed the session.
    pub fn farewell(&self) -> Option<&Farewell> {
        self.farewell.as_ref()
    }

    /// Closes the session: tells the other end why, and in words.
    pub fn close(&mut self, now: Time, why: Why, words: &str) {
        let closing = Closing { frame: (why.code(), shortened(words)), left: FAREWELLS, due: now };
        self.closing.get_or_insert(closing);
    }

    /// True if the other end was told that the session is closed, as often as it is told.
    pub fn is_closed(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.left == 0)
    }

    fn keys_of(&self, epoch: u8) -> Option<&StatelessTransportState> {
        if epoch == self.epoch {
            Some(&self.keys)
        } else if epoch == self.epoch.wrapping_sub(1) {
            self.previous.as_ref()
        } else if epoch == self.epoch.wrapping_add(1) {
            self.next.as_ref().map(|next| &next.keys)
        } else {
            None
        }
    }

    fn open(&self, datagram: &[u8], plain: &mut Vec<u8>) -> Option<(u8, u64)> {
        let Some(Envelope::Sealed { epoch, to, number, sealed }) = Envelope::read(datagram) else {
            return None;
        };
        if to != self.me {
            return None;
        }
        plain.resize(sealed.len().checked_sub(TAG_BYTES)?, 0);
        let length = self.keys_of(epoch)?.read_message(number, sealed, plain).ok()?;
        plain.truncate(length);
        Some((epoch, number))
    }

    /// True if the datagram is a sealed packet of this session.
    pub(crate) fn is_authentic(&self, datagram: &[u8]) -> bool {
        self.open(datagram, &mut Vec::new()).is_some()
    }

    /// A datagram arrived. What the session itself does not need is returned: data, acknowledgements, pings,
    /// probes.
    pub fn on_datagram<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        plain: &'a mut Vec<u8>,
    ) -> Option<Frame<'a>> {
        let Some((epoch, number)) = self.open(datagram, plain) else {
            self.refused += 1;
            return None;
        };
        let is_control = number >= CONTROL;
        let space = if is_control { &mut self.control } else { &mut self.data };
        if !space.note(number) {
            self.refused += 1;
            return None;
        }
        self.heard = now;
        self.packets += 1;
        if epoch == self.epoch.wrapping_add(1) {
            self.turn(now);
        }
        if from != self.address {
            self.suspect(now, from);
        }
        let frame = Frame::read(plain, number, (datagram.len() + UDP_IP_BYTES) as u32)?;
        if is_control == matches!(frame, Frame::Data(..)) {
            return None; // in the wrong space
        }
        self.on_frame(now, from, frame)
    }

    fn on_frame<'a>(&mut self, now: Time, from: SocketAddr, frame: Frame<'a>) -> Option<Frame<'a>> {
        match frame {
            Frame::Data(..) | Frame::Ack(..) | Frame::Ping(_) | Frame::Probe(_) | Frame::Probed(_) => {
                return Some(frame);
            }
            Frame::Message(number, text) => self.mailbox.on_message(number, text),
            Frame::MessagesRead(number) => {
                if !self.mailbox.on_read(number) {
                    self.close(now, Why::Broken, "a message was acknowledged that was never sent");
                }
            }
            Frame::PathChallenge(token) => {
                if self.responses.len() < MAX_RESPONSES {
                    self.responses.push_back((token, from));
                }
            }
            Frame::PathResponse(token) => {
                let answered = |new: &mut Candidate| new.token == token && new.address == from;
                if let Some(new) = self.candidate.take_if(answered) {
                    self.address = new.address;
                }
            }
            Frame::Rekey(epoch, message) => self.on_rekey(epoch, message),
            Frame::Rekeyed(epoch, message) => self.on_rekeyed(now, epoch, message),
            Frame::Close(why, words) => {
                let why = Why::ALL.get(usize::from(why)).copied().unwrap_or(Why::Failed);
                let words = shortened(words).chars().filter(|letter| !letter.is_control()).collect();
                self.farewell.get_or_insert(Farewell { why, words });
            }
        }
        None
    }

    /// The other end uses the new keys.
    fn turn(&mut self, now: Time) {
        if let Some(next) = self.next.take() {
            self.use_keys(now, next.keys);
        }
    }

    fn use_keys(&mut self, now: Time, keys: StatelessTransportState) {
        self.previous = Some(std::mem::replace(&mut self.keys, keys));
        self.epoch = self.epoch.wrapping_add(1);
        (self.renewed, self.packets) = (now, 0);
    }

    /// The other end wants new keys.
    fn on_rekey(&mut self, epoch: u8, message: &[u8]) {
        if self.dials || epoch != self.epoch.wrapping_add(1) {
            return;
        }
        if let Some(next) = self.next.as_mut().filter(|next| next.message == message) {
            next.due = true; // the answer was lost
            return;
        }
        let Ok(mut state) = renew(false, &self.binding, self.entropy) else { return };
        let mut answer = vec![0; MAX_NOISE];
        let shaken = state
            .read_message(message, &mut [0; MAX_NOISE])
            .and_then(|_| state.write_message(&[], &mut answer));
        let Ok(length) = shaken else { return };
        answer.truncate(length);
        if let Ok(keys) = state.into_stateless_transport_mode() {
            self.next = Some(Next { keys, message: message.to_vec(), answer, due: true });
        }
    }

    /// The other end has new keys.
    fn on_rekeyed(&mut self, now: Time, epoch: u8, message: &[u8]) {
        let Some(dialing) = self.dialing.as_mut().filter(|_| epoch == self.epoch.wrapping_add(1)) else {
            return;
        };
        if dialing.state.read_message(message, &mut [0; MAX_NOISE]).is_err() {
            return;
        }
        let keys = self.dialing.take().map(|dialing| dialing.state.into_stateless_transport_mode());
        if let Some(Ok(keys)) = keys {
            self.use_keys(now, keys);
        }
    }

    /// A packet came from an address that is not the session's.
    fn suspect(&mut self, now: Time, from: SocketAddr) {
        if self.candidate.as_ref().is_some_and(|new| new.address == from || new.left > 0) {
            return;
        }
        let mut token = [0; 8];
        (self.entropy)(&mut token);
        let token = u64::from_le_bytes(token);
        self.candidate = Some(Candidate { address: from, token, left: CHALLENGES, due: now });
    }

    /// Seals a datum. Its number must be above all before.
    ///
    /// # Panics
    ///
    /// If the number was used before, or is that of no data packet: a nonce is never used twice.
    pub fn seal_data(&mut self, now: Time, frame: &Frame, out: &mut Vec<u8>) {
        let Frame::Data(data, _) = frame else { panic!("{frame:?} is no datum") };
        assert!(self.last_data < data.number && data.number < CONTROL, "a packet number is used once");
        self.last_data = data.number;
        self.seal(now, data.number, frame, out);
    }

    /// Seals any other frame.
    pub fn seal_control(&mut self, now: Time, frame: &Frame, out: &mut Vec<u8>) {
        let number = self.next_control;
        // 2^63 - 1 of them are more than any session can send.
        self.next_control += 1;
        self.seal(now, number, frame, out);
    }

    fn seal(&mut self, now: Time, number: u64, frame: &Frame, out: &mut Vec<u8>) {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        frame.put(&mut plain);
        let begin = out.len();
        put_sealed_header(out, self.epoch, self.peer, number);
        out.resize(begin + SEALED_HEADER + plain.len() + TAG_BYTES, 0);
        let sealed = self.keys.write_message(number, &plain, &mut out[begin + SEALED_HEADER..]);
        debug_assert!(sealed.is_ok(), "there is room for it");
        self.plain = plain;
        self.sent = now;
        self.packets += 1;
    }

    /// Appends the next packet of the session itself, if one is due, and returns where it goes. Call again
    /// until there is none. `standing` is that of the data that this end receives.
    pub fn poll_control(
        &mut self,
        now: Time,
        rtt: Duration,
        standing: Standing,
        out: &mut Vec<u8>,
    ) -> Option<SocketAddr> {
        if let Some((token, to)) = self.responses.pop_front() {
            self.seal_control(now, &Frame::PathResponse(token), out);
            return Some(to);
        }
        let wait = rtt.saturating_mul(2).max(LEAST_WAIT);
        if let Some(new) = self.candidate.as_mut().filter(|new| new.due <= now) {
            if new.left == 0 {
                self.candidate = None;
            } else {
                new.left -= 1;
                new.due = now + wait;
                let (token, to) = (new.token, new.address);
                self.seal_control(now, &Frame::PathChallenge(token), out);
                return Some(to);
            }
        }
        let sealed = self.poll_keys(now, wait, out) || self.poll_farewell(now, wait, out);
        if sealed || self.poll_messages(now, rtt, out) {
            return Some(self.address);
        }
        if now >= self.sent + PING {
            self.seal_control(now, &Frame::Ping(standing), out);
            return Some(self.address);
        }
        None
    }

    fn poll_keys(&mut self, now: Time, wait: Duration, out: &mut Vec<u8>) -> bool {
        let epoch = self.epoch.wrapping_add(1);
        if let Some(next) = self.next.as_mut().filter(|next| next.due) {
            next.due = false;
            let answer = next.answer.clone();
            self.seal_control(now, &Frame::Rekeyed(epoch, &answer), out);
            return true;
        }
        if !self.dials {
            return false;
        }
        let old = self.packets >= self.renewal.packets || now >= self.renewed + self.renewal.time;
        if self.dialing.is_none() && old {
            let Ok(mut state) = renew(true, &self.binding, self.entropy) else { return false };
            let mut message = vec![0; MAX_NOISE];
            let Ok(length) = state.write_message(&[], &mut message) else { return false };
            message.truncate(length);
            self.dialing = Some(Dialing { state, message, due: now });
        }
        let Some(dialing) = self.dialing.as_mut().filter(|dialing| dialing.due <= now) else { return false };
        dialing.due = now + wait;
        let message = dialing.message.clone();
        self.seal_control(now, &Frame::Rekey(epoch, &message), out);
        true
    }

    fn poll_farewell(&mut self, now: Time, wait: Duration, out: &mut Vec<u8>) -> bool {
        let due = |closing: &&mut Closing| closing.left > 0 && closing.due <= now;
        let Some(closing) = self.closing.as_mut().filter(due) else { return false };
        closing.left -= 1;
        closing.due = now + wait.min(Duration::from_millis(250));
        let (why, words) = closing.frame.clone();
        self.seal_control(now, &Frame::Close(why, &words), out);
        true
    }

    fn poll_messages(&mut self, now: Time, rtt: Duration, out: &mut Vec<u8>) -> bool {
        if let Some(read) = self.mailbox.owed() {
            self.seal_control(now, &Frame::MessagesRead(read), out);
            return true;
        }
        let Some((number, text)) = self.mailbox.poll(now, rtt) else { return false };
        let text = text.to_vec();
        self.seal_control(now, &Frame::Message(number, &text), out);
        true
    }

    /// When to call [`Channel::poll_control`], if nothing arrives before.
    pub fn poll_timeout(&self) -> Time {
        if self.mailbox.owes()
            || !self.responses.is_empty()
            || self.next.as_ref().is_some_and(|next| next.due)
        {
            return Time::ZERO;
        }
        let candidate = self.candidate.as_ref().map(|new| new.due);
        let closing = self.closing.as_ref().filter(|closing| closing.left > 0).map(|closing| closing.due);
        let dialing = self.dialing.as_ref().map(|dialing| dialing.due);
        let renewal = (self.dials && self.dialing.is_none()).then(|| self.renewed + self.renewal.time);
        [candidate, closing, dialing, renewal, self.mailbox.deadline()]
            .into_iter()
            .flatten()
            .fold(self.sent + PING, Time::min)
    }
}
