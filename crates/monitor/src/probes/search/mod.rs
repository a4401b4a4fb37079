//! A search, by datagrams, for the rate at which losses begin.
//!
//! It goes to a monitor with a sink, and in rounds: a train of datagrams at one rate, then the sink's report
//! of what arrived. Rates double until a round shows losses, and then halve the interval. Everything but the
//! datagrams goes over a TCP connection, so both ends are where they say they are. The sink draws a cookie,
//! which each datagram must show. Over the connection it renews its consent, and its source stops when that
//! runs out: nobody can be sent datagrams who does not take part.

pub(crate) mod lines;
mod rates;
pub(super) mod sink;
pub(super) mod source;

#[cfg(test)]
pub(super) use rates::Rates;
pub(crate) use source::search;

use std::time::Duration;

/// The first word of both sides. Its length is that of a transfer's first word, so that a sink reads either.
pub(super) const PROTOCOL: &str = "ackclock-datagram/1";
/// What a sink says that takes no searches, or that has one already.
const REFUSED: &str = "refused";
/// A sink renews its consent as often.
const RENEWAL: Duration = Duration::from_millis(500);
/// A source goes on for so long after the last renewal.
const CONSENT: Duration = Duration::from_millis(1500);
const _: () = assert!(RENEWAL.as_millis() < CONSENT.as_millis());
/// The content of a datagram, bytes: it fits through tunnels.
const PAYLOAD: usize = 1400;
/// Headers of UDP and of IPv4 or IPv6, bytes.
const HEADER: [usize; 2] = [28, 48];
/// A cookie, the number of the round.
const SHOWN: usize = 20;

/// 128 random bits.
type Cookie = [u8; 16];

/// A datagram of a round.
fn datagram(cookie: &Cookie, round: u32) -> Vec<u8> {
    let mut bytes = vec![0; PAYLOAD];
    bytes[..16].copy_from_slice(cookie);
    bytes[16..SHOWN].copy_from_slice(&round.to_be_bytes());
    bytes
}

/// The round of a datagram that shows this cookie.
fn round_of(cookie: &Cookie, datagram: &[u8]) -> Option<u32> {
    let shown = datagram.get(..SHOWN)?;
    let round = shown[16..].try_into().ok()?;
    (datagram.len() == PAYLOAD && shown[..16] == cookie[..]).then(|| u32::from_be_bytes(round))
}

/// As hexadecimal digits.
fn hex(cookie: &Cookie) -> String {
    cookie.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// From hexadecimal digits.
fn unhex(text: &str) -> Option<Cookie> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_datagrams_with_the_cookie_count() {
        let cookie = [7; 16];
        let right = datagram(&cookie, 9);
        assert_eq!(round_of(&cookie, &right), Some(9));
        assert_eq!(round_of(&[8; 16], &right), None);
        assert_eq!(round_of(&cookie, &right[..SHOWN]), None);
        assert_eq!(round_of(&cookie, b""), None);
        assert_eq!(unhex(&hex(&cookie)), Some(cookie));
        assert_eq!((unhex("07"), unhex(&"g".repeat(32)), unhex(&"é".repeat(16))), (None, None, None));
    }
}
