//! What is answered to a request.

use super::query::Query;
use super::{metrics, page};
use crate::advice::Path as Measured;
use crate::archive::{Archive, ArchiveError, Known};
use crate::document::{advice_document, forecast_document, info_document};
use crate::forecast::{controls, forecast};
use crate::reading::report;
use crate::sample::Moment;
use ackclock_study::run::RunError;
use ackclock_units::{Bytes, Duration};
use hyper::body::{Body, Bytes as Data, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The largest size that is forecast, and how long that may take: it keeps a processor busy.
const LARGEST: Bytes = Bytes(100_000_000);
const FORECAST: std::time::Duration = std::time::Duration::from_secs(20);
/// The longest time that is averaged over: samples are no older.
const LONGEST: Duration = crate::archive::RAW;
/// Unless something else is asked for: an hour, the size of the thesis's file, its period of bursts.
const HOUR: Duration = Duration::from_secs(3600);
const SIZE: Bytes = Bytes(422_000);
const BURST: Duration = Duration::from_millis(10);

/// What every answer says: it is for nobody's cache, nothing in it is run or fetched from elsewhere, and it
/// is shown within no other page.
const FIELDS: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
];

/// A request that gets nothing: the status, and a plain sentence.
pub(super) type Refusal = (StatusCode, String);

pub(super) fn bad(text: String) -> Refusal {
    (StatusCode::BAD_REQUEST, text)
}

fn missing(text: String) -> Refusal {
    (StatusCode::NOT_FOUND, text)
}

fn unavailable(text: &str) -> Refusal {
    (StatusCode::SERVICE_UNAVAILABLE, text.to_owned())
}

/// The content of an answer, and its media type.
pub(super) struct Reply {
    kind: &'static str,
    content: String,
}

/// The content as hyper writes it. `None`: all of it was given.
pub(super) struct Content(Option<Data>);

impl Body for Content {
    type Data = Data;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Data>, Infallible>>> {
        Poll::Ready(self.0.take().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Data::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, Data::len) as u64)
    }
}

impl Reply {
    fn json(value: &Value) -> Reply {
        Reply { kind: "application/json", content: format!("{value}\n") }
    }

    /// As a response. A refusal is a plain sentence. hyper leaves the content out where HEAD was asked.
    pub(super) fn response(reply: Result<Reply, Refusal>, method: &Method) -> Response<Content> {
        let (status, reply) = match reply {
            Ok(reply) => (StatusCode::OK, reply),
            Err((status, text)) => {
                (status, Reply { kind: "text/plain; charset=utf-8", content: format!("{text}\n") })
            }
        };
        let mut response = Response::new(Content(Some(Data::from(reply.content))));
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(reply.kind));
        for (name, value) in FIELDS {
            fields.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if status == StatusCode::METHOD_NOT_ALLOWED && method != Method::HEAD {
            fields.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

/// What answers need.
#[derive(Debug)]
pub(super) struct Answers {
    archive: PathBuf,
    names: Vec<String>,
    /// One forecast at a time.
    forecasting: Arc<Semaphore>,
}

impl Answers {
    pub(super) fn new(archive: &Path, names: &[String]) -> Answers {
        let forecasting = Arc::new(Semaphore::new(1));
        Answers { archive: archive.to_owned(), names: names.to_vec(), forecasting }
    }

    /// Answers a request.
    pub(super) async fn answer<B>(&self, request: &Request<B>) -> Result<Reply, Refusal> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are possible".to_owned()));
        }
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = hosts.next().and_then(|value| value.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.is_ours(host)) {
            let text = "this host is asked by another name: [publish] names lists those that are answered";
            return Err((StatusCode::MISDIRECTED_REQUEST, text.to_owned()));
        }
        let (path, query) = (request.uri().path(), request.uri().query().map(str::to_owned));
        let query = query.as_deref();
        let archive = self.archive.clone();
        match path {
            "/style.css" => Ok(Reply { kind: "text/css", content: page::STYLE.to_owned() }),
            "/metrics" => {
                Query::read(query, &[])?;
                let kind = "text/plain; version=0.0.4; charset=utf-8";
                reading(move || {
                    Ok(Reply {
                        kind,
                        content: metrics::metrics(&open(&archive)?, Moment::now()).map_err(unreadable)?,
                    })
                })
                .await
            }
            "/" => {
                let host = Query::read(query, &["host"])?.one("host")?.map(str::to_owned);
                let kind = "text/html; charset=utf-8";
                reading(move || {
                    let archive = open(&archive)?;
                    let host = host.map(|host| find(&archive, &host)).transpose()?;
                    Ok(Reply {
                        kind,
                        content: page::page(&archive, host.as_ref(), Moment::now()).map_err(unreadable)?,
                    })
                })
                .await
            }
            "/api/v1/info" => {
                let query = Query::read(query, &["host", "duration"])?;
                let span = query.quantity("duration", HOUR)?.min(LONGEST);
                let host = query.one("host")?.map(str::to_owned);
                reading(move || info(&open(&archive)?, host.as_deref(), span)).await
            }
            "/api/v1/advice" => {
                let query = Query::read(query, &["host", "every", "period"])?;
                if query.one("every")?.is_some() && query.one("period")?.is_some() {
                    return Err(bad("every and period mean the same: one of them is enough".to_owned()));
                }
                let burst = query.quantity("every", query.quantity("period", BURST)?)?;
                let host = wanted(&query)?;
                reading(move || {
                    let (archive, now) = (open(&archive)?, Moment::now());
                    let host = find(&archive, &host)?;
                    let report = report(&archive, &host, burst, now).map_err(unreadable)?;
                    Ok(Reply::json(&advice_document(&report, now)))
                })
                .await
            }
            "/api/v1/forecast" => self.forecast(query).await,
            _ => Err(missing("there is /, /metrics, and /api/v1/info, forecast and advice".to_owned())),
        }
    }

    /// Is this one of this host's names? An address cannot be somebody else's name.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.to_ascii_lowercase();
        let address = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(&name);
        name == "localhost" || address.parse::<IpAddr>().is_ok() || self.names.contains(&name)
    }

    async fn forecast(&self, query: Option<&str>) -> Result<Reply, Refusal> {
        let query = Query::read(query, &["host", "size", "control"])?;
        let size = query.quantity("size", SIZE)?;
        if size.0 == 0 || size > LARGEST {
            return Err(bad(format!("size is from 1 B to {} B", LARGEST.0)));
        }
        let host = wanted(&query)?;
        let all = controls();
        let known = |name: &str| all.iter().copied().find(|it| *it == name);
        let chosen: Option<Vec<&'static str>> = query.all("control").map(known).collect();
        let chosen = chosen.ok_or_else(|| bad(format!("controllers are {}", all.join(", "))))?;
        let chosen = if chosen.is_empty() { all } else { chosen };
        let Ok(_alone) = self.forecasting.clone().try_acquire_owned() else {
            return Err(unavailable("another forecast is being made: try again"));
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (archive, stopped) = (self.archive.clone(), stop.clone());
        let made = reading(move || {
            let archive = open(&archive)?;
            let (host, now) = (find(&archive, &host)?, Moment::now());
            let advice = report(&archive, &host, BURST, now).map_err(unreadable)?.advice;
            let path = advice.path.map_err(|unknown| missing(format!("the path is not known: {unknown}")))?;
            predicted(&host, &path.value, size, &chosen, &stopped)
        });
        match timeout(FORECAST, made).await {
            Ok(made) => made,
            Err(_) => {
                stop.store(true, Ordering::Relaxed);
                Err(unavailable("this takes too long: ask for a smaller size, or for fewer controllers"))
            }
        }
    }
}

fn predicted(
    host: &Known,
    path: &Measured,
    size: Bytes,
    chosen: &[&'static str],
    stop: &AtomicBool,
) -> Result<Reply, Refusal> {
    let forecasts = forecast(path, size, chosen, stop).map_err(|error| match error {
        RunError::Interrupted => unavailable("interrupted"),
        RunError::Scenario(_) | RunError::Capture(_) | RunError::Unfit(_) => {
            unavailable("this path cannot be simulated")
        }
    })?;
    let mut document = forecast_document(size, &forecasts);
    document["host"] = json!(host.name);
    Ok(Reply::json(&document))
}

/// Runs what blocks in a thread of its own.
async fn reading(read: impl FnOnce() -> Result<Reply, Refusal> + Send + 'static) -> Result<Reply, Refusal> {
    spawn_blocking(read).await.unwrap_or_else(|_| Err(unavailable("this answer could not be made")))
}

fn open(path: &Path) -> Result<Archive, Refusal> {
    Archive::open(path).map_err(unreadable)
}

/// The reason is the monitor's business: it may name paths.
fn unreadable(_: ArchiveError) -> Refusal {
    unavailable("the archive cannot be read now")
}

fn wanted(query: &Query) -> Result<String, Refusal> {
    query.one("host")?.map(str::to_owned).ok_or_else(|| bad("which host? host=NAME is missing".to_owned()))
}

fn find(archive: &Archive, wanted: &str) -> Result<Known, Refusal> {
    let hosts = archive.hosts().map_err(unreadable)?;
    let found = hosts.iter().find(|it| it.name == wanted || it.address == wanted);
    let names = || hosts.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    found.cloned().ok_or_else(|| missing(format!("there is no such host; there is {}", names())))
}

/// What is known of one host, or of all.
fn info(archive: &Archive, host: Option<&str>, span: Duration) -> Result<Reply, Refusal> {
    let now = Moment::now();
    let one = |host: &Known| info_document(archive, host, span, now).map_err(unreadable);
    let value = match host {
        Some(host) => one(&find(archive, host)?)?,
        None => {
            let hosts = archive.hosts().map_err(unreadable)?;
            json!({ "hosts": hosts.iter().map(one).collect::<Result<Vec<Value>, Refusal>>()? })
        }
    };
    Ok(Reply::json(&value))
}
