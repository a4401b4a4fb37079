//! The server over loopback: what it answers, what it computes, and what strangers try.

use crate::running::Runs;
use crate::{Emulator, Lab, Limits, Problem, Settings};
use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::{Glimpse, Sample};
use ackclock_study::run::run_point;
use ackclock_units::Time;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// A scenario that takes no time.
const QUICK: &str = "duration = \"1 s\"\n\n[topology.dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"10 ms\", \
    queue = { droptail = \"20 packets\" } }  # narrow\n\n[[flows]]\nlabel = \"<img src=x>\"\ncontrol = \"reno\"\n\n\
    [[expect]]\nthat = \"goodput('<img src=x>') > 1e9\"\n";
/// The longest that anything here may take.
const LONG: Duration = Duration::from_secs(120);

/// A scenario that takes longer than anybody waits.
fn endless() -> String {
    QUICK.replace("\"1 s\"", "\"100000 s\"").replace("1 Mbit/s", "1 Gbit/s")
}

/// A lab, for as long as this lives.
struct Open {
    host: String,
    token: String,
    runs: Arc<Runs>,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.serving.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|it| it.is_ok()) || std::thread::panicking(), "it ends in order");
    }
}

fn open(limits: Limits) -> Open {
    open_at("127.0.0.1:0", limits, None)
}

fn open_at(listen: &str, limits: Limits, emulator: Option<Arc<dyn Emulator>>) -> Open {
    let listen = listen.parse().expect("an address");
    let lab = Lab::begin(Settings { listen, scenario: QUICK.to_owned(), limits, emulator });
    let lab = lab.expect("a port");
    let address = lab.address();
    let (host, token) =
        address.strip_prefix("http://").and_then(|it| it.split_once("/?token=")).expect("both");
    let (host, token, runs) = (host.to_owned(), token.to_owned(), lab.runs());
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let serving = spawn(move || lab.run(&stopped).expect("it serves"));
    Open { host, token, runs, stop, serving: Some(serving) }
}

impl Open {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("a connection");
        stream.set_read_timeout(Some(LONG)).expect("an option");
        stream
    }

    /// All that comes back to these bytes.
    fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may hang up before all is written.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(&self, path: &str, body: &Value) -> String {
        let (host, token, body) = (&self.host, &self.token, body.to_string());
        format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nX-Ackclock-Token: {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let answer = self.exchange(self.request(path, body).as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
    }

    fn json(&self, path: &str, body: &Value) -> Value {
        serde_json::from_str(&self.post(path, body)).expect("JSON")
    }

    /// The events of a run: their names and data.
    fn run(&self, tab: &str, texts: &[&str]) -> Vec<(String, Value)> {
        self.events("/api/run", &asked(tab, texts))
    }

    /// The events of an answer. The chunks of HTTP are left out.
    fn events(&self, path: &str, body: &Value) -> Vec<(String, Value)> {
        let body = self.post(path, body);
        let mut content = String::new();
        let mut rest = &*body;
        while let Some((size, behind)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).expect("a chunk");
            content += &behind[..size];
            rest = behind.get(size + 2..).unwrap_or("");
        }
        let events = content.split_terminator("\n\n").map(|event| {
            let (name, data) = event.split_once('\n').expect("two lines");
            let data = serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
            (name.strip_prefix("event: ").expect("a name").to_owned(), data)
        });
        events.collect()
    }

    /// Waits until so many runs compute, in so many tabs.
    fn until(&self, computing: usize, tabs: usize) {
        let begun = Instant::now();
        while self.runs.computing() != (computing, tabs) {
            assert!(begun.elapsed() < LONG, "{:?} and not {:?}", self.runs.computing(), (computing, tabs));
            sleep(Duration::from_millis(5));
        }
    }
}

/// An emulator that simulates. It shows so many looks at one flow, then waits to be told to end if it holds.
/// After that it takes down what it would have set up.
#[derive(Default)]
struct Fake {
    looks: u64,
    holds: bool,
    takes_down: Duration,
}

impl Fake {
    fn lab(self) -> Open {
        open_at("127.0.0.1:0", Limits::default(), Some(Arc::new(self)))
    }
}

impl Emulator for Fake {
    fn emulate(
        &self,
        point: &Point,
        go_on: &dyn Fn(f64) -> bool,
        see: &(dyn Fn(Glimpse) + Sync),
    ) -> Result<(PointResult, Value), Problem> {
        for look in 1..=self.looks {
            let sample = Sample { delivered: 1.0, ..Sample::default() };
            see(Glimpse::Flow { flow: 0, at: Time::from_nanos(look * 1_000_000), sample });
        }
        while self.holds && go_on(0.5) {
            sleep(Duration::from_millis(5));
        }
        sleep(self.takes_down);
        let result = run_point(point, true, &AtomicBool::new(false))?;
        Ok((result, json!({"trusted": true})))
    }
}

fn asked(tab: &str, texts: &[&str]) -> Value {
    let variants: Vec<Value> =
        texts.iter().zip('A'..).map(|(text, name)| json!({"name": name, "text": text})).collect();
    json!({"tab": tab, "variants": variants})
}

#[test]
fn a_run_gives_pictures_verdicts_and_tables() {
    let lab = open(Limits::default());
    let events = lab.run("one", &[QUICK]);
    let (name, data) = events.last().expect("an event");
    assert_eq!(name, "results");
    let charts = data["columns"][0]["charts"].as_array().expect("charts");
    assert!(charts.iter().any(|chart| chart["id"] == "cwnd"), "{charts:?}");
    let verdict = &data["found"]["verdicts"][0];
    assert_eq!((&verdict["held"], &verdict["of"]), (&json!(0), &json!(1)));
    assert!(verdict["why"].as_str().is_some_and(|why| why.contains("goodput")), "{verdict}");
    assert!(!data["found"]["tables"].as_array().expect("tables").is_empty());
}

#[test]
fn seeds_are_a_band_and_variants_are_overlaid_or_beside() {
    let lab = open(Limits::default());
    let lossy = format!(
        "seeds = 3\n{}",
        QUICK.replace("droptail = \"20 packets\" }", "droptail = \"20 packets\" }, loss = 0.01")
    );
    let events = lab.run("one", &[&lossy]);
    let data = &events.last().expect("an event").1;
    assert!(data["columns"][0]["charts"][0]["curves"][0]["band"].is_object(), "{data}");
    let both = lab.run("one", &[QUICK, &QUICK.replace("reno", "cubic")]);
    let data = &both.last().expect("an event").1;
    assert_eq!(data["columns"].as_array().map(Vec::len), Some(1));
    let labels: Vec<_> = data["columns"][0]["charts"][0]["curves"]
        .as_array()
        .expect("curves")
        .iter()
        .map(|it| &it["label"])
        .collect();
    assert_eq!(labels, ["A", "B"]);
    let mut beside = asked("one", &[QUICK, QUICK]);
    beside["beside"] = json!(true);
    assert!(lab.post("/api/run", &beside).contains("\"name\":\"B\""));
    let many = lab.json("/api/run", &asked("one", &[QUICK; 7]));
    assert!(many["problem"]["message"].as_str().is_some_and(|it| it.contains("1 to 6")), "{many}");
}

#[test]
fn a_report_has_the_segments_of_followed_flows() {
    let lab = open(Limits::default());
    let followed = QUICK.replace("control = ", "follow = 1\ncontrol = ");
    let page = lab.json("/api/export", &json!({"what": "report", "run": asked("one", &[&followed])}));
    let page = page["file"].as_str().expect("a page");
    assert!(page.contains("Segments of ") && page.contains("<figure class=\"packets\">"));
}

#[test]
fn the_form_changes_the_text_and_shows_what_it_says() {
    let lab = open(Limits::default());
    let path = ["topology", "dumbbell", "bottleneck", "rate"];
    let answer = lab.json("/api/form", &json!({"text": QUICK, "set": [[path, "2 Mbit/s"]]}));
    assert_eq!(answer["text"], QUICK.replace("1 Mbit/s", "2 Mbit/s"), "comments and order stay");
    let form = answer["form"].to_string();
    for word in ["\"2 Mbit/s\"", "\"reno\"", "Controller", "Recovery", "Detection", "Queue", "Random loss"] {
        assert!(form.contains(word), "{word} is not in\n{form}");
    }
    let wrong = lab.json("/api/form", &json!({"text": QUICK, "set": [[["flows", "0", "control"], "rino"]]}));
    let problem = &wrong["problem"];
    assert_eq!(problem["key"], "flows.0.control");
    assert!(problem["help"].as_str().is_some_and(|help| help.contains("reno")), "{problem}");
    assert!(problem["line"].is_number());
    let broken = lab.json("/api/form", &json!({"text": "duration = ", "set": []}));
    assert!(broken["form"].is_null() && broken["problem"]["line"] == 1, "{broken}");
}

#[test]
fn what_a_scenario_may_not_is_refused_by_name() {
    let lab = open(Limits { points: 10, ..Limits::default() });
    let refused = |text: &str, says: &str| {
        let events = lab.run("one", &[text]);
        let (name, data) = events.last().expect("an event");
        assert_eq!(name, "refused", "{data}");
        let message = data["problem"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{message}");
    };
    refused(&QUICK.replace("\"1 Mbit/s\"", "{ trace = \"/etc/passwd\" }"), "/etc/passwd");
    refused(&QUICK.replace("\"reno\"", "{ policy = { file = \"/etc/passwd\" } }"), "no file is read here");
    refused(&format!("seeds = 11\n{QUICK}"), "11 points");
    refused(&QUICK.replace("control = ", "count = 100000\ncontrol = "), "100000 flows");
    refused(&QUICK.replace("20 packets", "900000000 packets"), "MB of memory");
    refused(&QUICK.replace("control", "kontrol"), "kontrol");
}

/// The last events of a run that is stopped: what there was by then, and why.
fn stopped(lab: &Open, text: &str, says: &str) {
    let events = lab.run("one", &[text]);
    let message = &events.last().expect("an event").1["problem"]["message"];
    assert!(message.as_str().is_some_and(|it| it.contains(says)), "{message}");
    assert!(events.iter().any(|(name, _)| name == "pictures"), "what there was by then is shown");
    lab.until(0, 0);
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let lab = open(Limits { time: Duration::from_millis(200), ..Limits::default() });
    stopped(&lab, &endless(), "no longer than that");
}

/// What it needs cannot be known: a window that loses nothing fills a queue without a limit.
#[test]
fn a_run_that_takes_too_much_is_stopped() {
    let lab = open(Limits { time: LONG, memory: 32 << 20, ..Limits::default() });
    let text = endless().replace("{ droptail = \"20 packets\" }", "\"unlimited\"");
    stopped(&lab, &text, "the run took more than 34 MB of memory");
}

/// A page that reads slowly misses glimpses, but none of what was delivered.
#[test]
fn a_missed_glimpse_loses_nothing() {
    let lab = Fake { looks: 5000, ..Fake::default() }.lab();
    let events = lab.events("/api/emulate", &asked("one", &[QUICK]));
    let glimpses: Vec<&Value> = events.iter().filter(|(name, _)| name == "glimpse").map(|it| &it.1).collect();
    assert!(!glimpses.is_empty());
    for glimpse in glimpses {
        let [delivered, at] = ["delivered", "at"].map(|key| glimpse[key].as_f64().expect("a number"));
        assert!((delivered - at * 1000.0).abs() < 0.5, "a segment each millisecond: {glimpse}");
    }
    assert_eq!(events.last().expect("an event").0, "emulated");
}

/// One emulated run at a time, of one point, for so long at most.
#[test]
fn an_emulated_run_has_limits() {
    let lab = Fake { looks: 1, holds: true, ..Fake::default() }.lab();
    let refused = |tab: &str, text: &str, says: &str| {
        let events = lab.events("/api/emulate", &asked(tab, &[text]));
        let (name, data) = events.last().expect("an event");
        let message = data["problem"]["message"].as_str().unwrap_or_default();
        assert!(name == "refused" && message.contains(says), "{name} {data}");
    };
    refused("one", &format!("seeds = 2\n{QUICK}"), "2 points cannot be emulated at once");
    refused("one", &QUICK.replace("\"1 s\"", "\"121 s\""), "takes 120 s at most");
    refused("one", &QUICK.replace("reno", "rino"), "rino");
    let mut first = BufReader::new(lab.connect());
    let request = lab.request("/api/emulate", &asked("one", &[QUICK]));
    first.get_mut().write_all(request.as_bytes()).expect("room");
    let mut lines = first.by_ref().lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "event: glimpse"), "it is under way");
    refused("two", QUICK, "another emulated run is under way");
    drop(first);
    // It is told to end, and then another one may begin.
    let begun = Instant::now();
    loop {
        let mut next = BufReader::new(lab.connect());
        let request = lab.request("/api/emulate", &asked("two", &[QUICK]));
        next.get_mut().write_all(request.as_bytes()).expect("room");
        let mut names =
            next.by_ref().lines().map_while(Result::ok).filter(|line| line.starts_with("event: "));
        match names.next().as_deref() {
            Some("event: emulating") => break,
            name => assert!(begun.elapsed() < LONG, "{name:?}"),
        }
        sleep(Duration::from_millis(20));
    }
}

/// Who stops an emulated run and begins another one waits until the first has taken down its hosts.
#[test]
fn who_emulates_again_is_not_refused_by_the_own_run() {
    let lab = Fake { looks: 1, holds: true, takes_down: Duration::from_millis(300) }.lab();
    for _ in 0..3 {
        let mut run = BufReader::new(lab.connect());
        let request = lab.request("/api/emulate", &asked("one", &[QUICK]));
        run.get_mut().write_all(request.as_bytes()).expect("room");
        let lines = run.by_ref().lines().map_while(Result::ok).filter(|line| line.starts_with("event: "));
        let names: Vec<String> = lines.take(2).collect();
        assert_eq!(names, ["event: emulating", "event: glimpse"]);
    }
    lab.until(0, 0);
}

/// Who hangs up ends the run, and so does who asks again.
#[test]
fn the_newest_run_of_a_tab_wins_and_a_closed_tab_has_none() {
    let lab = open(Limits::default());
    let mut first = lab.connect();
    first.write_all(lab.request("/api/run", &asked("one", &[&endless()])).as_bytes()).expect("room");
    lab.until(1, 1);
    let mut other = lab.connect();
    other.write_all(lab.request("/api/run", &asked("two", &[&endless()])).as_bytes()).expect("room");
    lab.until(2, 2);
    drop(other);
    lab.until(1, 1);
    let events = lab.run("one", &[QUICK]);
    assert_eq!(events.last().expect("an event").0, "results");
    let mut rest = String::new();
    let _ = first.read_to_string(&mut rest);
    assert!(!rest.contains("event: results"), "the first was cancelled");
    lab.until(0, 0);
}

#[test]
fn too_many_tabs_are_told_so() {
    let lab = open(Limits { runs: 2, ..Limits::default() });
    let text = endless();
    let held: Vec<TcpStream> = ["one", "two"]
        .map(|tab| {
            let mut stream = lab.connect();
            stream.write_all(lab.request("/api/run", &asked(tab, &[&text])).as_bytes()).expect("room");
            stream
        })
        .into();
    lab.until(2, 2);
    let answer = lab.exchange(lab.request("/api/run", &asked("three", &[QUICK])).as_bytes());
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    drop(held);
    lab.until(0, 0);
}

#[test]
fn only_who_has_the_token_and_asks_from_here() {
    let lab = open(Limits::default());
    let (host, token) = (&lab.host, &lab.token);
    let status = |request: &str| {
        let answer = lab.exchange(request.as_bytes());
        answer.split(' ').nth(1).unwrap_or("nothing").to_owned()
    };
    let get = |path: &str, fields: &str| status(&format!("GET {path} HTTP/1.1\r\n{fields}\r\n"));
    assert_eq!(get("/", &format!("Host: {host}\r\n")), "200");
    assert_eq!(get("/?token=wrong", &format!("Host: {host}\r\n")), "200", "the page alone says nothing");
    for path in ["/api/start", "/api/gallery"] {
        assert_eq!(get(path, &format!("Host: {host}\r\nX-Ackclock-Token: {token}\r\n")), "200");
        assert_eq!(get(path, &format!("Host: {host}\r\n")), "403");
        assert_eq!(get(path, &format!("Host: {host}\r\nX-Ackclock-Token: {}\r\n", &token[1..])), "403");
        assert_eq!(get(path, &format!("Host: {host}\r\nCookie: token={token}\r\n")), "403");
    }
    assert_eq!(get(&format!("/api/start?token={token}"), &format!("Host: {host}\r\n")), "403");
    for fields in [
        "Host: evil.example\r\n".to_owned(),
        String::new(),
        format!("Host: {host}\r\nHost: evil.example\r\n"),
        format!("Host: {host}\r\nOrigin: http://evil.example\r\n"),
        format!("Host: {host}\r\nOrigin: null\r\n"),
        format!("Host: {host}.evil.example\r\n"),
    ] {
        for path in ["/", "/api/start"] {
            assert_eq!(get(path, &format!("{fields}X-Ackclock-Token: {token}\r\n")), "421", "{fields}");
        }
    }
    let right = lab.request("/api/run", &asked("one", &[QUICK]));
    assert_eq!(status(&right), "200");
    assert_eq!(status(&right.replace("application/json", "text/plain")), "415", "no form of another page");
    assert_eq!(status(&right.replace(token.as_str(), "0")), "403");
    assert_eq!(status(&lab.request("/api/emulate", &asked("one", &[QUICK]))), "403", "nobody asked for it");
    for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "GET"] {
        assert_eq!(status(&right.replacen("POST", method, 1)), "405", "{method}");
    }
    for path in ["/etc/passwd", "/../Cargo.toml", "/api/../lab.js", "//", "/lab.js/"] {
        assert_ne!(get(path, &format!("Host: {host}\r\nX-Ackclock-Token: {token}\r\n")), "200", "{path}");
    }
}

/// Who listens at all addresses does not know them, but a browser that asks by one of them was not led here
/// by somebody else's name.
#[test]
fn all_addresses_are_ours_where_it_listens_at_all() {
    let lab = open_at("0.0.0.0:0", Limits::default(), None);
    let port = lab.host.split_once(':').expect("a port").1;
    let right = lab.request("/api/run", &asked("one", &[QUICK]));
    let by = |host: &str| lab.exchange(right.replace(&lab.host, host).as_bytes());
    for host in [format!("192.0.2.7:{port}"), format!("[2001:db8::1]:{port}"), format!("localhost:{port}")] {
        assert!(by(&host).contains("event: results"), "{host}");
    }
    for host in [format!("evil.example:{port}"), "192.0.2.7:1".to_owned(), "192.0.2.7".to_owned()] {
        assert!(by(&host).starts_with("HTTP/1.1 421"), "{host}");
    }
}

#[test]
fn every_answer_has_the_strict_fields() {
    let lab = open(Limits::default());
    for path in ["/", "/lab.js", "/api/start", "/nothing"] {
        let head = lab.exchange(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", lab.host).as_bytes());
        let head = head.split("\r\n\r\n").next().expect("a head").to_ascii_lowercase();
        for word in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "connection: close",
        ] {
            assert!(head.contains(word), "{path}: {word} is not in\n{head}");
        }
        assert!(!head.contains("unsafe") && !head.contains("access-control"), "{head}");
    }
}

#[test]
fn garbage_and_floods_get_nothing() {
    let lab = open(Limits::default());
    let large = lab.request("/api/run", &asked("one", &[&"#".repeat(300 << 10)]));
    assert!(lab.exchange(large.as_bytes()).starts_with("HTTP/1.1 413"));
    let unsaid = large.replacen("Content-Length: ", "Transfer-Encoding: chunked\r\nX: ", 1);
    assert!(lab.exchange(unsaid.as_bytes()).starts_with("HTTP/1.1 4"), "chunks that are none");
    let wrong = lab.request("/api/run", &json!({"tab": "one", "variants": [], "out": "/etc"}));
    assert!(lab.exchange(wrong.as_bytes()).contains("unknown field"), "there is no way to name a place");
    for bytes in [
        &b"\xff\xfe\n\n\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let answer = lab.exchange(bytes);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let crowd: Vec<TcpStream> = (0..100).map(|_| lab.connect()).collect();
    drop(crowd);
    assert_eq!(lab.run("one", &[QUICK]).last().expect("an event").0, "results", "it serves others");
}

/// Connections that say nothing, or a byte now and then, hold a place for so long only.
#[test]
fn the_silent_and_the_slow_are_dropped() {
    let lab = open(Limits::default());
    let _silent: Vec<TcpStream> = (0..100).map(|_| lab.connect()).collect();
    let begun = Instant::now();
    assert_eq!(
        lab.run("one", &[QUICK]).last().expect("an event").0,
        "results",
        "others are served after them"
    );
    assert!(begun.elapsed() < LONG);
    let mut slow = lab.connect();
    for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y".iter().cycle() {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        assert!(begun.elapsed() < LONG, "it may go on");
        sleep(Duration::from_millis(250));
    }
}
