//! Destination prefixes as keys of the trie that a program looks them up in.

use ackclock_sockets::Prefix;
use std::net::IpAddr;

/// The size of `struct ac_prefix`, bytes.
const KEY: usize = 24;
/// The bits of the address family before the address.
const FAMILY_BITS: u32 = 8;

/// `struct ac_prefix`, the key of the trie.
pub(super) fn key(prefix: Prefix) -> [u8; KEY] {
    let mut key = [0; KEY];
    key[..4].copy_from_slice(&(FAMILY_BITS + prefix.bits()).to_ne_bytes());
    match prefix.address() {
        IpAddr::V4(four) => {
            key[4] = 4;
            key[5..9].copy_from_slice(&four.octets());
        }
        IpAddr::V6(six) => {
            key[4] = 6;
            key[5..21].copy_from_slice(&six.octets());
        }
    }
    key
}

/// The prefix of a trie key.
pub(super) fn from_key(key: &[u8]) -> Option<Prefix> {
    let bits = u32::from_ne_bytes(key.get(..4)?.try_into().ok()?).checked_sub(FAMILY_BITS)?;
    let address = match key.get(4)? {
        4 => <[u8; 4]>::try_from(key.get(5..9)?).ok()?.into(),
        _ => <[u8; 16]>::try_from(key.get(5..21)?).ok()?.into(),
    };
    Prefix::new(address, bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_prefix() {
        for text in ["10.1.0.0/16", "0.0.0.0/0", "192.0.2.1/32", "fd00::/8", "::1/128", "::/0"] {
            let prefix: Prefix = text.parse().expect("a prefix");
            assert_eq!(from_key(&key(prefix)), Some(prefix));
        }
        let mut wrong = key("10.1.0.0/16".parse().expect("a prefix"));
        wrong[..4].copy_from_slice(&(FAMILY_BITS + 33).to_ne_bytes());
        assert_eq!(from_key(&wrong), None, "IPv4 has no 33 bits");
    }
}
