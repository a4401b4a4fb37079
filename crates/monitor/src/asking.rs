//! Asks a monitor that publishes, over HTTP (RFC 9112).

use ackclock_sockets::Timed;
use hyper::Uri;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a connection may take, and all of the answer: a forecast takes its time.
const CONNECT: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(40);
/// The longest answer, bytes.
const LONGEST: u64 = 1 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// This is no address of a monitor.
    #[error("\"{0}\" is no address of a monitor")]
    Address(String),
    /// It does not answer.
    #[error("{address} does not answer: {error}")]
    Silent {
        /// The monitor's address.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// It answers something else.
    #[error("{0} answers, but not as a monitor does")]
    Foreign(String),
    /// It refuses.
    #[error("{address} says: {text}")]
    Refused {
        /// The monitor's address.
        address: String,
        /// Its words.
        text: String,
    },
}

/// A value within a query (RFC 3986, section 2.1).
pub fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Asks the monitor at `base`, such as `http://127.0.0.1:5311`, for `path`: the answer's content.
///
/// # Errors
///
/// [`AskError`] if there is no answer, or none of a monitor, or a refusal.
pub fn ask(base: &str, path: &str) -> Result<String, AskError> {
    let wrong = || AskError::Address(base.to_owned());
    let uri: Uri = base.parse().map_err(|_| wrong())?;
    let authority = uri.authority().ok_or_else(wrong)?;
    if uri.scheme_str() != Some("http") || uri.path() != "/" || uri.query().is_some() {
        return Err(wrong());
    }
    let address = authority.as_str().to_owned();
    // An address of IPv6 stands in brackets.
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    let silent = |error| AskError::Silent { address: address.clone(), error };
    let bytes = exchange(&host, authority.port_u16().unwrap_or(80), &address, path).map_err(silent)?;
    let (status, content) = parsed(&bytes).ok_or_else(|| AskError::Foreign(address.clone()))?;
    let content = String::from_utf8_lossy(content).into_owned();
    match status {
        200 => Ok(content),
        // What a stranger says goes to a terminal: no control characters.
        _ => {
            let text = content.trim().chars().filter(|it| !it.is_control()).take(300).collect();
            Err(AskError::Refused { address, text })
        }
    }
}

/// Sends a request, and reads until the other end hangs up.
fn exchange(host: &str, port: u16, authority: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut last = io::Error::new(ErrorKind::NotFound, "this host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Err(error) => last = error,
            Ok(stream) => {
                let mut stream = Timed::new(stream, PATIENCE);
                write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n")?;
                let mut bytes = Vec::new();
                stream.take(LONGEST).read_to_end(&mut bytes)?;
                return Ok(bytes);
            }
        }
    }
    Err(last)
}

/// The status and the content of a response that has one of a known length.
fn parsed(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(head) = response.parse(bytes).ok()? else { return None };
    let length = response.headers.iter().find(|it| it.name.eq_ignore_ascii_case("content-length"))?;
    let length: usize = std::str::from_utf8(length.value).ok()?.trim().parse().ok()?;
    Some((response.code?, bytes.get(head..head.checked_add(length)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_are_read_whole_or_not_at_all() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{}\n\nmore";
        assert_eq!(parsed(text), Some((200, &b"{}\n\n"[..])));
        assert_eq!(parsed(&text[..text.len() - 5]), None, "cut off");
        assert_eq!(parsed(b"HTTP/1.1 200 OK\r\n\r\n{}"), None, "of unknown length");
        assert_eq!(parsed(b"SSH-2.0-OpenSSH\r\n"), None);
        assert_eq!(parsed(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx"), None);
    }

    #[test]
    fn addresses_are_urls_without_a_path() {
        for wrong in ["far", "https://far", "http://far/x", "http://", "http://far/?a", "ftp://far", ""] {
            assert!(matches!(ask(wrong, "/"), Err(AskError::Address(_))), "{wrong}");
        }
        assert_eq!(encoded("a b/ü&"), "a%20b%2F%C3%BC%26");
    }

    proptest! {
        #[test]
        fn garbage_is_no_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(parsed(&bytes), None);
        }
    }
}
