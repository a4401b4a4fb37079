//! What stands around a frame: the packets as the network sees them.

use super::reader::Reader;

const HELLO: u8 = 0x11;
const WELCOME: u8 = 0x12;
const SEALED: u8 = 0x13;

/// The least length of a hello, bytes. No answer to it is longer, so nobody can use it to multiply traffic
/// (RFC 9000 section 14.1); and every path carries it (RFC 791).
pub const HELLO_BYTES: usize = 512;
/// The proof at the end of a hello, bytes.
pub const PROOF_BYTES: usize = 16;
/// What stands before a sealed frame, bytes.
pub const SEALED_HEADER: usize = 14;
/// What a sealed frame is longer than the frame, bytes.
pub const TAG_BYTES: usize = 16;

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Envelope<'a> {
    /// The first message of the handshake.
    Hello {
        /// How often it was sent before.
        attempt: u8,
        /// The sender's number for the session.
        from: u32,
        /// The message.
        noise: &'a [u8],
        /// Proves that the sender has the ticket. It covers [`unproven`].
        proof: &'a [u8],
    },
    /// The second message of the handshake.
    Welcome {
        /// The hello that it answers.
        attempt: u8,
        /// The number of the hello.
        to: u32,
        /// The receiver's number for the session.
        from: u32,
        /// The message.
        noise: &'a [u8],
    },
    /// A sealed frame.
    Sealed {
        /// Which keys it is sealed with.
        epoch: u8,
        /// The number that the reader chose for the session.
        to: u32,
        /// The nonce.
        number: u64,
        /// The sealed frame.
        sealed: &'a [u8],
    },
}

impl<'a> Envelope<'a> {
    /// Reads a datagram. `None` if it is no packet of this version.
    pub fn read(datagram: &'a [u8]) -> Option<Envelope<'a>> {
        let mut from = Reader(datagram);
        match from.u8()? {
            HELLO if datagram.len() >= HELLO_BYTES => {
                let (attempt, session, length) = (from.u8()?, from.u32()?, from.u16()?);
                let noise = from.take(usize::from(length))?;
                let zeros = from.0.len().checked_sub(PROOF_BYTES)?;
                from.take(zeros)?;
                Some(Envelope::Hello { attempt, from: session, noise, proof: from.rest() })
            }
            WELCOME => {
                let (attempt, to, session) = (from.u8()?, from.u32()?, from.u32()?);
                Some(Envelope::Welcome { attempt, to, from: session, noise: from.rest() })
            }
            SEALED => {
                let (epoch, to, number) = (from.u8()?, from.u32()?, from.u64()?);
                Some(Envelope::Sealed { epoch, to, number, sealed: from.rest() })
            }
            _ => None,
        }
    }
}

/// The part of a hello that its proof covers.
pub fn unproven(hello: &[u8]) -> &[u8] {
    &hello[..hello.len().saturating_sub(PROOF_BYTES)]
}

/// Writes a hello; `prove` makes the proof of what it is given. `noise` is short enough for it.
pub fn put_hello(
    out: &mut Vec<u8>,
    attempt: u8,
    from: u32,
    noise: &[u8],
    prove: impl FnOnce(&[u8]) -> [u8; PROOF_BYTES],
) {
    out.clear();
    out.extend([HELLO, attempt]);
    out.extend(from.to_le_bytes());
    out.extend((noise.len() as u16).to_le_bytes());
    out.extend(noise);
    out.resize(HELLO_BYTES.max(out.len() + PROOF_BYTES) - PROOF_BYTES, 0);
    let proof = prove(out);
    out.extend(proof);
}

/// Writes a welcome.
pub fn put_welcome(out: &mut Vec<u8>, attempt: u8, to: u32, from: u32, noise: &[u8]) {
    out.clear();
    out.extend([WELCOME, attempt]);
    out.extend(to.to_le_bytes());
    out.extend(from.to_le_bytes());
    out.extend(noise);
}

/// What stands before a sealed frame.
pub fn put_sealed_header(out: &mut Vec<u8>, epoch: u8, to: u32, number: u64) {
    out.extend([SEALED, epoch]);
    out.extend(to.to_le_bytes());
    out.extend(number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hello_is_long_and_an_answer_is_not() {
        let mut out = Vec::new();
        put_hello(&mut out, 2, 7, b"noise", |covered| {
            assert_eq!(covered.len(), HELLO_BYTES - PROOF_BYTES);
            [9; PROOF_BYTES]
        });
        assert_eq!(out.len(), HELLO_BYTES);
        let read = Envelope::read(&out);
        let hello = Envelope::Hello { attempt: 2, from: 7, noise: b"noise", proof: &[9; PROOF_BYTES] };
        assert_eq!(read, Some(hello));
        assert_eq!(unproven(&out).len(), HELLO_BYTES - PROOF_BYTES);
        assert_eq!(Envelope::read(&out[..HELLO_BYTES - 1]), None, "a short one is refused");
        put_welcome(&mut out, 2, 7, 8, b"answer");
        let welcome = Envelope::Welcome { attempt: 2, to: 7, from: 8, noise: b"answer" };
        assert_eq!(Envelope::read(&out), Some(welcome));
        out[0] = 0x22;
        assert_eq!(Envelope::read(&out), None, "of another version");
    }

    #[test]
    fn a_sealed_frame_has_fourteen_bytes_before_it() {
        let mut out = Vec::new();
        put_sealed_header(&mut out, 3, 5, u64::MAX - 1);
        assert_eq!(out.len(), SEALED_HEADER);
        out.extend(b"frame");
        let sealed = Envelope::Sealed { epoch: 3, to: 5, number: u64::MAX - 1, sealed: b"frame" };
        assert_eq!(Envelope::read(&out), Some(sealed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..1500), kind in 0..5_u8) {
            if let Some(first) = bytes.first_mut() {
                *first = 0x10 | kind;
            }
            let _ = Envelope::read(&bytes);
        }
    }
}
