//! Who may send where: the sink's cookie, the sink's answer, and its consent. No clock, no I/O.
//!
//! A sink draws a cookie and a key for each connection. Its controller tells both to the source's agent, over
//! TLS. A connection begins with the source's hello, which shows the cookie. The sink's answer shows, by a
//! code that only who has the key can compute (HMAC-SHA-256, RFC 2104), that there is such a sink and that it
//! wants the traffic. A source sends nothing else before it has that answer. So nobody can be sent anything
//! who does not take part. Over UDP, consent runs out unless the sink renews it.

use ackclock_units::{Duration, Time};
use ring::hmac;
use std::collections::{HashMap, HashSet, VecDeque};

/// The length of a hello, bytes. It is padded: no answer is longer.
pub const HELLO: usize = 64;
/// The length of an answer or of a renewal of consent, bytes.
pub const ANSWER: usize = 48;
/// A sink renews its consent at least as often.
pub const RENEWAL: Duration = Duration::from_millis(500);
/// A source goes on for so long after the last renewal.
pub const CONSENT: Duration = Duration::from_millis(1500);

const MAGIC: [u8; 8] = *b"ackclock";
/// The greatest number of used cookies that are remembered, to tell a replay from a guess.
const MAX_USED: usize = 100_000;

/// 128 bits.
pub type Word = [u8; 16];

/// As hexadecimal digits.
pub fn hex(word: &Word) -> String {
    word.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// From hexadecimal digits.
pub fn unhex(text: &str) -> Option<Word> {
    let digits = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut word = Word::default();
    if digits.len() != 2 * word.len() {
        return None;
    }
    for (byte, pair) in word.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(word)
}

/// What a sink says to a hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The source may send.
    Welcome = 1,
    /// The cookie was used before.
    Replayed = 2,
    /// There is no such cookie.
    Unknown = 3,
}

/// The secrets of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Secrets {
    /// What the source shows.
    pub cookie: Word,
    /// What consent is proved with.
    pub key: Word,
}

impl Secrets {
    fn code(&self, what: &[u8], value: &[u8]) -> hmac::Tag {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key);
        let mut context = hmac::Context::with_key(&key);
        context.update(what);
        context.update(value);
        context.sign()
    }

    fn holds(&self, what: &[u8], value: &[u8], code: &[u8]) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key);
        hmac::verify(&key, &[what, value].concat(), code).is_ok()
    }

    /// The hello of a source that has drawn this nonce.
    pub fn hello(&self, nonce: Word) -> [u8; HELLO] {
        let mut hello = [0; HELLO];
        hello[..8].copy_from_slice(&MAGIC);
        hello[8..24].copy_from_slice(&self.cookie);
        hello[24..40].copy_from_slice(&nonce);
        hello
    }

    /// The sink's welcome to a hello with this nonce.
    pub fn welcome(&self, nonce: Word) -> [u8; ANSWER] {
        frame(Verdict::Welcome as u8, 0, self.code(b"welcome", &nonce).as_ref())
    }

    /// What this answer to a hello with this nonce says. `None`: it is no answer, or a forged one.
    pub fn read_answer(&self, nonce: Word, answer: &[u8]) -> Option<Verdict> {
        let (kind, _, code) = unframe(answer)?;
        match kind {
            1 => self.holds(b"welcome", &nonce, code).then_some(Verdict::Welcome),
            2 => Some(Verdict::Replayed),
            3 => Some(Verdict::Unknown),
            _ => None,
        }
    }

    /// The sink's renewal of its consent with this number.
    pub fn consent(&self, number: u64) -> [u8; ANSWER] {
        frame(CONSENT_KIND, number, self.code(b"consent", &number.to_be_bytes()).as_ref())
    }
}

/// The kind of a renewal of consent, beside those of [`Verdict`].
const CONSENT_KIND: u8 = 4;

fn frame(kind: u8, number: u64, code: &[u8]) -> [u8; ANSWER] {
    let mut bytes = [0; ANSWER];
    bytes[0] = kind;
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    bytes[16..16 + code.len()].copy_from_slice(code);
    bytes
}

fn unframe(bytes: &[u8]) -> Option<(u8, u64, &[u8])> {
    if bytes.len() != ANSWER {
        return None;
    }
    let number = bytes[8..16].try_into().ok()?;
    Some((bytes[0], u64::from_be_bytes(number), &bytes[16..]))
}

/// The sink's answer to a hello that it does not welcome.
pub fn rejection(verdict: Verdict) -> [u8; ANSWER] {
    frame(verdict as u8, 0, &[])
}

/// The cookie and the nonce of a hello, if it is one.
pub fn read_hello(bytes: &[u8]) -> Option<(Word, Word)> {
    if bytes.len() != HELLO || bytes[..8] != MAGIC {
        return None;
    }
    Some((bytes[8..24].try_into().ok()?, bytes[24..40].try_into().ok()?))
}

/// The consent of a sink, at the source.
#[derive(Clone, Debug)]
pub struct Consent {
    secrets: Secrets,
    until: Time,
    number: u64,
}

impl Consent {
    /// The consent that a welcome at `now` gives.
    pub fn new(secrets: Secrets, now: Time) -> Consent {
        Consent { secrets, until: now + CONSENT, number: 0 }
    }

    /// Takes a datagram from the sink. Only a renewal that is newer than all before counts.
    pub fn on_datagram(&mut self, now: Time, datagram: &[u8]) {
        let Some((CONSENT_KIND, number, code)) = unframe(datagram) else { return };
        if number > self.number && self.secrets.holds(b"consent", &number.to_be_bytes(), code) {
            self.number = number;
            self.until = now + CONSENT;
        }
    }

    /// May the source send at `now`?
    pub fn holds(&self, now: Time) -> bool {
        now < self.until
    }
}

/// The cookies of an agent's sinks.
#[derive(Debug)]
pub struct Cookies<T> {
    waiting: HashMap<Word, T>,
    used: HashSet<Word>,
    oldest: VecDeque<Word>,
}

impl<T> Default for Cookies<T> {
    fn default() -> Cookies<T> {
        Cookies { waiting: HashMap::new(), used: HashSet::new(), oldest: VecDeque::new() }
    }
}

impl<T> Cookies<T> {
    /// `sink` waits for who shows this cookie.
    pub fn wait(&mut self, cookie: Word, sink: T) {
        self.waiting.insert(cookie, sink);
    }

    /// Takes the sink that waits for this cookie; no second one will get it.
    ///
    /// # Errors
    ///
    /// If nobody waits for it.
    pub fn take(&mut self, cookie: Word) -> Result<T, Verdict> {
        match self.waiting.remove(&cookie) {
            Some(sink) => {
                self.spend(cookie);
                Ok(sink)
            }
            None if self.used.contains(&cookie) => Err(Verdict::Replayed),
            None => Err(Verdict::Unknown),
        }
    }

    /// Nobody waits for this cookie any more, and nobody ever will.
    pub fn spend(&mut self, cookie: Word) {
        self.waiting.remove(&cookie);
        if self.used.insert(cookie) {
            self.oldest.push_back(cookie);
        }
        if self.oldest.len() > MAX_USED
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.used.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: Secrets = Secrets { cookie: [7; 16], key: [9; 16] };

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn words_are_hexadecimal_digits() {
        let word = std::array::from_fn(|at| at as u8 * 17);
        assert_eq!(unhex(&hex(&word)), Some(word));
        assert_eq!(unhex("12"), None);
        assert_eq!(unhex(&"g0".repeat(16)), None);
        assert_eq!(unhex(&"é".repeat(16)), None);
    }

    #[test]
    fn a_cookie_opens_once() {
        let mut cookies = Cookies::default();
        cookies.wait([1; 16], "sink");
        assert_eq!(cookies.take([2; 16]), Err(Verdict::Unknown));
        assert_eq!(cookies.take([1; 16]), Ok("sink"));
        assert_eq!(cookies.take([1; 16]), Err(Verdict::Replayed));
        cookies.wait([3; 16], "other");
        cookies.spend([3; 16]);
        assert_eq!(cookies.take([3; 16]), Err(Verdict::Replayed));
    }

    #[test]
    fn only_who_has_the_key_can_welcome() {
        let (nonce, other) = ([1; 16], Secrets { key: [8; 16], ..SECRETS });
        assert_eq!(read_hello(&SECRETS.hello(nonce)), Some((SECRETS.cookie, nonce)));
        assert_eq!(SECRETS.read_answer(nonce, &SECRETS.welcome(nonce)), Some(Verdict::Welcome));
        assert_eq!(SECRETS.read_answer([2; 16], &SECRETS.welcome(nonce)), None, "an old answer");
        assert_eq!(SECRETS.read_answer(nonce, &other.welcome(nonce)), None, "a forged answer");
        assert_eq!(SECRETS.read_answer(nonce, &rejection(Verdict::Replayed)), Some(Verdict::Replayed));
        assert_eq!(SECRETS.read_answer(nonce, b"HTTP/1.1 400 Bad Request"), None);
        const { assert!(ANSWER <= HELLO, "nobody is made to send more than was received") };
    }

    #[test]
    fn consent_runs_out_and_old_renewals_do_not_count() {
        let mut consent = Consent::new(SECRETS, at(0));
        assert!(consent.holds(at(1499)) && !consent.holds(at(1500)));
        consent.on_datagram(at(1000), &SECRETS.consent(1));
        assert!(consent.holds(at(2499)));
        consent.on_datagram(at(2000), &SECRETS.consent(1));
        assert!(!consent.holds(at(2500)), "a copy of an old renewal counted");
        let other = Secrets { key: [8; 16], ..SECRETS };
        consent.on_datagram(at(2400), &other.consent(2));
        consent.on_datagram(at(2400), b"");
        assert!(!consent.holds(at(2500)), "a forged renewal counted");
        consent.on_datagram(at(2600), &SECRETS.consent(2));
        assert!(consent.holds(at(2700)));
    }
}
