//! What is answered to a request.

use crate::Emulator;
use crate::edit;
use crate::fields::Names;
use crate::gallery::Gallery;
use crate::guard::Guard;
use crate::limits::{Limits, VARIANTS};
use crate::pages::page;
use crate::problem::Problem;
use crate::running::{Asked, Runs};
use crate::stream::{Content, events};
use ackclock_scenario::Document;
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long the content of a request may take.
const FOR_BODY: Duration = Duration::from_secs(10);

/// What every answer says: it is for nobody's cache, only our own scripts run, nothing is fetched from
/// elsewhere, no other page shows it, and nobody learns its address.
const FIELDS: [(&str, &str); 8] = [
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// What answers need.
pub(crate) struct Answers {
    pub(crate) guard: Guard,
    pub(crate) runs: Arc<Runs>,
    pub(crate) emulator: Option<Arc<dyn Emulator>>,
    names: Arc<Names>,
    gallery: Arc<Gallery>,
    /// The scenario with which a page begins.
    scenario: String,
}

/// An answer: the status, the media type, and the content.
type Answer = (StatusCode, &'static str, Content);

fn text(status: StatusCode, text: impl Into<String>) -> Answer {
    (status, TEXT, Content::Text(Some(Bytes::from(text.into() + "\n"))))
}

fn json(value: &Json) -> Answer {
    (StatusCode::OK, JSON, Content::Text(Some(Bytes::from(value.to_string()))))
}

/// A problem of the scenario is no failure of the server.
fn problem(problem: &Problem) -> Answer {
    json(&json!({"problem": problem}))
}

/// A change of a text by the form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    text: String,
    /// Each a path and its new value; null: none.
    #[serde(default)]
    set: Vec<(Vec<String>, Json)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    id: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    /// "report", or the name of a picture.
    what: String,
    run: Json,
}

impl Answers {
    pub(crate) fn new(
        guard: Guard,
        limits: Limits,
        gallery: Gallery,
        scenario: String,
        emulator: Option<Arc<dyn Emulator>>,
    ) -> Answers {
        let (names, gallery) = (Arc::new(Names::new()), Arc::new(gallery));
        Answers { guard, runs: Arc::new(Runs::new(limits)), emulator, names, gallery, scenario }
    }

    /// Answers a request.
    pub(crate) async fn response<B: Body>(&self, request: Request<B>) -> Response<Content> {
        let (status, kind, content) = self.answer(request).await;
        let mut response = Response::new(content);
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        for (name, value) in FIELDS {
            fields.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            fields.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
        }
        response
    }

    async fn answer<B: Body>(&self, request: Request<B>) -> Answer {
        if !self.guard.is_ours(request.headers()) {
            return text(
                StatusCode::MISDIRECTED_REQUEST,
                "this is asked by another name, or by another page",
            );
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let reads = method == Method::GET || method == Method::HEAD;
        if let Some((kind, page)) = page(&path) {
            return match reads {
                true => (StatusCode::OK, kind, Content::Text(Some(Bytes::from_static(page.as_bytes())))),
                false => text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are possible here"),
            };
        }
        if !path.starts_with("/api/") {
            return text(StatusCode::NOT_FOUND, "there is nothing here");
        }
        if !self.guard.admits(request.headers()) {
            let words = "open the address that `ackclock lab` has printed: it carries what lets you in";
            return text(StatusCode::FORBIDDEN, words);
        }
        match (&*path, method) {
            ("/api/start", Method::GET) => self.start(),
            ("/api/gallery", Method::GET) => json(&self.gallery.list()),
            ("/api/start" | "/api/gallery", _) => {
                text(StatusCode::METHOD_NOT_ALLOWED, "only GET is possible here")
            }
            (_, Method::POST) => {
                let json = request.headers().get(CONTENT_TYPE).is_some_and(|it| it == JSON);
                if !json {
                    return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "JSON is wanted");
                }
                match timeout(FOR_BODY, content(request, self.runs.limits().body)).await {
                    Err(_) => text(StatusCode::REQUEST_TIMEOUT, "the content took too long"),
                    Ok(None) => text(StatusCode::PAYLOAD_TOO_LARGE, "the content is too long"),
                    Ok(Some(body)) => self.post(&path, body).await,
                }
            }
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "only POST is possible here"),
        }
    }

    fn start(&self) -> Answer {
        json(&json!({
            "text": self.scenario, "emulate": self.emulator.is_some(), "variants": VARIANTS,
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    async fn post(&self, path: &str, body: Vec<u8>) -> Answer {
        match path {
            "/api/form" => self.form(body).await,
            "/api/scenario" => self.chosen(body).await,
            "/api/run" => self.run(&body, false),
            "/api/emulate" => self.run(&body, true),
            "/api/export" => self.export(body).await,
            _ => text(StatusCode::NOT_FOUND, "there is nothing here"),
        }
    }

    /// Changes a text, and tells what the form shows of it.
    async fn form(&self, body: Vec<u8>) -> Answer {
        let (names, limits) = (self.names.clone(), *self.runs.limits());
        blocking(move || {
            let change: Change = match serde_json::from_slice(&body) {
                Ok(change) => change,
                Err(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
            };
            let edited =
                change.set.iter().try_fold(change.text, |text, (path, value)| edit::set(&text, path, value));
            let edited = match edited {
                Ok(edited) => edited,
                Err(error) => return problem(&error),
            };
            let form = Document::parse("scenario.toml", &edited).map(|document| names.form(&document));
            let wrong = limits.read("scenario.toml", &edited, limits.points).err();
            json(&json!({"text": edited, "form": form.ok(), "problem": wrong}))
        })
        .await
    }

    async fn chosen(&self, body: Vec<u8>) -> Answer {
        let gallery = self.gallery.clone();
        blocking(move || match serde_json::from_slice::<Chosen>(&body) {
            Err(error) => text(StatusCode::BAD_REQUEST, error.to_string()),
            Ok(Chosen { id, name }) => match gallery.text(&id, &name) {
                Ok(text) => json(&json!({"text": text})),
                Err(error) => problem(&error),
            },
        })
        .await
    }

    /// Begins a run, whose events are the answer.
    fn run(&self, body: &[u8], emulate: bool) -> Answer {
        let asked = match Asked::read(body) {
            Ok(asked) => asked,
            Err(error) => return problem(&error),
        };
        let emulator = match (emulate, &self.emulator) {
            (false, _) => None,
            (true, Some(emulator)) => Some(emulator.clone()),
            (true, None) => return text(StatusCode::FORBIDDEN, "start `ackclock lab --emulate` as root"),
        };
        let Some(ticket) = self.runs.ticket(&asked.tab) else {
            let words = "too many pages compute at the same time: close some, and try again";
            return text(StatusCode::SERVICE_UNAVAILABLE, words);
        };
        let (stop, turn, runs) = (ticket.stop.clone(), ticket.turn.clone(), self.runs.clone());
        let place = ticket.place.clone();
        let (telling, content) = events(ticket);
        tokio::spawn(async move {
            // One after the other: whoever was before has been told to stop.
            let turn = turn.lock_owned().await;
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return;
            }
            spawn_blocking(move || {
                let _place = place;
                let _turn = turn;
                let tell = |told, certain| telling.tell(told, certain);
                match emulator {
                    Some(emulator) => runs.emulate(&*emulator, &asked, &stop, &tell),
                    None => runs.compute(&asked, &stop, &tell),
                }
            });
        });
        (StatusCode::OK, "text/event-stream", content)
    }

    async fn export(&self, body: Vec<u8>) -> Answer {
        let asked = serde_json::from_slice::<Export>(&body).map_err(|error| error.to_string());
        let asked =
            asked.and_then(|it| Ok((it.what, serde_json::to_vec(&it.run).map_err(|it| it.to_string())?)));
        let (what, run) = match asked {
            Ok(asked) => asked,
            Err(error) => return text(StatusCode::BAD_REQUEST, error),
        };
        let asked = match Asked::read(&run) {
            Ok(asked) => asked,
            Err(error) => return problem(&error),
        };
        let Some(ticket) = self.runs.ticket(&asked.tab) else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "too many pages compute at the same time");
        };
        let runs = self.runs.clone();
        let (stop, turn) = (ticket.stop.clone(), ticket.turn.clone().lock_owned().await);
        let place = ticket.place.clone();
        let made = blocking(move || {
            let _place = place;
            let _turn = turn;
            match runs.export(&asked, &what, &stop) {
                Ok(file) => json(&json!({"file": file})),
                Err(error) => problem(&error),
            }
        });
        // If the client hangs up, this is dropped with the ticket, and the run ends.
        let answer = made.await;
        drop(ticket);
        answer
    }
}

/// What takes a while, on a thread of its own.
async fn blocking(work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    let failed = |_| text(StatusCode::INTERNAL_SERVER_ERROR, "this failed: please report it");
    spawn_blocking(work).await.unwrap_or_else(failed)
}

/// The content of a request, if it is not longer than `most`.
async fn content<B: Body>(request: Request<B>, most: usize) -> Option<Vec<u8>> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return None;
    }
    let mut body = pin!(request.into_body());
    let mut content = Vec::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else { return None };
        if let Ok(mut data) = frame.into_data() {
            use hyper::body::Buf;
            if content.len() + data.remaining() > most {
                return None;
            }
            while data.has_remaining() {
                let piece = data.chunk();
                content.extend_from_slice(piece);
                let read = piece.len();
                data.advance(read);
            }
        }
    }
    Some(content)
}
