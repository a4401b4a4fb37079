//! How a session begins: one packet there and one back.
//!
//! The first packet proves that its sender has the ticket, before anything is computed or answered. It is
//! padded, so no answer is longer. A ticket lets one sender in: with the first sealed packet that is
//! authentic the receiver stops listening. Until then copies of a hello are answered again, because answers
//! may be lost; a copy that an observer sends gets an answer that only the sender can use.

use crate::channel::{Channel, Opened};
use crate::noise::{Entropy, Identity, Key, WrongKeys, answer, dial, mac};
use crate::ticket::Ticket;
use crate::wire::{Envelope, PROOF_BYTES, put_hello, put_welcome, unproven};
use ackclock_units::{Duration, Time};
use snow::HandshakeState;
use std::net::SocketAddr;
use subtle::ConstantTimeEq;

/// The longest terms, bytes: they leave room for the rest of a hello.
pub const MAX_TERMS: usize = 900;
/// The first wait for an answer. Each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait.
const MOST_WAIT: Duration = Duration::from_secs(4);
/// Senders that have shown the ticket and sent nothing since. Only who has it can make more.
const MAX_PENDING: usize = 8;
const MAX_NOISE: usize = 1200;

fn session_number(entropy: Entropy) -> u32 {
    let mut number = [0; 4];
    entropy(&mut number);
    u32::from_le_bytes(number)
}

fn proof(key: &Key, covered: &[u8]) -> [u8; PROOF_BYTES] {
    let mut proof = [0; PROOF_BYTES];
    proof.copy_from_slice(&mac(key, &[b"ackclock hello", covered])[..PROOF_BYTES]);
    proof
}

/// The end that begins.
pub struct Dialer {
    state: Option<HandshakeState>,
    proof: Key,
    secret: Key,
    me: u32,
    to: SocketAddr,
    noise: Vec<u8>,
    /// When each attempt left.
    left: Vec<Time>,
    due: Time,
    entropy: Entropy,
}

impl Dialer {
    /// A session with the receiver of `ticket` at the address `to`. The receiver gets `terms`.
    ///
    /// # Errors
    ///
    /// [`WrongKeys`] if the ticket's key is none, or `terms` are longer than [`MAX_TERMS`].
    pub fn new(
        now: Time,
        to: SocketAddr,
        me: &Identity,
        ticket: &Ticket,
        terms: &[u8],
        entropy: Entropy,
    ) -> Result<Dialer, WrongKeys> {
        if terms.len() > MAX_TERMS {
            return Err(WrongKeys);
        }
        let secret = ticket.shared();
        let mut state = dial(me, ticket.public(), &secret, entropy)?;
        let mut noise = vec![0; MAX_NOISE];
        let length = state.write_message(terms, &mut noise)?;
        noise.truncate(length);
        let me = session_number(entropy);
        let (state, proof, left) = (Some(state), ticket.proof(), Vec::new());
        Ok(Dialer { state, proof, secret, me, to, noise, left, due: now, entropy })
    }

    /// Writes the hello, if one is due at `now`.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if now < self.due || self.state.is_none() {
            return false;
        }
        let attempt = u8::try_from(self.left.len()).unwrap_or(u8::MAX);
        put_hello(out, attempt, self.me, &self.noise, |covered| proof(&self.proof, covered));
        self.left.push(now);
        self.due = now + FIRST_WAIT.saturating_mul(1 << attempt.min(8)).min(MOST_WAIT);
        true
    }

    /// When the next hello is due.
    pub fn poll_timeout(&self) -> Time {
        self.due
    }

    /// Where hellos go.
    pub fn address(&self) -> SocketAddr {
        self.to
    }

    /// A datagram arrived. Returns the session if it is the answer.
    pub fn on_datagram(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Option<Channel> {
        let Envelope::Welcome { attempt, to, from: peer, noise } = Envelope::read(datagram)? else {
            return None;
        };
        if to != self.me || from != self.to {
            return None;
        }
        // Forged answers change nothing: the library takes back what it did.
        self.state.as_mut()?.read_message(noise, &mut [0; MAX_NOISE]).ok()?;
        let state = self.state.take()?;
        let left = self.left.get(usize::from(attempt)).or(self.left.last()).copied().unwrap_or(now);
        let opened =
            Opened { now, me: self.me, peer, address: from, handshake: now.since(left), dials: true };
        Channel::new(opened, state, &self.secret, self.entropy).ok()
    }
}

/// A sender that has shown the ticket.
struct Pending {
    /// Its first message, and the answer.
    noise: Vec<u8>,
    answer: Vec<u8>,
    me: u32,
    peer: u32,
    channel: Channel,
    terms: Vec<u8>,
    key: Key,
}

/// What a datagram was to a [`Listener`].
pub enum Heard {
    /// Nothing that is answered.
    Nothing,
    /// A hello with the ticket's proof: the answer is written.
    Answer,
    /// A session: this datagram is the first of it, and is to be given to the channel.
    Session(Box<Welcomed>),
}

/// A session that a [`Listener`] let in.
pub struct Welcomed {
    /// The session.
    pub channel: Channel,
    /// What the sender wrote in its hello.
    pub terms: Vec<u8>,
    /// The sender's public key.
    pub from: Key,
}

/// The end that waits for a sender with a ticket.
pub struct Listener {
    identity: Identity,
    proof: Key,
    secret: Key,
    /// The only sender that is let in.
    only: Option<Key>,
    pending: Vec<Pending>,
    entropy: Entropy,
}

impl Listener {
    /// Waits for one sender that has `ticket`, and the key `only` if one is given.
    pub fn new(me: &Identity, ticket: &Ticket, only: Option<Key>, entropy: Entropy) -> Listener {
        let (proof, secret) = (ticket.proof(), ticket.shared());
        Listener { identity: me.clone(), proof, secret, only, pending: Vec::new(), entropy }
    }

    /// A datagram arrived. An answer is written to `out`; it goes to `from`.
    pub fn on_datagram(&mut self, now: Time, from: SocketAddr, datagram: &[u8], out: &mut Vec<u8>) -> Heard {
        match Envelope::read(datagram) {
            Some(Envelope::Hello { attempt, from: peer, noise, proof: given }) => {
                let wanted = proof(&self.proof, unproven(datagram));
                if !bool::from(wanted.ct_eq(given)) || self.welcome(now, from, peer, noise).is_none() {
                    return Heard::Nothing;
                }
                let found = self.pending.iter_mut().find(|pending| pending.noise == noise);
                let Some(pending) = found else { return Heard::Nothing };
                put_welcome(out, attempt, pending.peer, pending.me, &pending.answer);
                debug_assert!(out.len() <= datagram.len());
                Heard::Answer
            }
            Some(Envelope::Sealed { to, .. }) => {
                let found = self.pending.iter().position(|pending| pending.me == to);
                let Some(at) = found.filter(|&at| self.pending[at].channel.is_authentic(datagram)) else {
                    return Heard::Nothing;
                };
                let Pending { mut channel, terms, key, .. } = self.pending.swap_remove(at);
                self.pending.clear();
                channel.begin(now, from);
                Heard::Session(Box::new(Welcomed { channel, terms, from: key }))
            }
            _ => Heard::Nothing,
        }
    }

    /// Makes an answer to a first message, unless there is one.
    fn welcome(&mut self, now: Time, from: SocketAddr, peer: u32, noise: &[u8]) -> Option<()> {
        if self.pending.iter().any(|pending| pending.noise == noise) {
            return Some(());
        }
        let mut state = answer(&self.identity, &self.secret, self.entropy).ok()?;
        let mut terms = vec![0; MAX_NOISE];
        let length = state.read_message(noise, &mut terms).ok()?;
        terms.truncate(length);
        let key: Key = state.get_remote_static()?.try_into().ok()?;
        if self.only.is_some_and(|only| only != key) {
            return None;
        }
        let mut answer = vec![0; MAX_NOISE];
        let length = state.write_message(&[], &mut answer).ok()?;
        answer.truncate(length);
        let me = session_number(self.entropy);
        let opened = Opened { now, me, peer, address: from, handshake: Duration::ZERO, dials: false };
        let channel = Channel::new(opened, state, &self.secret, self.entropy).ok()?;
        if self.pending.len() == MAX_PENDING {
            self.pending.remove(0);
        }
        self.pending.push(Pending { noise: noise.to_vec(), answer, me, peer, channel, terms, key });
        Some(())
    }
}
