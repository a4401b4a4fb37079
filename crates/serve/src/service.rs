//! What is answered to a request.

use crate::body::{Answer, Part};
use crate::connection::{End, Response as Writing, Shared};
use crate::content::Content;
use crate::directives::number;
use crate::files::{Found, Missing, Tree};
use crate::log::Entry;
use crate::pacing::{Asked, Burst, BurstError, Pacing};
use ackclock_scenario::writing::Timetable;
use ackclock_sockets::{Alarm, TcpInfo};
use ackclock_units::Time;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{
    ACCEPT_RANGES, ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, RANGE, TRANSFER_ENCODING,
};
use hyper::{Method, Request, Response, StatusCode};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;

/// The longest method and the longest path that are told in the log, bytes.
const TOLD: usize = 1024;

/// The requests of one connection.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) tree: Arc<Tree>,
    pub(crate) pacing: Pacing,
    pub(crate) peer: SocketAddr,
    pub(crate) stream: Arc<TcpStream>,
    pub(crate) shared: Arc<Shared>,
}

/// A request that gets no file: the status, and a plain sentence.
type Refusal = (StatusCode, String);

/// What is sent of a file.
struct Chosen {
    found: Found,
    /// The first byte, and the one behind the last.
    part: (u64, u64),
    status: StatusCode,
    burst: Option<Burst>,
}

impl Answers {
    /// Answers one request.
    pub(crate) fn answer(&self, request: &Request<Incoming>) -> Response<Answer> {
        let begun = Instant::now();
        let chosen = self.choose(request);
        let (status, burst) = match &chosen {
            Ok(chosen) => (chosen.status, chosen.burst),
            Err((status, _)) => (*status, None),
        };
        self.begin(request, begun, status, burst);
        let mut response = match chosen {
            Ok(chosen) if request.method() == Method::HEAD => self.head(&chosen),
            Ok(chosen) => self.content(chosen, begun).unwrap_or_else(|refusal| self.refuse(refusal)),
            Err(refusal) => self.refuse(refusal),
        };
        if has_body(request) {
            // What follows is not a request's head, and is never read.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn choose(&self, request: &Request<Incoming>) -> Result<Chosen, Refusal> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are possible".to_owned()));
        }
        if has_body(request) {
            return Err(bad("a request for a file has no content".to_owned()));
        }
        let burst = self.pacing.of(asked(request.headers())?).map_err(bad)?;
        let found = self.tree.find(request.uri().path()).map_err(|missing| match missing {
            Missing::NotFound => (StatusCode::NOT_FOUND, "there is no such file".to_owned()),
            Missing::Forbidden => (StatusCode::FORBIDDEN, "this file may not be read".to_owned()),
            Missing::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "the file cannot be read now".to_owned())
            }
        })?;
        let whole = (0, found.size);
        let (part, status) = match request.headers().get(RANGE).map(|range| part(range, found.size)) {
            None | Some(Range::Whole) => (whole, StatusCode::OK),
            Some(Range::Part(from, end)) => ((from, end), StatusCode::PARTIAL_CONTENT),
            Some(Range::Outside) => {
                let text = format!("the file has {} bytes", found.size);
                return Err((StatusCode::RANGE_NOT_SATISFIABLE, text));
            }
        };
        Ok(Chosen { found, part, status, burst })
    }

    /// Notes that a response begins.
    fn begin(&self, request: &Request<Incoming>, begun: Instant, status: StatusCode, burst: Option<Burst>) {
        let mut state = self.shared.state();
        state.requests += 1;
        let entry = Entry {
            peer: self.peer,
            request: state.requests,
            method: request.method().as_str().chars().take(TOLD).collect(),
            path: request.uri().path().chars().take(TOLD).collect(),
            status: status.as_u16(),
            bytes: 0,
            burst,
            bursts: 0,
            failed_cycles: 0,
            duration: std::time::Duration::ZERO,
            retransmissions: 0,
            control: String::new(),
            complete: false,
        };
        state.respond(Writing {
            entry,
            begun,
            retransmissions: TcpInfo::of(self.stream.as_fd()).total_retrans,
            timetable: None,
            given: 0,
            ends: Some(End::Response),
            waiting: None,
            accepted: Time::ZERO,
        });
    }

    fn head(&self, chosen: &Chosen) -> Response<Answer> {
        let mut response = described(chosen, Answer::Text(None));
        let length = chosen.part.1 - chosen.part.0;
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
        response
    }

    fn content(&self, chosen: Chosen, begun: Instant) -> Result<Response<Answer>, Refusal> {
        let (from, end) = chosen.part;
        if from == end {
            return Ok(described(&chosen, Answer::Text(None)));
        }
        let alarm = match chosen.burst {
            Some(burst) => Some((burst.size(), alarm(begun).map_err(|_| busy())?)),
            None => None,
        };
        let mut state = self.shared.state();
        if let Some(writing) = &mut state.response {
            writing.ends = None;
            writing.timetable =
                chosen.burst.map(|burst| Timetable::new(burst.bursts_of(end - from), Time::ZERO));
        }
        drop(state);
        let mut response = described(&chosen, Answer::Text(None));
        let content = Content::new(chosen.found.file, from, end);
        *response.body_mut() = Answer::File(Part::new(content, self.shared.clone(), alarm));
        Ok(response)
    }

    fn refuse(&self, (status, text): Refusal) -> Response<Answer> {
        let text = Bytes::from(text + "\n");
        if let Some(writing) = &mut self.shared.state().response {
            writing.entry.status = status.as_u16();
            writing.given = text.len() as u64;
        }
        let mut response = Response::new(Answer::Text(Some(text)));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

fn bad(text: String) -> Refusal {
    (StatusCode::BAD_REQUEST, text)
}

fn busy() -> Refusal {
    (StatusCode::SERVICE_UNAVAILABLE, "too many files are open".to_owned())
}

/// A timer whose clock showed zero at `begun`.
#[allow(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
fn alarm(begun: Instant) -> std::io::Result<AsyncFd<Alarm>> {
    // SAFETY: an alarm owns its descriptor, and always gives the same one.
    let registered = unsafe { AsyncFd::register_with_interest(Alarm::since(begun)?, Interest::READABLE) };
    registered.map_err(|error| error.into_parts().1)
}

fn has_body(request: &Request<Incoming>) -> bool {
    request.headers().contains_key(TRANSFER_ENCODING) || !request.body().is_end_stream()
}

/// A response that describes the file.
fn described(chosen: &Chosen, answer: Answer) -> Response<Answer> {
    let mut response = Response::new(answer);
    *response.status_mut() = chosen.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(chosen.found.kind));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if chosen.status == StatusCode::PARTIAL_CONTENT {
        let (from, end) = chosen.part;
        let range = format!("bytes {from}-{}/{}", end - 1, chosen.found.size);
        headers.extend(HeaderValue::from_str(&range).ok().map(|range| (CONTENT_RANGE, range)));
    }
    response
}

/// What a request asks for: `Burst`, as `--burst` has it, or `Rate`, bytes, and `Period`, microseconds. All
/// hold for this request only.
fn asked(headers: &HeaderMap) -> Result<Asked, Refusal> {
    if let Some(value) = headers.get("burst") {
        if ["burst", "rate", "period"].iter().map(|name| headers.get_all(*name).iter().count()).sum::<usize>()
            > 1
        {
            return Err(bad("Burst is there once, and then without Rate and Period".to_owned()));
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        let burst: Burst = text.parse().map_err(|error: BurstError| bad(format!("Burst: {error}")))?;
        return Ok(Asked { size: Some(burst.size()), period_us: Some(burst.every().as_nanos() / 1000) });
    }
    let field = |name: &'static str, unit| {
        let mut values = headers.get_all(HeaderName::from_static(name)).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(value), None) => value.to_str().ok().and_then(|text| number(text.trim())),
            (Some(_), Some(_)) => None,
        };
        value.map(Some).ok_or_else(|| bad(format!("{name} takes one number of {unit}")))
    };
    Ok(Asked { size: field("rate", "bytes")?, period_us: field("period", "microseconds")? })
}

/// What a Range field means for a file of this size (RFC 9110, section 14.2). Several parts at once are not
/// served, as a server may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Range {
    Whole,
    /// The first byte, and the one behind the last.
    Part(u64, u64),
    Outside,
}

fn part(range: &HeaderValue, size: u64) -> Range {
    let text = range.to_str().ok().and_then(|text| text.strip_prefix("bytes="));
    let Some((first, last)) = text.and_then(|text| text.trim().split_once('-')) else { return Range::Whole };
    let (from, end) = match (number(first), number(last)) {
        (Some(from), Some(last)) if from <= last => (from, last.saturating_add(1).min(size)),
        (Some(from), None) if last.is_empty() => (from, size),
        (None, Some(suffix)) if first.is_empty() => (size.saturating_sub(suffix), size),
        _ => return Range::Whole,
    };
    if from < end { Range::Part(from, end) } else { Range::Outside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let of = |text: &'static str| part(&HeaderValue::from_static(text), 1000);
        assert_eq!(of("bytes=0-99"), Range::Part(0, 100));
        assert_eq!(of("bytes=999-5000"), Range::Part(999, 1000));
        assert_eq!((of("bytes=990-"), of("bytes=-10")), (Range::Part(990, 1000), Range::Part(990, 1000)));
        assert_eq!((of("bytes=-5000"), of("bytes=-0")), (Range::Part(0, 1000), Range::Outside));
        assert_eq!((of("bytes=1000-"), of("bytes=1000-1001")), (Range::Outside, Range::Outside));
        for whole in ["bytes=5-4", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b", "bytes=-", "bytes=+1-2"] {
            assert_eq!(of(whole), Range::Whole, "{whole}");
        }
    }

    #[test]
    fn fields_are_single_numbers() {
        let headers = |fields: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            asked(&headers)
        };
        let both = Asked { size: Some(64_000), period_us: Some(10_000) };
        assert_eq!(headers(&[("rate", "64000"), ("period", "10000")]), Ok(both));
        assert_eq!(headers(&[]), Ok(Asked::default()));
        for wrong in ["", "-1", "64000 B", "0x10", "6e4", "99999999999999999999"] {
            assert!(headers(&[("rate", wrong)]).is_err(), "{wrong}");
        }
        assert!(headers(&[("period", "1000"), ("period", "1000")]).is_err());
        assert_eq!(headers(&[("burst", "64 kB/10 ms")]), Ok(both));
        for wrong in [("burst", "64 kB/10 ms"), ("rate", "64000"), ("period", "10000")] {
            assert!(headers(&[("burst", "64 kB/10 ms"), wrong]).is_err(), "{wrong:?}");
        }
        assert!(headers(&[("burst", "64000/10000")]).is_err(), "without units");
    }
}
