//! The server over loopback: what it answers, and what strangers try.

use super::Publishing;
use crate::archive::{Archive, Known, Row};
use crate::asking::{AskError, ask};
use crate::plan::Publish;
use crate::sample::{Moment, Quantity, Route, Sample};
use ackclock_units::Duration as Span;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

static GO_ON: AtomicBool = AtomicBool::new(false);
/// A name that must be escaped wherever it is told.
const NAME: &str = "far \"<b>\\";

/// A server with an archive of a path that was measured.
fn published() -> (TempDir, SocketAddr) {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("a.sqlite");
    let mut archive = Archive::create(&path).expect("a new one");
    let (ping, transfer) = (Span::from_secs(10), Span::from_secs(3600));
    let (name, address) = (NAME.to_owned(), "192.0.2.1".to_owned());
    let host = archive.describe(&Known { id: 0, name, address, uncontrolled: true, ping, transfer });
    let (host, now) = (host.expect("it is written"), Moment::now());
    for ago in 0..120 {
        let at = now.before(Span::from_secs(ago * 10 + 1));
        let values = [
            (Quantity::Rtt, 0.067),
            (Quantity::Lost, 0.0),
            (Quantity::Capacity, 622e6),
            (Quantity::Waiting, 0.067),
            (Quantity::ClosingWindow, 100.0),
            (Quantity::Sent, 1e3),
            (Quantity::LossFree, 600e6),
        ];
        let row = |(quantity, value)| Row { host, quantity, sample: Sample { at, value } };
        archive.write(&values.map(row)).expect("room");
    }
    let hops = vec![Some([10, 0, 0, 1].into()), None, Some([192, 0, 2, 1].into())];
    archive.note_route(host, now, &Route { hops, reached: true }).expect("room");
    let listen = "127.0.0.1:0".parse().expect("an address");
    let plan = Publish { listen, names: vec!["monitor.example".to_owned()] };
    let publishing = Publishing::begin(&plan, &path).expect("a port");
    let address = publishing.address();
    spawn(move || publishing.run(&GO_ON));
    (place, address)
}

/// All that comes back to these bytes.
fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("an option");
    // It may hang up before all is written.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, path: &str) -> Result<String, AskError> {
    ask(&format!("http://{address}"), path)
}

fn json(address: SocketAddr, path: &str) -> Value {
    let text = get(address, path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn the_questions_of_enables_clients() {
    let (_place, address) = published();
    let info = json(address, "/api/v1/info?host=192.0.2.1&duration=5%20min");
    assert_eq!(info["host"], NAME);
    assert_eq!(info["quantities"]["rtt_seconds"]["newest"], 0.067);
    assert_eq!(info["quantities"]["rtt_seconds"]["average"]["samples"], 30);
    assert_eq!(info["routes"][0]["hops"], serde_json::json!(["10.0.0.1", null, "192.0.2.1"]));
    assert_eq!(json(address, "/api/v1/info")["hosts"][0]["address"], "192.0.2.1");
    let advice = json(address, "/api/v1/advice?host=192.0.2.1&period=20+ms");
    assert_eq!(advice["buffer_bytes"]["value"], 5_209_250);
    assert_eq!(advice["burst_bytes"]["value"], 1_244_000);
    assert_eq!(advice["burst"], serde_json::json!({ "size": 1_244_000, "every_s": 0.02 }));
    assert_eq!(json(address, "/api/v1/advice?host=192.0.2.1&every=20+ms")["burst"], advice["burst"]);
    assert_eq!(advice["losses_begin"]["above_bps"], 600e6);
    let forecast = json(address, "/api/v1/forecast?host=192.0.2.1&size=14480%20B&control=none");
    assert_eq!(forecast["throughput"][0]["control"], "none");
    assert_eq!(forecast["size_bytes"], 14_480);
    let wrong = [
        ("/api/v1/advice", "which host"),
        ("/api/v1/advice?host=near", "no such host"),
        ("/api/v1/advice?hots=a", "this knows host, every, period only"),
        ("/api/v1/advice?host=a&every=1%20s&period=1%20s", "mean the same"),
        ("/api/v1/forecast?host=192.0.2.1&size=1%20TB", "size is from"),
        ("/api/v1/forecast?host=192.0.2.1&control=cubik", "controllers are"),
        ("/api/v1/info?duration=5", "duration: "),
        ("/etc/passwd", "there is /"),
        ("/../a.sqlite", "there is /"),
    ];
    for (path, says) in wrong {
        match get(address, path) {
            Err(AskError::Refused { text, .. }) => assert!(text.contains(says), "{path}: {text}"),
            other => panic!("{path}: {other:?}"),
        }
    }
}

/// Labels and value of each metric of each family.
type Families = BTreeMap<String, Vec<(BTreeMap<String, String>, f64)>>;

/// A strict reader of the text format: families with their help and type before their values, each once.
fn read_metrics(text: &str) -> Families {
    let (mut families, mut seen) = (BTreeMap::new(), HashSet::new());
    let mut lines = text.lines().peekable();
    assert!(text.ends_with('\n'), "the last line must end");
    while let Some(help) = lines.next() {
        let name = help.strip_prefix("# HELP ").and_then(|it| it.split_once(' ')).expect("a help").0;
        assert_eq!(lines.next(), Some(format!("# TYPE {name} gauge").as_str()));
        assert!(seen.insert(name.to_owned()), "{name} is there twice");
        let values: &mut Vec<_> = families.entry(name.to_owned()).or_default();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let rest = line.strip_prefix(name).and_then(|it| it.strip_prefix('{')).expect("its name");
            let (labels, value) = read_labels(rest);
            assert!(values.iter().all(|(other, _)| *other != labels), "{line} is there twice");
            values.push((labels, value.trim().parse().expect("a number")));
        }
        assert!(!values.is_empty(), "{name} has no value");
    }
    families
}

/// Labels up to the closing brace, and what follows it.
fn read_labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let (mut labels, mut rest) = (BTreeMap::new(), text);
    loop {
        let (name, behind) = rest.split_once("=\"").expect("a label");
        assert!(name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_'), "{name}");
        let (mut value, mut characters) = (String::new(), behind.char_indices());
        let end = loop {
            match characters.next().expect("the value ends") {
                (at, '"') => break at,
                (_, '\\') => value.push(match characters.next().expect("something is escaped").1 {
                    'n' => '\n',
                    it @ ('"' | '\\') => it,
                    other => panic!("\\{other}"),
                }),
                (_, it) => value.push(it),
            }
        };
        labels.insert(name.to_owned(), value);
        rest = &behind[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return (labels, rest.strip_prefix('}').expect("a closing brace")),
        }
    }
}

#[test]
fn metrics_are_read_by_a_strict_reader() {
    let (_place, address) = published();
    let families = read_metrics(&get(address, "/metrics").expect("metrics"));
    let (labels, value) = &families["ackclock_rtt_seconds"][0];
    assert_eq!((labels["host"].as_str(), *value), (NAME, 0.067));
    assert_eq!(families["ackclock_advice_buffer_bytes"][0].1, 5_209_250.0);
    assert_eq!(families["ackclock_sample_age_seconds"].len(), 7);
    let head = exchange(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
}

#[test]
fn the_page_shows_the_history_and_runs_nothing() {
    let (_place, address) = published();
    let page = get(address, "/").expect("a page");
    for word in ["5209250 B", "far &quot;&lt;b&gt;\\", "<polyline", "10.0.0.1 * 192.0.2.1", "Round-trip time"]
    {
        assert!(page.contains(word), "{word} is not in\n{page}");
    }
    for word in ["<script", "<b>", "NaN", "http://", "https://", "style=\""] {
        let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!page.contains(word), "{word} is in\n{page}");
    }
    let head = exchange(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").to_ascii_lowercase();
    for word in ["default-src 'none'; style-src 'self'", "nosniff", "no-store", "connection: close"] {
        assert!(head.contains(word), "{word} is not in\n{head}");
    }
    assert!(get(address, "/style.css").expect("a style").contains("body"));
}

#[test]
fn only_reading_under_our_own_names() {
    let (_place, address) = published();
    let status = |request: &str| {
        let answer = exchange(address, request.as_bytes());
        answer.split(' ').nth(1).unwrap_or("nothing").to_owned()
    };
    for host in ["localhost", "LOCALHOST:5311", "127.0.0.1", "[::1]:5311", "monitor.example", "192.0.2.7:1"] {
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), "200", "{host}");
    }
    for host in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "monitor.example.evil", ""]
    {
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), "421", "{host}");
    }
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "421", "without a name");
    assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"), "421");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        assert_eq!(
            status(&format!("{method} / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")),
            "405"
        );
    }
    let head = exchange(address, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn garbage_gets_no_content() {
    let (_place, address) = published();
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "a: b\r\n".repeat(5000));
    let garbage: [&[u8]; 6] = [
        b"\xff\xfe\n\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        long.as_bytes(),
        many.as_bytes(),
        b"GET / HTTP/9.9\r\n\r\n",
    ];
    for bytes in garbage {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("an option");
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    get(address, "/metrics").expect("it serves others");
}

/// Connections that say nothing, or a byte now and then, hold a place for so long only.
#[test]
fn the_silent_and_the_slow_are_dropped() {
    let (_place, address) = published();
    let crowd: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let mut slow = TcpStream::connect(address).expect("a connection");
    let begun = Instant::now();
    get(address, "/metrics").expect("others are served after them");
    assert!(begun.elapsed() < Duration::from_secs(35), "{:?}", begun.elapsed());
    drop(crowd);
    let begun = Instant::now();
    for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y".iter().cycle() {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(40), "it may go on");
        sleep(Duration::from_millis(250));
    }
}
