//! `ackclock lab` as a program: what it says where others reach it, and runs of the kernel's own TCP, which
//! end with the page that asked for them. Everything else of it is tested in its crate and in a browser.

mod common;

use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ackclock, ensure, in_real_time, stderr};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest that anything here may take.
const LONG: Duration = Duration::from_secs(60);

fn main() {
    let always: &[Named] = &[
        ("others_are_warned_of", warned),
        ("what_is_simulated_only_is_not_emulated", simulated_only),
        ("a_message_is_that_of_the_command_line", same_words),
        ("nothing_is_written", leaves_nothing),
    ];
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
        Lab::begin(Command::new(cargo_bin("ackclock")).args([&["lab"], arguments].concat()))
    }

    fn begin(command: &mut Command) -> Result<Lab, Failed> {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
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
        let stream = self.ask("/api/emulate", &run(text))?;
        Ok(Events { lines: BufReader::new(stream).lines(), name: String::new() })
    }

    /// The content of an answer.
    fn answer(&self, path: &str, body: &Value) -> Result<String, Failed> {
        let mut answer = String::new();
        self.ask(path, body)?.read_to_string(&mut answer)?;
        ensure(answer.starts_with("HTTP/1.1 200"), &*answer)?;
        Ok(answer.split_once("\r\n\r\n").ok_or("no content")?.1.to_owned())
    }

    fn ask(&self, path: &str, body: &Value) -> Result<TcpStream, Failed> {
        let body = body.to_string();
        let Lab { host, token, .. } = self;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LONG))?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nX-Ackclock-Token: {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        Ok(stream)
    }
}

/// A request for a run.
fn run(text: &str) -> Value {
    json!({"tab": "one", "variants": [{"name": "A", "text": text}]})
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

/// What is wrong with a scenario is told in the same words, and so is what to do.
fn same_words() -> Checked {
    let lab = Lab::open(&["--listen", "127.0.0.1:0"])?;
    let directory = tempfile::tempdir()?;
    let right = scenario(1);
    for (what, with) in [
        ("\"20 Mbit/s\"", "\"20\""),
        ("\"reno\"\ncontrol = \"reno\"", "\"reno\"\ncontrol = \"rino\""),
        ("duration", "durations"),
        ("\"1 bdp\"", "\"1 bdp"),
        (
            "[[flows]]\nlabel = \"cubic\"",
            "[[expect]]\nthat = \"goodputs('reno') > 1\"\n[[flows]]\nlabel = \"cubic\"",
        ),
    ] {
        let text = right.replacen(what, with, 1);
        ensure(text != right, what)?;
        let answer: Value = serde_json::from_str(&lab.answer("/api/form", &json!({"text": text}))?)?;
        let mut problem = answer["problem"].clone();
        if problem.is_null() {
            // What only a run finds.
            let events = lab.answer("/api/run", &run(&text))?;
            let data = events.lines().find_map(|line| line.strip_prefix("data: ")).ok_or(&*events)?;
            problem = serde_json::from_str::<Value>(data)?["problem"].clone();
        }
        fs::write(directory.path().join("scenario.toml"), &text)?;
        let output = ackclock(directory.path(), &["run", "scenario.toml"]);
        ensure(output.status.code() == Some(2), stderr(&output))?;
        // The command line breaks lines, and draws where it is beside them.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(&stderr(&output));
        for key in ["message", "help"] {
            let own = words(problem[key].as_str().ok_or_else(|| format!("no {key}: {answer}"))?);
            ensure(said.contains(&own), format!("{key} \"{own}\" is not in: {said}"))?;
        }
    }
    Ok(())
}

/// Neither where it runs nor at home nor where temporary files are.
fn leaves_nothing() -> Checked {
    let places = [tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?];
    let [here, home, scratch] = [0, 1, 2].map(|number: usize| places[number].path());
    let lab = Lab::begin(
        Command::new(cargo_bin("ackclock"))
            .args(["lab", "--listen", "127.0.0.1:0"])
            .current_dir(here)
            .env("HOME", home)
            .env("TMPDIR", scratch)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_CONFIG_HOME"),
    )?;
    let text = scenario(1).replace("control = \"reno\"", "control = \"reno\"\nfollow = 1");
    ensure(lab.answer("/api/run", &run(&text))?.contains("event: results"), "it ran")?;
    for what in ["report", "cwnd"] {
        let made = lab.answer("/api/export", &json!({"what": what, "run": run(&text)}))?;
        ensure(made.starts_with("{\"file\":"), &made[..made.len().min(200)])?;
    }
    for place in &places {
        let left: Vec<_> = fs::read_dir(place.path())?.flatten().map(|entry| entry.path()).collect();
        ensure(left.is_empty(), format!("{left:?}"))?;
    }
    Ok(())
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
    let (last, data) = all.last().ok_or("no event")?;
    let pictures = data["columns"].as_array().is_some_and(|it| !it.is_empty());
    ensure(last == "emulated" && pictures, format!("{last} {data}"))?;
    let lateness = &data["emulation"]["lateness"];
    ensure(lateness["count"].as_u64() > Some(0), format!("{lateness}"))?;
    let times = ["mean_s", "p99_s"].map(|key| lateness[key].as_f64().unwrap_or(f64::NAN));
    ensure(times[0] > 0.0 && times[0] <= times[1], format!("{lateness}"))?;
    let glimpses: Vec<&Value> = all.iter().filter(|(name, _)| name == "glimpse").map(|(_, it)| it).collect();
    for flow in 0..2 {
        let of: Vec<&&Value> = glimpses.iter().filter(|it| it["flow"] == json!(flow)).collect();
        ensure(of.len() >= 10, format!("{} glimpses of flow {flow}", of.len()))?;
        let last = of.last().ok_or("no glimpse")?;
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let segments = number(&last["delivered"]) * number(&names["payload"][flow]) * 8e-6;
        let seen = segments / number(&last["at"]);
        let goodput = goodput(data, flow)?;
        ensure((seen / goodput - 1.0).abs() < 0.2, format!("flow {flow}: {seen} and {goodput} Mbit/s"))?;
    }
    ensure(glimpses.iter().any(|it| it["waiting"].as_u64() > Some(0)), "a queue was never seen")?;
    lab.until_alone()
}

/// The goodput of a group of flows in a result, Mbit/s.
fn goodput(data: &Value, group: usize) -> Result<f64, Failed> {
    let table = &data["found"]["tables"][0];
    let mut header = table["header"].as_array().ok_or("no header")?.iter();
    let column = header.position(|name| *name == "goodput\nMbit/s").ok_or_else(|| format!("{table}"))?;
    Ok(table["rows"][group][column].as_str().ok_or("no goodput")?.parse()?)
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
    let began = lab.namespaces()?;
    let mut events = lab.emulate(&scenario(100))?;
    ensure(events.any(|(name, _)| name == "glimpse"), "it never ran")?;
    let made: BTreeSet<PathBuf> = lab.namespaces()?.difference(&began).cloned().collect();
    ensure(!made.is_empty(), "it has no hosts")?;
    let processes = descendants(lab.process.id())?;
    lab.end()?;
    let left: Vec<&u32> =
        processes.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
    ensure(left.is_empty(), format!("it has left the processes {left:?}"))?;
    let held = held(&made)?;
    ensure(held.is_empty(), format!("its namespaces are still there: {held:?}"))?;
    ensure(!events.any(|(name, _)| name == "emulated"), "a run that was ended has no results")
}

/// The processes that came from a process.
fn descendants(of: u32) -> Result<BTreeSet<u32>, Failed> {
    // "number (name) state parent ..."; a name may contain anything.
    let parent = |pid: u32| -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let parents: Vec<(u32, u32)> =
        processes()?.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut all = BTreeSet::from([of]);
    while let Some(&(pid, _)) =
        parents.iter().find(|(pid, parent)| all.contains(parent) && !all.contains(pid))
    {
        all.insert(pid);
    }
    all.remove(&of);
    Ok(all)
}

fn processes() -> Result<Vec<u32>, Failed> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// Who is in one of these network namespaces, has one open, or has one mounted.
fn held(namespaces: &BTreeSet<PathBuf>) -> Result<Vec<String>, Failed> {
    let mut all = Vec::new();
    for pid in processes()? {
        let place = PathBuf::from(format!("/proc/{pid}"));
        let within = |name: &str| fs::read_dir(place.join(name)).into_iter().flatten().flatten();
        let threads = within("task").map(|thread| thread.path().join("ns/net"));
        let links = threads.chain(within("fd").map(|file| file.path()));
        let holds = |link: &PathBuf| fs::read_link(link).is_ok_and(|name| namespaces.contains(&name));
        all.extend(links.filter(holds).map(|link| link.display().to_string()));
        let mounts = fs::read_to_string(place.join("mountinfo")).unwrap_or_default();
        let mounted = |name: &&PathBuf| mounts.contains(&*name.to_string_lossy());
        all.extend(
            namespaces.iter().filter(mounted).map(|name| format!("{pid} has mounted {}", name.display())),
        );
    }
    Ok(all)
}
