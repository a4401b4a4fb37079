//! Tickets: who receives, and the secret that lets one sender in, once.
//!
//! A ticket is as secret as what is sent with it. It is written nowhere but where the user asks for it.

use crate::noise::{Entropy, Identity, KEY_BYTES, Key, mac};
use std::fmt;
use std::str::FromStr;

/// What every ticket begins with.
pub const PREFIX: &str = "ackclock1";
/// Of the sum that finds typing errors, bytes.
const SUM: usize = 4;
const BYTES: usize = 2 * KEY_BYTES + SUM;

/// A ticket.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    public: Key,
    secret: Key,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

/// Not a ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoTicket;

impl fmt::Display for NoTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this is no ticket, or not all of it: copy the whole line that `ackclock receive` printed",
        )
    }
}

impl std::error::Error for NoTicket {}

impl Ticket {
    /// A new ticket of the receiver `me`.
    pub fn new(me: &Identity, entropy: Entropy) -> Ticket {
        let mut secret = [0; KEY_BYTES];
        entropy(&mut secret);
        Ticket { public: *me.public(), secret }
    }

    /// The receiver's public key.
    pub fn public(&self) -> &Key {
        &self.public
    }

    /// The key that is mixed into the handshake.
    pub(crate) fn shared(&self) -> Key {
        mac(&self.secret, &[b"shared"])
    }

    /// The key of proofs.
    pub(crate) fn proof(&self) -> Key {
        mac(&self.secret, &[b"proof"])
    }

    /// The ticket as a line of text: for the user who asks for it.
    pub fn reveal(&self) -> String {
        let mut bytes = [0; BYTES];
        bytes[..KEY_BYTES].copy_from_slice(&self.public);
        bytes[KEY_BYTES..2 * KEY_BYTES].copy_from_slice(&self.secret);
        let sum = sum(&bytes[..2 * KEY_BYTES]);
        bytes[2 * KEY_BYTES..].copy_from_slice(&sum);
        format!("{PREFIX}-{}", hex(&bytes))
    }
}

impl FromStr for Ticket {
    type Err = NoTicket;

    fn from_str(text: &str) -> Result<Ticket, NoTicket> {
        let rest =
            text.trim().strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')).ok_or(NoTicket)?;
        let bytes: [u8; BYTES] = unhex(rest).ok_or(NoTicket)?;
        let (keys, given) = bytes.split_at(2 * KEY_BYTES);
        if given != sum(keys) {
            return Err(NoTicket);
        }
        let (public, secret) = keys.split_at(KEY_BYTES);
        let key = |bytes: &[u8]| bytes.try_into().map_err(|_| NoTicket);
        Ok(Ticket { public: key(public)?, secret: key(secret)? })
    }
}

fn sum(keys: &[u8]) -> [u8; SUM] {
    let mac = mac(&[0; KEY_BYTES], &[keys]);
    [mac[0], mac[1], mac[2], mac[3]]
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hexadecimal digits of exactly N bytes.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_as_it_was_written_and_not_otherwise() {
        let me = Identity::from_private([3; KEY_BYTES]);
        let ticket = Ticket::new(&me, |bytes| bytes.fill(0xab));
        let text = ticket.reveal();
        assert_eq!(text.parse(), Ok(ticket.clone()));
        assert_eq!(format!(" {text}\n").parse(), Ok(ticket.clone()));
        assert_eq!(text.to_uppercase().parse::<Ticket>(), Err(NoTicket));
        for wrong in [&text[1..], &text[..text.len() - 1], "", "ackclock1-", "ackclock1-é"] {
            assert_eq!(wrong.parse::<Ticket>(), Err(NoTicket), "{wrong}");
        }
        let typed = text.replacen("ab", "ac", 1);
        assert_eq!(typed.parse::<Ticket>(), Err(NoTicket), "a typing error");
        assert!(!format!("{ticket:?}").contains("ab"), "it does not show itself");
        assert_ne!(ticket.shared(), ticket.proof());
    }
}
