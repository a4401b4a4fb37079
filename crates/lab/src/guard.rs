//! Who may ask: only who has the token, from a page of ours, under a name of ours.
//!
//! A web page elsewhere can make a browser send requests here. It cannot read the token, it cannot set the
//! field that carries it without asking first, and its `Origin` is not ours. A name elsewhere that leads here
//! (DNS rebinding) is in `Host`, which must be an address of ours. A server at all addresses of a machine
//! does not know them, but an address in `Host` is no name, so it answers to every address with its port.

use hyper::header::{HOST, HeaderMap, ORIGIN};
use std::fmt;
use std::net::SocketAddr;

/// The field that carries the token.
pub(crate) const FIELD: &str = "x-ackclock-token";
/// Random bytes of a token.
const BYTES: usize = 16;

/// What lets a browser in: random, and new for each lab.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new() -> Result<Token, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Is this the token? It takes the same time wherever the difference is.
    fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differing = own.iter().zip(given).fold(0, |sum, (own, given)| sum | (own ^ given));
        std::hint::black_box(differing) == 0 && own.len() == given.len()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The names under which this server answers, and the token.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    /// The port at all addresses of the machine, if it listens at all.
    everywhere: Option<u16>,
    token: Token,
}

impl Guard {
    /// For a server at this address.
    pub(crate) fn new(address: SocketAddr, token: Token) -> Guard {
        let port = address.port();
        let mut hosts = vec![address.to_string().to_ascii_lowercase()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            hosts.extend([format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        Guard { hosts, everywhere: address.ip().is_unspecified().then_some(port), token }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// Is the request to a name of ours, and from a page of ours if a page asks?
    pub(crate) fn is_ours(&self, fields: &HeaderMap) -> bool {
        let only = |name| {
            let mut values = fields.get_all(name).iter();
            match (values.next(), values.next()) {
                (value, None) => Some(value.map(|value| value.to_str().unwrap_or("").to_ascii_lowercase())),
                _ => None,
            }
        };
        let literal = |host: &str| host.parse::<SocketAddr>().ok().map(|address| address.port());
        let everywhere = |host: &str| self.everywhere.is_some() && literal(host) == self.everywhere;
        let known = |host: &str| self.hosts.iter().any(|own| own == host) || everywhere(host);
        let Some(Some(host)) = only(HOST) else { return false };
        let from = match only(ORIGIN) {
            Some(None) => true,
            Some(Some(origin)) => origin.strip_prefix("http://").is_some_and(|from| from == host),
            None => false,
        };
        known(&host) && from
    }

    /// Does the request carry the token?
    pub(crate) fn admits(&self, fields: &HeaderMap) -> bool {
        fields.get(FIELD).is_some_and(|given| self.token.is(given.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_new_and_long_and_only_itself() {
        let (one, other) = (Token::new().expect("random"), Token::new().expect("random"));
        assert_ne!(one.to_string(), other.to_string());
        let text = one.to_string();
        assert_eq!(text.len(), 32);
        assert!(one.is(text.as_bytes()));
        for wrong in ["", &text[1..], &format!("{text}0"), &other.to_string(), &text.to_uppercase()] {
            assert!(!one.is(wrong.as_bytes()) || *wrong == text, "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "Token", "it is in no log");
    }

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().expect("an address"), Token::new().expect("random"))
    }

    fn asks(guard: &Guard, host: &str, origin: Option<&str>) -> bool {
        let mut fields = HeaderMap::new();
        fields.insert(HOST, host.parse().expect("a value"));
        if let Some(origin) = origin {
            fields.insert(ORIGIN, origin.parse().expect("a value"));
        }
        guard.is_ours(&fields)
    }

    /// All addresses of a machine are ours, but no name is.
    #[test]
    fn everywhere_any_address_and_no_name() {
        for at in ["0.0.0.0:5312", "[::]:5312"] {
            let guard = guard(at);
            for host in ["192.0.2.7:5312", "[2001:db8::1]:5312", "127.0.0.1:5312", "localhost:5312"] {
                assert!(asks(&guard, host, Some(&format!("http://{host}"))), "{host} at {at}");
                assert!(!asks(&guard, host, Some("http://192.0.2.8:5312")), "a page of another address");
            }
            for host in ["192.0.2.7:80", "192.0.2.7", "evil.example:5312", "192.0.2.7.evil.example:5312", ""]
            {
                assert!(!asks(&guard, host, None), "{host} at {at}");
            }
        }
        assert!(!asks(&guard("192.0.2.7:5312"), "192.0.2.8:5312", None), "only where it listens");
    }

    #[test]
    fn only_our_own_names_and_pages() {
        let guard = guard("127.0.0.1:5312");
        let asked = |host: &str, origin: Option<&str>| asks(&guard, host, origin);
        for host in ["127.0.0.1:5312", "localhost:5312", "LOCALHOST:5312", "[::1]:5312"] {
            assert!(asked(host, None), "{host}");
        }
        for host in ["127.0.0.1", "127.0.0.1:80", "evil.example", "127.0.0.1.evil.example:5312", ""] {
            assert!(!asked(host, None), "{host}");
        }
        assert!(asked("127.0.0.1:5312", Some("http://127.0.0.1:5312")));
        for origin in ["null", "http://evil.example", "https://127.0.0.1:5312", "http://127.0.0.1:80", ""] {
            assert!(!asked("127.0.0.1:5312", Some(origin)), "{origin}");
        }
        assert!(!asked("127.0.0.1:5312", Some("http://localhost:5312")), "another origin for a browser");
        assert!(!guard.is_ours(&HeaderMap::new()));
    }
}
