//! `ackclock serve` as a program: what arrives, when, what is refused, and that nobody can hold it up.

#[path = "../common/mod.rs"]
mod common;
mod long;

use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ensure, fields, in_real_time_and_long, listing, shell, stderr, stdout};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The largest file of the thesis, bytes.
const LARGEST: usize = 422_000;

fn main() {
    let always: &[Named] = &[
        ("files_arrive_over_one_connection", arrive),
        ("requests_may_come_before_their_turn", pipelined),
        ("parts_and_heads", parts),
        ("bursts_wait_for_their_periods", bursts),
        ("a_full_socket_fails_cycles", full),
        ("what_cannot_be_paced_is_refused", refused),
        ("lines_as_the_thesis_prints_them", printed),
        ("directives_of_a_file", directives),
        ("nothing_outside_is_served", outside),
        ("a_request_has_no_content", content),
        ("slow_heads_hold_nobody_up", slow),
        ("idle_connections_end", idle),
        ("a_limit_of_connections", limit),
        ("a_response_may_end_before_the_server", farewell),
        ("wrong_use_is_explained", wrong_use),
    ];
    let with_curl: &[Named] = &[("over_an_emulated_path", emulated), ("the_page_to_the_letter", page)];
    match Command::new("curl").arg("--version").output() {
        Ok(_) => in_real_time_and_long(always, with_curl, long::LONG),
        Err(error) => {
            eprintln!(
                "SKIPPED: curl ({error}; make tools installs it): over_an_emulated_path, the_page_to_the_letter"
            );
            in_real_time_and_long(always, &[], &[]);
        }
    }
}

/// A directory that is served.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        let place = Place(tempfile::tempdir()?);
        fs::create_dir(place.path("www"))?;
        let bytes: Vec<u8> =
            (0..LARGEST as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        fs::write(place.path("www/422k"), bytes)?;
        fs::write(place.path("www/index.html"), "<p>hello</p>\n")?;
        fs::write(place.path("secret"), "secret")?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("ackclock"));
        command.args(arguments).current_dir(self.0.path());
        command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A server, once it listens.
    fn serve(&self, arguments: &[&str]) -> Result<Serving, Failed> {
        let mut command = self.program(&["serve", "www", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = command.args(arguments).spawn()?;
        let said = child.stderr.take().ok_or("standard error is not there")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().rsplit("http://").next().unwrap_or("").to_owned();
        ensure(address.starts_with("127.0.0.1:"), format!("no address: {line}"))?;
        Ok(Serving { child, address })
    }
}

struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn connect(&self) -> Result<TcpStream, Failed> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(stream)
    }

    /// Sends these bytes over a connection of their own, and reads until the server closes it.
    fn raw(&self, request: &str) -> Result<String, Failed> {
        let mut stream = self.connect()?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        // The server may have closed before it has read everything.
        let _ = stream.read_to_end(&mut answer);
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Gets a path with these header lines, over a connection of its own.
    fn get(&self, path: &str, lines: &str) -> Result<Answer, Failed> {
        let mut stream = self.connect()?;
        ask(&mut stream, path, lines)
    }

    /// Ends the server by a signal: its exit status, and its log.
    fn end(mut self, signal: rustix::process::Signal) -> Result<(Option<i32>, Vec<Value>), Failed> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal)?;
        let begun = Instant::now();
        let mut said = String::new();
        self.child.stdout.take().ok_or("standard output is not there")?.read_to_string(&mut said)?;
        let status = self.child.wait()?;
        ensure(begun.elapsed() < Duration::from_secs(10), "the server does not end")?;
        let log: Result<Vec<Value>, _> = said.lines().map(serde_json::from_str).collect();
        Ok((status.code(), log?))
    }

    /// Its log.
    fn log(self) -> Result<Vec<Value>, Failed> {
        let (status, log) = self.end(rustix::process::Signal::INT)?;
        ensure(status == Some(0), format!("{status:?}"))?;
        Ok(log)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    content: Vec<u8>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }
}

/// One request over a connection that may go on.
fn ask(stream: &mut TcpStream, path: &str, lines: &str) -> Result<Answer, Failed> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n")?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head)?.to_lowercase();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or("no status")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut content = vec![0; length.map_or(Ok(0), str::parse)?];
    stream.read_exact(&mut content)?;
    Ok(Answer { status, head, content })
}

fn arrive() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&[])?;
    let mut stream = server.connect()?;
    let (first, second) = (ask(&mut stream, "/422k", "")?, ask(&mut stream, "/", "")?);
    ensure(first.status == 200 && first.content == fs::read(place.path("www/422k"))?, "other bytes")?;
    ensure(second.text() == "<p>hello</p>\n" && second.head.contains("text/html"), format!("{second:?}"))?;
    ensure(ask(&mut stream, "/none", "")?.status == 404, "a file that is not there")?;
    drop(stream);
    let log = server.log()?;
    let told = |key: &str| log.iter().map(|entry| entry[key].clone()).collect::<Vec<_>>();
    ensure(told("request") == [1, 2, 3] && told("status") == [200, 200, 404], format!("{log:?}"))?;
    ensure(told("bytes")[..2] == [LARGEST, 13] && told("complete") == [true; 3], format!("{log:?}"))?;
    ensure(log[0]["peer"] == log[2]["peer"] && log[0]["burst"].is_null(), format!("{log:?}"))?;
    let what = ["peer", "request", "method", "path", "status", "bytes", "burst", "bursts", "failed_cycles"];
    let how = ["duration_s", "retransmissions", "retransmits", "control", "complete"];
    fields(&log[0], &[&what[..], &how].concat())
}

/// Four requests at once, to a client that does not read at first: the responses come in order, and each has
/// its entry.
fn pipelined() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&["--send-buffer", "32 kB"])?;
    let mut stream = server.connect()?;
    let get = |path: &str, end: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n{end}\r\n");
    let last = get("/422k", "Connection: close\r\n");
    write!(stream, "{}{}{}{last}", get("/422k", ""), get("/", ""), get("/none", ""))?;
    sleep(Duration::from_millis(200));
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers)?;
    ensure(answers.len() > 2 * LARGEST, format!("{} bytes", answers.len()))?;
    let log = server.log()?;
    let told: Vec<_> = log.iter().map(|entry| (entry["request"].as_u64(), entry["bytes"].as_u64())).collect();
    let sizes = [LARGEST as u64, 13, 22, LARGEST as u64];
    let expected: Vec<_> = (1..).zip(sizes).map(|(number, bytes)| (Some(number), Some(bytes))).collect();
    ensure(told == expected && log.iter().all(|entry| entry["complete"] == true), format!("{log:?}"))
}

fn parts() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&[])?;
    let part = server.get("/", "Range: bytes=3-7\r\n")?;
    ensure(part.status == 206 && part.text() == "hello", format!("{part:?}"))?;
    ensure(part.head.contains("content-range: bytes 3-7/13"), &*part.head)?;
    ensure(server.get("/", "Range: bytes=13-\r\n")?.status == 416, "a part behind the end")?;
    let head = server.raw("HEAD /422k HTTP/1.0\r\n\r\n")?.to_lowercase();
    ensure(head.contains("content-length: 422000") && head.ends_with("\r\n\r\n"), head)
}

/// 422 kB wait 13 periods with bursts of 32 kB, and 3 with bursts of 128 kB. What is late beyond that is the
/// machine's.
fn bursts() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&["--burst", "128 kB/10 ms"])?;
    let mut stream = server.connect()?;
    for lines in ["Rate: 32000\r\n", "", "Period: 20000\r\nRate: 16777216\r\n"] {
        let answer = ask(&mut stream, "/422k", lines)?;
        ensure(answer.content.len() == LARGEST, format!("{lines}: {}", answer.head))?;
    }
    drop(stream);
    let log = server.log()?;
    ensure(log.len() == 3, format!("{log:?}"))?;
    for (entry, (count, least, size)) in
        log.iter().zip([(14, 0.130, 32_000), (4, 0.030, 128_000), (1, 0.0, 16_777_216)])
    {
        ensure(entry["bursts"] == count && entry["burst"]["size"] == size, format!("{entry}"))?;
        let (took, failed) = (entry["duration_s"].as_f64(), entry["failed_cycles"].as_u64());
        ensure(took.is_some_and(|took| took >= least), format!("{entry}"))?;
        // A failed cycle puts off what follows by a period. Nothing else does.
        let most = least + (failed.unwrap_or(u64::MAX) + 1) as f64 * 0.020;
        ensure(took.is_some_and(|took| took <= most + 0.5), format!("{entry}"))?;
    }
    Ok(())
}

/// A client that does not read for 0.3 s. 20 ms after the first burst the socket is full, and the second one
/// fails its cycles; nothing is left out.
fn full() -> Checked {
    let place = Place::new()?;
    fs::write(place.path("www/large"), vec![7; 12 << 20])?;
    let server = place.serve(&["--burst", "10 MiB/20 ms", "--send-buffer", "64 kB"])?;
    let mut stream = server.connect()?;
    write!(stream, "GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    sleep(Duration::from_millis(300));
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    ensure(answer.len() > 12 << 20, "not all of it")?;
    let log = server.log()?;
    let failed = log[0]["failed_cycles"].as_u64().unwrap_or(0);
    ensure(failed >= 10 && log[0]["bursts"] == 2 && log[0]["bytes"] == 12 << 20, format!("{log:?}"))
}

fn refused() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&[])?;
    for (lines, reason) in [
        ("Rate: 64000\r\n", "Rate needs Period"),
        ("Period: 10000\r\n", "Period needs Rate"),
        ("Rate: 1459\r\nPeriod: 10000\r\n", "1460 to 16777216 B"),
        ("Rate: 16777217\r\nPeriod: 10000\r\n", "1460 to 16777216 B"),
        ("Rate: 64000\r\nPeriod: 999\r\n", "1000 us (1 ms)"),
        ("Rate: 64000\r\nPeriod: 10000001\r\n", "10000000 us (10 s)"),
        ("Rate: 64 kB\r\nPeriod: 10000\r\n", "rate takes one number of bytes"),
        ("Rate: 64000\r\nPeriod: 1e4\r\n", "period takes one number of microseconds"),
        ("Rate: 64000\r\nRate: 64000\r\nPeriod: 10000\r\n", "rate takes one number"),
    ] {
        let answer = server.get("/422k", lines)?;
        ensure(answer.status == 400 && answer.text().contains(reason), format!("{lines}: {answer:?}"))?;
    }
    ensure(server.get("/422k", "")?.status == 200, "a request holds for itself only")
}

/// The request that the thesis prints, section 3.4, with a longer document.
fn printed() -> Checked {
    let request = "GET /422k HTTP/1.1\r\nUser-Agent: ApacheBench/1.1\r\nRate = 64000\r\nPeriod = 10000\r\n\
                   Host: 140.173.170.11\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    let place = Place::new()?;
    let strict = place.serve(&[])?.raw(request)?;
    ensure(strict.starts_with("HTTP/1.1 400"), strict)?;
    let server = place.serve(&["--thesis-headers"])?;
    // However the lines are cut.
    let mut stream = server.connect()?;
    for piece in request.as_bytes().chunks(7) {
        stream.write_all(piece)?;
        sleep(Duration::from_millis(1));
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    ensure(answer.starts_with(b"HTTP/1.1 200") && answer.len() > LARGEST, "not the document")?;
    let colons = server.get("/422k", "Rate: 128000\r\nPeriod: 10000\r\n")?;
    ensure(colons.content.len() == LARGEST, colons.head)?;
    let log = server.log()?;
    let sizes: Vec<_> = log.iter().map(|entry| entry["burst"]["size"].clone()).collect();
    ensure(sizes == [64_000, 128_000] && log[0]["bursts"] == 7, format!("{log:?}"))
}

fn directives() -> Checked {
    let place = Place::new()?;
    let sizes = |text: &str, lines: &str| -> Result<Value, Failed> {
        fs::write(place.path("httpd.conf"), text)?;
        let server = place.serve(&["--httpd-conf", "httpd.conf"])?;
        server.get("/422k", lines)?;
        Ok(server.log()?.first().ok_or("no log")?["burst"]["size"].clone())
    };
    let values = "ExplicitRateSize 128000\nExplicitRatePeriod 10000\n";
    let fields = "Rate: 64000\r\nPeriod: 5000\r\n";
    let on = format!("ServerName omega\nExplicitRate On\n{values}");
    ensure(sizes(&on, "")? == 128_000, "the file's burst")?;
    ensure(sizes(&on, fields)? == 64_000, "a request wins")?;
    ensure(sizes(values, fields)?.is_null(), "without ExplicitRate there are no bursts")
}

fn outside() -> Checked {
    let place = Place::new()?;
    symlink("../secret", place.path("www/link"))?;
    symlink("..", place.path("www/up"))?;
    symlink("422k", place.path("www/inside"))?;
    let server = place.serve(&[])?;
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/up/secret",
        "/link",
        "/inside",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        "/%00",
        "/422k/",
        "/422k/x",
    ] {
        let answer = server.get(path, "")?;
        ensure(answer.status == 404 && !answer.text().contains("secret"), format!("{path}: {answer:?}"))?;
    }
    ensure(server.get("/422k?x=/../..", "")?.status == 200, "a query is no path")
}

fn content() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&["--thesis-headers"])?;
    for request in [
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\nGET /422k HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ] {
        let answer = server.raw(request)?;
        ensure(answer.starts_with("HTTP/1.1 40"), format!("{request}: {answer}"))?;
        ensure(answer.to_lowercase().contains("connection: close"), format!("{request}: {answer}"))?;
        ensure(answer.matches("HTTP/1.1").count() == 1, format!("{request}: {answer}"))?;
    }
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    ensure(server.raw(&long)?.starts_with("HTTP/1.1 431"), "a head without an end")
}

/// Heads that never end, and connections without a head, are closed after ten seconds. Meanwhile others are
/// served.
fn slow() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&[])?;
    let begun = Instant::now();
    let mut held = Vec::new();
    for number in 0..400 {
        let mut stream = server.connect()?;
        if number % 2 == 0 {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n")?;
        }
        held.push(stream);
    }
    ensure(server.get("/422k", "")?.content.len() == LARGEST, "others are served")?;
    let mut dripping = server.connect()?;
    dripping.write_all(b"GET / HTTP/1.1\r\n")?;
    // A line now and then does not help.
    while begun.elapsed() < Duration::from_secs(40) && dripping.write_all(b"X: y\r\n").is_ok() {
        sleep(Duration::from_millis(500));
    }
    let took = begun.elapsed();
    ensure(took > Duration::from_secs(8) && took < Duration::from_secs(30), format!("{took:?}"))?;
    for mut stream in held {
        let mut nothing = Vec::new();
        let _ = stream.read_to_end(&mut nothing);
        ensure(nothing.is_empty(), "an answer without a question")?;
    }
    Ok(())
}

fn idle() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&["--idle", "300 ms"])?;
    let mut stream = server.connect()?;
    ask(&mut stream, "/", "")?;
    sleep(Duration::from_millis(100));
    ask(&mut stream, "/", "")?;
    let begun = Instant::now();
    let closed = stream.read(&mut [0])?;
    ensure(closed == 0 && begun.elapsed() >= Duration::from_millis(200), format!("{:?}", begun.elapsed()))
}

fn limit() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&["--connections", "2"])?;
    let (mut one, mut two) = (server.connect()?, server.connect()?);
    ask(&mut one, "/", "")?;
    ask(&mut two, "/", "")?;
    let mut three = server.connect()?;
    three.set_read_timeout(Some(Duration::from_millis(300)))?;
    write!(three, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    ensure(three.read(&mut [0]).is_err(), "the third must wait")?;
    drop(one);
    three.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut answer = String::new();
    three.read_to_string(&mut answer)?;
    ensure(answer.starts_with("HTTP/1.1 200"), answer)
}

/// SIGTERM while a response has 0.6 s to go.
fn farewell() -> Checked {
    let place = Place::new()?;
    let server = place.serve(&["--burst", "70 kB/100 ms"])?;
    let mut stream = server.connect()?;
    let mut idle = server.connect()?;
    ask(&mut idle, "/", "")?;
    write!(stream, "GET /422k HTTP/1.1\r\nHost: x\r\n\r\n")?;
    stream.read_exact(&mut [0; 100])?;
    let address = server.address.clone();
    let (status, log) = server.end(rustix::process::Signal::TERM)?;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest)?;
    ensure(status == Some(0) && rest.len() + 100 > LARGEST, format!("{status:?}, {} bytes", rest.len()))?;
    ensure(log.len() == 2 && log[1]["complete"] == true && log[1]["bursts"] == 7, format!("{log:?}"))?;
    ensure(TcpStream::connect(address).is_err(), "nobody listens any more")
}

fn wrong_use() -> Checked {
    let place = Place::new()?;
    fs::write(place.path("bad.conf"), "ExplicitRate perhaps\n")?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let taken = taken.local_addr().map(|address| (address.to_string(), taken))?;
    for (arguments, reason) in [
        (&["serve", "none"][..], "none cannot be served"),
        (&["serve", "www", "--listen", &taken.0], "nothing can listen on"),
        (&["serve", "www", "--burst", "128 kB"], "is no burst"),
        (&["serve", "www", "--burst", "1 kB/10 ms"], "1460 to 16777216 B"),
        (&["serve", "www", "--rate", "fast"], "--rate"),
        (&["serve", "www", "--control", "none"], "for named networks only"),
        (&["serve", "www", "--control", "nobody", "--allow", "10.0.0.0/8"], "nobody cannot be chosen"),
        (&["serve", "www", "--allow", "10.0.0.0/8"], "--allow is for --control"),
        (&["serve", "www", "--control", "reno", "--allow", "10.0.0.0/33"], "is no network"),
        (&["serve", "www", "--httpd-conf", "bad.conf"], "line 1: ExplicitRate takes On or Off"),
        (&["serve", "www", "--httpd-conf", "missing.conf"], "--httpd-conf missing.conf"),
    ] {
        let output: Output = place.program(arguments).output()?;
        let said = stderr(&output).split_whitespace().filter(|it| *it != "│").collect::<Vec<_>>().join(" ");
        ensure(output.status.code() == Some(2) && said.contains(reason), format!("{arguments:?}: {said}"))?;
    }
    Ok(())
}

/// The listings of the page: on one host, which has the usual port for itself, and over the emulated path.
fn page() -> Checked {
    let place = tempfile::tempdir()?;
    let serve = listing("serve.md", "ackclock serve www\n");
    let ask = listing("serve.md", "-H 'Rate: 32000'");
    let lines = format!(
        "ip link set lo up\n{} &\nserver=$!\nuntil curl -s -o first http://127.0.0.1:8080/; do sleep 0.1; done\n\
         {ask}\nkill $server\nwait $server",
        serve.trim_end()
    );
    let mut alone = Command::new("unshare");
    let shell_alone = shell(place.path(), &lines);
    alone.arg("-n").arg(shell_alone.get_program()).args(shell_alone.get_args()).current_dir(place.path());
    alone.envs(shell_alone.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = alone.output()?;
    let said = stdout(&output);
    ensure(output.status.success(), format!("{said}\n{}", stderr(&output)))?;
    let times = |said: &str| -> Vec<f64> {
        said.lines().filter_map(|line| line.strip_suffix(" s")?.parse().ok()).collect()
    };
    let [small, large] = times(&said)[..] else { return Err(said.into()) };
    ensure(small >= 0.130 && large >= 0.030, format!("{small} and {large} s"))?;
    for words in ["14 bursts of 32000 B every 10 ms", "4 bursts of 128000 B every 10 ms"] {
        ensure(said.contains(words), &*said)?;
    }

    fs::write(place.path().join("path.toml"), listing("serve.md", "[topology.dumbbell]"))?;
    let output = shell(place.path(), &listing("serve.md", "emulate path.toml")).output()?;
    let said = stdout(&output);
    ensure(output.status.success(), format!("{said}\n{}", stderr(&output)))?;
    let [first, second] = times(&said)[..] else { return Err(said.into()) };
    // A handshake, a request and an answer; the second one has no handshake.
    ensure(first >= 0.134 && second >= 0.067, format!("{first} and {second} s"))?;
    let sizes = ["a", "b"].map(|name| fs::metadata(place.path().join(name)).map(|it| it.len()).ok());
    ensure(sizes == [Some(422_000); 2], format!("{sizes:?}"))
}

/// Over the thesis's path (622 Mbit/s, 67 ms) a persistent connection saves a round trip per request.
fn emulated() -> Checked {
    let place = Place::new()?;
    let path = "name = \"OC-12\"\nduration = \"60 s\"\n[topology.dumbbell]\nbottleneck = { rate = \"622 Mbit/s\", \
                delay = \"33.5 ms\", queue = { droptail = \"1 bdp\" } }\n";
    fs::write(place.path("path.toml"), path)?;
    let serve = format!("{} serve www --listen {{receiver}}:8080", cargo_bin("ackclock").display());
    let url = "http://{receiver}:8080/index.html";
    let get = "curl -s -w '%{time_total}\\n'";
    let six = format!("-o body {url} ").repeat(6);
    let line = format!(
        "until curl -s -o body {url}; do sleep 0.1; done; {get} {six}; for each in 1 2 3 4 5; do {get} -o body \
         {url}; done"
    );
    let output =
        place.program(&["emulate", "path.toml", "--serve", &serve, "--", "sh", "-c", &line]).output()?;
    let said = stdout(&output);
    ensure(output.status.success(), format!("{said}\n{}", stderr(&output)))?;
    let times: Vec<f64> = said.lines().filter_map(|line| line.parse().ok()).collect();
    ensure(times.len() == 11, &*said)?;
    let median = |times: &[f64]| {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let saved = median(&times[6..]) - median(&times[1..6]);
    ensure((saved - 0.067).abs() < 0.005, format!("a persistent connection saves {saved} s: {times:?}"))
}
