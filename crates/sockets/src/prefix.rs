//! Networks by their prefixes, IPv4 and IPv6: towards whom something is allowed.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network, or a single host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    address: IpAddr,
    bits: u32,
}

/// A text that is no prefix.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is no network: write an address and its number of bits, such as 10.1.0.0/16 or fd00::/8")]
pub struct PrefixError {
    text: String,
}

impl Prefix {
    /// The network of an address: the first `bits` are shared. `None` if the address has fewer bits.
    pub fn new(address: IpAddr, bits: u32) -> Option<Prefix> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(match (address, address.to_canonical()) {
            // ::ffff:a.b.c.d is an IPv4 address.
            (IpAddr::V6(_), four @ IpAddr::V4(_)) if bits >= 96 => Prefix { address: four, bits: bits - 96 },
            _ => Prefix { address, bits },
        })
    }

    /// An address of the network. Only the first [`bits`](Self::bits) count.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// The number of bits that all addresses of the network share.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// True if the address is in this network. ::ffff:a.b.c.d is an IPv4 address.
    pub fn contains(self, address: IpAddr) -> bool {
        let differ = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            _ => return false,
        };
        differ >= self.bits
    }
}

/// True if one of the networks contains the address. No network contains none.
pub fn covers(networks: &[Prefix], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Prefix, PrefixError> {
        let wrong = || PrefixError { text: text.to_owned() };
        let (address, length) = text.split_once('/').map_or((text, None), |(it, bits)| (it, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = match length {
            None if address.is_ipv4() => 32,
            None => 128,
            Some(digits) if digits.bytes().all(|it| it.is_ascii_digit()) => {
                digits.parse().map_err(|_| wrong())?
            }
            Some(_) => return Err(wrong()),
        };
        Prefix::new(address, bits).ok_or_else(wrong)
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
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn prefixes_read_as_they_are_written() {
        for text in ["10.1.0.0/16", "0.0.0.0/0", "192.0.2.1/32", "fd00::/8", "::1/128", "::/0"] {
            assert_eq!(prefix(text).to_string(), text);
        }
        assert_eq!(prefix("192.0.2.1").to_string(), "192.0.2.1/32");
        assert_eq!(prefix("::ffff:10.0.0.0/104").to_string(), "10.0.0.0/8");
        for text in ["", "10.1.0.0/33", "fd00::/129", "10.1/8", "host/8", "::1/-1", "10.0.0.0/+8", "1.2.3.4/"]
        {
            let error = text.parse::<Prefix>().expect_err(text);
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn a_network_contains_its_own() {
        let contains =
            |network: &str, address: &str| prefix(network).contains(address.parse().expect(address));
        assert!(contains("10.1.0.0/16", "10.1.255.255") && !contains("10.1.0.0/16", "10.2.0.0"));
        assert!(contains("10.1.2.3/16", "10.1.0.0"), "bits of the host do not count");
        assert!(contains("10.1.0.0/16", "::ffff:10.1.0.1") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fd00::/8", "fdff::1") && !contains("::/0", "10.0.0.1"));
        assert!(contains("::1", "::1") && !contains("::1", "::2"));
        assert!(!covers(&[], "10.0.0.1".parse().expect("an address")));
    }

    proptest! {
        /// A prefix contains exactly the addresses with its first bits.
        #[test]
        fn bits_are_compared_from_the_first(own: u32, other: u32, bits in 0u32..=32) {
            let network = prefix(&format!("{}/{bits}", std::net::Ipv4Addr::from_bits(own)));
            let naive = (0..bits).all(|bit| (own ^ other) >> (31 - bit) & 1 == 0);
            prop_assert_eq!(network.contains(IpAddr::V4(std::net::Ipv4Addr::from_bits(other))), naive);
        }
    }
}
