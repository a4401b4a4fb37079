//! Destinations: an IPv6 prefix, or an IPv4 one as ::ffff:a.b.c.d.

use super::LoadError;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A network of destinations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    address: Ipv6Addr,
    bits: u32,
}

impl Prefix {
    /// `struct ac_prefix`, the key of the trie.
    pub(super) fn key(self) -> [u8; 20] {
        let mut key = [0; 20];
        key[..4].copy_from_slice(&self.bits.to_ne_bytes());
        key[4..].copy_from_slice(&self.address.octets());
        key
    }

    /// From such a key.
    pub(super) fn from_key(key: &[u8]) -> Option<Prefix> {
        let bits = u32::from_ne_bytes(key.get(..4)?.try_into().ok()?);
        let address = <[u8; 16]>::try_from(key.get(4..20)?).ok()?;
        Some(Prefix { address: address.into(), bits })
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
        let length = length.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if length > most {
            return Err(wrong());
        }
        let address = match address {
            IpAddr::V4(four) => four.to_ipv6_mapped(),
            IpAddr::V6(six) => six,
        };
        Ok(Prefix { address, bits: 128 - most + length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address.to_ipv4_mapped() {
            Some(four) if self.bits >= 96 => write!(f, "{four}/{}", self.bits - 96),
            _ => write!(f, "{}/{}", self.address, self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_read_as_they_are_written() {
        for text in ["10.1.0.0/16", "0.0.0.0/0", "192.0.2.1/32", "fd00::/8", "::1/128"] {
            let prefix: Prefix = text.parse().expect("a prefix");
            assert_eq!(prefix.to_string(), text);
            assert_eq!(Prefix::from_key(&prefix.key()), Some(prefix));
        }
        assert_eq!("192.0.2.1".parse::<Prefix>().expect("a host").to_string(), "192.0.2.1/32");
        for text in ["", "10.1.0.0/33", "fd00::/129", "10.1/8", "host/8", "::1/-1"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
