//! Destination prefixes, IPv4 and IPv6.

use super::LoadError;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The size of `struct ac_prefix`, bytes.
const KEY: usize = 24;
/// The bits of the address family before the address.
const FAMILY_BITS: u32 = 8;

/// A destination network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    address: IpAddr,
    bits: u32,
}

impl Prefix {
    /// `struct ac_prefix`, the key of the trie.
    pub(super) fn key(self) -> [u8; KEY] {
        let mut key = [0; KEY];
        key[..4].copy_from_slice(&(FAMILY_BITS + self.bits).to_ne_bytes());
        match self.address {
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
        Some(Prefix { address, bits })
    }
}

impl FromStr for Prefix {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Prefix, LoadError> {
        let wrong = || LoadError::Prefix { text: text.to_owned() };
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = length.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        match (address, address.to_canonical()) {
            _ if bits > most => Err(wrong()),
            // ::ffff:a.b.c.d is an IPv4 address.
            (IpAddr::V6(_), four @ IpAddr::V4(_)) if bits >= 96 => {
                Ok(Prefix { address: four, bits: bits - 96 })
            }
            _ => Ok(Prefix { address, bits }),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_read_as_they_are_written() {
        for text in ["10.1.0.0/16", "0.0.0.0/0", "192.0.2.1/32", "fd00::/8", "::1/128", "::/0"] {
            let prefix: Prefix = text.parse().expect("a prefix");
            assert_eq!(prefix.to_string(), text);
            assert_eq!(Prefix::from_key(&prefix.key()), Some(prefix));
        }
        assert_eq!("192.0.2.1".parse::<Prefix>().expect("a host").to_string(), "192.0.2.1/32");
        assert_eq!("::ffff:10.0.0.0/104".parse::<Prefix>().expect("IPv4").to_string(), "10.0.0.0/8");
        for text in ["", "10.1.0.0/33", "fd00::/129", "10.1/8", "host/8", "::1/-1"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
