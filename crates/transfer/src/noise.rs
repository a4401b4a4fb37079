//! The Noise handshake of a session, through the library `snow`, with primitives of `ring`, RustCrypto and
//! dalek.
//!
//! Source: The Noise Protocol Framework, revision 34: IK with a pre-shared key after the second message
//! (IKpsk2), and NN with one before the first (NNpsk0) for new keys inside a session. Curve25519,
//! ChaCha20-Poly1305, SHA-256.
//!
//! `snow` takes its primitives from a resolver. This one has the cipher of `ring`, which is three times as
//! fast as that of `snow`'s own resolver, and the newer versions of the other libraries.

use curve25519_dalek::MontgomeryPoint;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use sha2::{Digest, Sha256};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use std::fmt;

/// Of a Curve25519 key, bytes.
pub const KEY_BYTES: usize = 32;
/// A key or a secret.
pub type Key = [u8; KEY_BYTES];

/// Fills with random bytes. A host takes them from the operating system.
pub type Entropy = fn(&mut [u8]);

const TAG: usize = 16;
const SESSION: &str = "Noise_IKpsk2_25519_ChaChaPoly_SHA256";
const RENEWAL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Both ends must speak the same version.
const PROLOGUE: &[u8] = b"ackclock transfer 1";

/// A handshake failed: the other end has not the keys that it should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongKeys;

impl fmt::Display for WrongKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other end has not the keys that it should have")
    }
}

impl std::error::Error for WrongKeys {}

impl From<Error> for WrongKeys {
    fn from(_: Error) -> WrongKeys {
        WrongKeys
    }
}

/// A pair of keys that names an end.
#[derive(Clone)]
pub struct Identity {
    private: Key,
    public: Key,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Identity {
    /// A new one.
    pub fn new(entropy: Entropy) -> Identity {
        let mut private = [0; KEY_BYTES];
        entropy(&mut private);
        Identity::from_private(private)
    }

    /// That with this private key.
    pub fn from_private(private: Key) -> Identity {
        Identity { private, public: MontgomeryPoint::mul_base_clamped(private).to_bytes() }
    }

    /// The private key: for its file.
    pub fn private(&self) -> &Key {
        &self.private
    }

    /// The public key.
    pub fn public(&self) -> &Key {
        &self.public
    }
}

fn builder(pattern: &str, entropy: Entropy) -> Result<Builder<'static>, WrongKeys> {
    let parameters = pattern.parse().map_err(|_| WrongKeys)?;
    Ok(Builder::with_resolver(parameters, Box::new(Primitives { entropy })).prologue(PROLOGUE)?)
}

/// The handshake of the end that sends the first message, to the end with the key `to`.
///
/// # Errors
///
/// [`WrongKeys`] if the library refuses them.
pub fn dial(me: &Identity, to: &Key, secret: &Key, entropy: Entropy) -> Result<HandshakeState, WrongKeys> {
    let builder = builder(SESSION, entropy)?.local_private_key(&me.private)?;
    Ok(builder.remote_public_key(to)?.psk(2, secret)?.build_initiator()?)
}

/// The handshake of the end that answers.
///
/// # Errors
///
/// [`WrongKeys`] if the library refuses them.
pub fn answer(me: &Identity, secret: &Key, entropy: Entropy) -> Result<HandshakeState, WrongKeys> {
    Ok(builder(SESSION, entropy)?.local_private_key(&me.private)?.psk(2, secret)?.build_responder()?)
}

/// The handshake for new keys inside a session, bound to it by `secret`.
///
/// # Errors
///
/// [`WrongKeys`] if the library refuses them.
pub fn renew(dials: bool, secret: &Key, entropy: Entropy) -> Result<HandshakeState, WrongKeys> {
    let builder = builder(RENEWAL, entropy)?.psk(0, secret)?;
    Ok(if dials { builder.build_initiator()? } else { builder.build_responder()? })
}

/// HMAC-SHA256 (RFC 2104) of `parts` one after the other.
pub fn mac(key: &Key, parts: &[&[u8]]) -> Key {
    let padded = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let mut inner = Sha256::new_with_prefix(padded(0x36));
    parts.iter().for_each(|part| inner.update(part));
    Sha256::new_with_prefix(padded(0x5c)).chain_update(inner.finalize()).finalize().into()
}

struct Primitives {
    entropy: Entropy,
}

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Source(self.entropy)))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(|| Box::<Curve>::default() as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        matches!(choice, HashChoice::SHA256).then(|| Box::<Sha>::default() as Box<dyn Hash>)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        matches!(choice, CipherChoice::ChaChaPoly).then(|| Box::<Sealing>::default() as Box<dyn Cipher>)
    }
}

struct Source(Entropy);

impl Random for Source {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        (self.0)(bytes);
        Ok(())
    }
}

#[derive(Default)]
struct Curve {
    private: Key,
    public: Key,
}

impl Dh for Curve {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY_BYTES
    }

    fn priv_len(&self) -> usize {
        KEY_BYTES
    }

    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.public = MontgomeryPoint::mul_base_clamped(self.private).to_bytes();
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        let mut private = [0; KEY_BYTES];
        random.try_fill_bytes(&mut private)?;
        self.set(&private);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public: Key = public.get(..KEY_BYTES).and_then(|key| key.try_into().ok()).ok_or(Error::Dh)?;
        let shared = MontgomeryPoint(public).mul_clamped(self.private).to_bytes();
        // A point of small order contributes nothing (RFC 7748 section 6.1).
        if shared == [0; KEY_BYTES] {
            return Err(Error::Dh);
        }
        out.get_mut(..KEY_BYTES).ok_or(Error::Dh)?.copy_from_slice(&shared);
        Ok(())
    }
}

#[derive(Default)]
struct Sha(Sha256);

impl Hash for Sha {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Sha256::default();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        out[..32].copy_from_slice(&self.0.finalize_reset());
    }
}

struct Sealing(LessSafeKey);

impl Sealing {
    fn new(key: &Key) -> Sealing {
        Sealing(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key of 32 bytes")))
    }
}

impl Default for Sealing {
    /// `snow` sets a key before it uses it.
    fn default() -> Sealing {
        Sealing::new(&[0; KEY_BYTES])
    }
}

/// The nonce of Noise: four zeros and the number (section 12.3).
fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl Cipher for Sealing {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &Key) {
        *self = Sealing::new(key);
    }

    fn encrypt(&self, number: u64, with: &[u8], plain: &[u8], out: &mut [u8]) -> usize {
        let (sealed, rest) = out.split_at_mut(plain.len());
        sealed.copy_from_slice(plain);
        // Far below the cipher's 256 GiB.
        let tag =
            self.0.seal_in_place_separate_tag(nonce(number), Aad::from(with), sealed).expect("short enough");
        rest[..TAG].copy_from_slice(tag.as_ref());
        plain.len() + TAG
    }

    fn decrypt(&self, number: u64, with: &[u8], sealed: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let length = sealed.len().checked_sub(TAG).ok_or(Error::Decrypt)?;
        let (sealed, tag) = sealed.split_at(length);
        let tag = tag.try_into().map_err(|_| Error::Decrypt)?;
        let plain = out.get_mut(..length).ok_or(Error::Input)?;
        plain.copy_from_slice(sealed);
        let opened = self.0.open_in_place_separate_tag(nonce(number), Aad::from(with), tag, plain, 0..);
        opened.map(|plain| plain.len()).map_err(|_| Error::Decrypt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(bytes: &mut [u8]) {
        use std::sync::atomic::{AtomicU8, Ordering};
        static NEXT: AtomicU8 = AtomicU8::new(1);
        bytes.iter_mut().for_each(|byte| *byte = NEXT.fetch_add(1, Ordering::Relaxed));
    }

    fn unhex<const N: usize>(text: &str) -> [u8; N] {
        let mut bytes = [0; N];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hexadecimal");
        }
        bytes
    }

    /// RFC 7748 section 6.1.
    #[test]
    fn curve_25519() {
        let alice = unhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let bob =
            Identity::from_private(unhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
        let mut curve = Curve::default();
        curve.set(&alice);
        let public: Key = unhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        assert_eq!((curve.pubkey(), Identity::from_private(alice).public()), (&public[..], &public));
        let mut shared = [0; KEY_BYTES];
        curve.dh(bob.public(), &mut shared).expect("a point");
        assert_eq!(shared, unhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"));
        assert_eq!(curve.dh(&[0; KEY_BYTES], &mut shared), Err(Error::Dh), "a point of small order");
    }

    /// RFC 4231 section 4.3, with the key padded by zeros as HMAC pads it.
    #[test]
    fn hmac_sha_256() {
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let wanted = unhex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert_eq!(mac(&key, &[b"what do ya want ", b"for nothing?"]), wanted);
    }

    /// RFC 8439 section 2.8.2 has a nonce of another form; so the round trip and what breaks it.
    #[test]
    fn what_is_sealed_is_opened_only_as_it_was() {
        let mut cipher = Sealing::default();
        cipher.set(&[7; 32]);
        let (mut sealed, mut plain) = ([0; 21], [0; 5]);
        assert_eq!(cipher.encrypt(9, b"", b"plain", &mut sealed), 21);
        assert_eq!(cipher.decrypt(9, b"", &sealed, &mut plain), Ok(5));
        assert_eq!(&plain, b"plain");
        assert_eq!(cipher.decrypt(8, b"", &sealed, &mut plain), Err(Error::Decrypt));
        for at in 0..sealed.len() {
            sealed[at] ^= 1;
            assert_eq!(cipher.decrypt(9, b"", &sealed, &mut plain), Err(Error::Decrypt));
            sealed[at] ^= 1;
        }
        assert_eq!(cipher.decrypt(9, b"", &sealed[..15], &mut plain), Err(Error::Decrypt));
    }

    #[test]
    fn both_ends_get_the_same_keys_or_none() {
        let (sender, receiver) = (Identity::new(count), Identity::new(count));
        let shake = |to: &Key, secrets: [Key; 2]| {
            let mut one = dial(&sender, to, &secrets[0], count)?;
            let mut other = answer(&receiver, &secrets[1], count)?;
            let (mut message, mut text) = ([0; 256], [0; 256]);
            let length = one.write_message(b"terms", &mut message)?;
            let read = other.read_message(&message[..length], &mut text)?;
            assert_eq!(&text[..read], b"terms");
            assert_eq!(other.get_remote_static(), Some(&sender.public()[..]));
            let length = other.write_message(b"", &mut message)?;
            one.read_message(&message[..length], &mut text)?;
            let (one, other) = (one.into_stateless_transport_mode()?, other.into_stateless_transport_mode()?);
            let length = one.write_message(3, b"hello", &mut message)?;
            let read = other.read_message(3, &message[..length], &mut text)?;
            assert_eq!(&text[..read], b"hello");
            Ok::<_, WrongKeys>(())
        };
        assert_eq!(shake(receiver.public(), [[1; 32]; 2]), Ok(()));
        assert_eq!(shake(receiver.public(), [[1; 32], [2; 32]]), Err(WrongKeys));
        assert_eq!(shake(sender.public(), [[1; 32]; 2]), Err(WrongKeys));
    }
}
