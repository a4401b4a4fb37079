//! `ackclock lab` as a program: what it says where others reach it, and runs of the kernel's own TCP, which
//! end with the page that asked for them. Everything else of it is tested in its crate and in a browser.

mod common;

use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ensure, in_real_time};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest that anything here may take.
const LONG: Duration = Duration::from_secs(60);

fn main() {
    let always: &[Named] =
        &[("others_are_warned_of", warned), ("what_is_simulated_only_is_not_emulated", simulated_only)];
    let privileged: &[Named] = &[
        ("a_run_of_the_kernel_is_seen_as_it_happens", seen),
        ("a_closed_page_ends_its_run_of_the_kernel", closed),
        ("the_end_of_the_lab_ends_its_run_of_the_kernel", ended),
    ];
    in_real_time(always, privileged);
}

/// Two flows, for so many seconds.
fn scenario(seconds: u32) -> String {
    format!(
        "duration = \"{seconds} s\"\n[topology.dumbbell]\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"1 bdp\" }} }}\n\
         [[flows]]\nlabel = \"reno\"\ncontrol = \"reno\"\n[[flows]]\nlabel = \"cubic\"\ncontrol = \"cubic\"\n"
    )
}

/// A lab. It is killed if a test fails.
struct Lab {
    process: Child,
    host: String,
    token: String,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Lab {
    fn open(arguments: &[&str]) -> Result<Lab, Failed> {
        let mut process = Command::new(cargo_bin("ackclock"))
            .args([&["lab"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        BufReader::new(process.stdout.as_mut().ok_or("an output")?).read_line(&mut address)?;
        let parts = address.trim().strip_prefix("http://").and_then(|it| it.split_once("/?token="));
        let Some((host, token)) = parts else {
            let mut said = String::new();
            process.stderr.as_mut().ok_or("an output")?.read_to_string(&mut said)?;
            return Err(format!("{address}{said}").into());
        };
        let (host, token) = (host.to_owned(), token.to_owned());
        Ok(Lab { process, host, token })
    }

    /// Tells it to end. What it said, once it has.
    fn end(&mut self) -> Result<String, Failed> {
        Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status()?;
        let begun = Instant::now();
        while self.process.try_wait()?.is_none() {
            ensure(begun.elapsed() < LONG, "it does not end")?;
            sleep(Duration::from_millis(20));
        }
        let mut said = String::new();
        self.process.stderr.as_mut().ok_or("an output")?.read_to_string(&mut said)?;
        Ok(said)
    }

    /// The network namespaces that its threads are in, or that it has open.
    fn namespaces(&self) -> Result<BTreeSet<PathBuf>, Failed> {
        let of = |path: String| -> Result<Vec<PathBuf>, Failed> {
            Ok(fs::read_dir(path)?.filter_map(|entry| Some(entry.ok()?.path())).collect())
        };
        let own = self.process.id();
        let threads = of(format!("/proc/{own}/task"))?.into_iter().map(|thread| thread.join("ns/net"));
        let all = threads.chain(of(format!("/proc/{own}/fd"))?);
        // A thread or a file may be gone meanwhile.
        let names = all.filter_map(|link| fs::read_link(link).ok());
        Ok(names.filter(|name| name.to_string_lossy().starts_with("net:")).collect())
    }

    /// Waits until it has only the namespace in which it began.
    fn until_alone(&self) -> Checked {
        let begun = Instant::now();
        while self.namespaces()?.len() > 1 {
            ensure(begun.elapsed() < LONG, format!("{:?} are still there", self.namespaces()?))?;
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Asks for a run of the kernel's own TCP.
    fn emulate(&self, text: &str) -> Result<Events, Failed> {
        let body = json!({"tab": "one", "variants": [{"name": "A", "text": text}]}).to_string();
        let Lab { host, token, .. } = self;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LONG))?;
        write!(
            stream,
            "POST /api/emulate HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nX-Ackclock-Token: {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        Ok(Events { lines: BufReader::new(stream).lines(), name: String::new() })
    }
}

/// The events of a run, as they come.
struct Events {
    lines: Lines<BufReader<TcpStream>>,
    name: String,
}

impl Iterator for Events {
    type Item = (String, Value);

    /// What frames them, in HTTP, is passed over.
    fn next(&mut self) -> Option<(String, Value)> {
        loop {
            let line = self.lines.next()?.ok()?;
            if let Some(name) = line.strip_prefix("event: ") {
                self.name = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((self.name.clone(), serde_json::from_str(data).ok()?));
            }
        }
    }
}

fn warned() -> Checked {
    let said = Lab::open(&["--listen", "127.0.0.1:0"])?.end()?;
    ensure(!said.contains("WARNING"), said)?;
    let said = Lab::open(&["--listen", "0.0.0.0:0"])?.end()?;
    ensure(said.contains("WARNING: 0.0.0.0:0 can be reached from other machines"), said)
}

fn simulated_only() -> Checked {
    let lab = Lab::open(&["--listen", "127.0.0.1:0"])?;
    let mut answer = lab.emulate(&scenario(1))?;
    let status = answer.lines.next().ok_or("an answer")??;
    ensure(status.starts_with("HTTP/1.1 403"), status)
}

fn seen() -> Checked {
    let lab = Lab::open(&["--listen", "127.0.0.1:0", "--emulate"])?;
    let all: Vec<(String, Value)> = lab.emulate(&scenario(3))?.collect();
    let (first, names) = all.first().ok_or("no event")?;
    ensure(first == "emulating" && names["flows"] == json!(["reno", "cubic"]), format!("{first} {names}"))?;
    let glimpses: Vec<&Value> = all.iter().filter(|(name, _)| name == "glimpse").map(|(_, it)| it).collect();
    for flow in 0..2 {
        let of: Vec<&&Value> = glimpses.iter().filter(|it| it["flow"] == json!(flow)).collect();
        let delivered: f64 = of.iter().filter_map(|it| it["delivered"].as_f64()).sum();
        ensure(of.len() >= 10, format!("{} glimpses of flow {flow}", of.len()))?;
        ensure(delivered > 100.0, format!("{delivered} segments of flow {flow}"))?;
    }
    ensure(glimpses.iter().any(|it| it["waiting"].as_u64() > Some(0)), "a queue was never seen")?;
    let (last, data) = all.last().ok_or("no event")?;
    let pictures = data["columns"].as_array().is_some_and(|it| !it.is_empty());
    ensure(last == "emulated" && pictures && data["emulation"].is_object(), format!("{last} {data}"))?;
    lab.until_alone()
}

fn closed() -> Checked {
    let lab = Lab::open(&["--listen", "127.0.0.1:0", "--emulate"])?;
    let mut events = lab.emulate(&scenario(100))?;
    ensure(events.any(|(name, _)| name == "glimpse"), "it never ran")?;
    ensure(lab.namespaces()?.len() > 1, "it has no hosts")?;
    drop(events);
    lab.until_alone()?;
    let last = lab.emulate(&scenario(1))?.last().ok_or("no event")?;
    ensure(last.0 == "emulated", format!("{last:?}"))
}

fn ended() -> Checked {
    let mut lab = Lab::open(&["--listen", "127.0.0.1:0", "--emulate"])?;
    let mut events = lab.emulate(&scenario(100))?;
    ensure(events.any(|(name, _)| name == "glimpse"), "it never ran")?;
    lab.end()?;
    // Namespaces end with those who are in them.
    let parent = lab.process.id().to_string();
    let children = Command::new("pgrep").args(["-P", &parent]).output()?;
    ensure(children.stdout.is_empty(), "it has left a process")?;
    ensure(!events.any(|(name, _)| name == "emulated"), "a run that was ended has no results")
}
