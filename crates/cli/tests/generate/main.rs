//! `ackclock generate`, `agent` and `certificates` as programs: on one host, between namespaces of the
//! kernel, with iperf3.

#[path = "../common/mod.rs"]
mod common;
mod emulated;
mod hosts;
mod iperf3;
mod kernel;
mod long;

use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ensure, fields, in_real_time_and_long};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn main() {
    let always: &[Named] = &[
        ("the_first_script_of_the_page_runs", first),
        ("the_scripts_of_the_thesis_make_sense", thesis),
        ("wrong_use_is_explained", wrong_use),
        ("keys_are_private_and_nothing_is_replaced", keys),
    ];
    let mut always = always.to_vec();
    match Command::new("iperf3").arg("--version").output() {
        Ok(_) => always.extend(iperf3::WITH_IPERF3),
        Err(error) => skipped(iperf3::WITH_IPERF3, &format!("iperf3 ({error}; make tools installs it)")),
    }
    let mut privileged = [hosts::PRIVILEGED, emulated::PRIVILEGED].concat();
    match kernel::lack() {
        None => privileged.extend(kernel::PRIVILEGED),
        Some(lack) => skipped(kernel::PRIVILEGED, &lack),
    }
    in_real_time_and_long(&always, &privileged, long::LONG);
}

fn skipped(tests: &[Named], why: &str) {
    let names: Vec<&str> = tests.iter().map(|&(name, _)| name).collect();
    eprintln!("SKIPPED: {why}: {}", names.join(", "));
}

/// A directory of one's own.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        Ok(Place(tempfile::tempdir()?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn plain(&self, mut command: Command) -> Command {
        command.current_dir(self.0.path()).env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn ackclock(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("ackclock"));
        command.args(arguments);
        self.plain(command)
    }

    /// Starts what listens, and waits until it says where.
    fn listening(&self, mut command: Command, log: &str) -> Result<Process, Failed> {
        let child = command.stderr(fs::File::create(self.path(log))?).spawn()?;
        let process = Process(child);
        let begun = Instant::now();
        while !fs::read_to_string(self.path(log))?.contains("listens on") {
            ensure(begun.elapsed() < Duration::from_secs(20), fs::read_to_string(self.path(log))?)?;
            sleep(Duration::from_millis(5));
        }
        Ok(process)
    }
}

/// A process that does not outlive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn done(output: &Output) -> Result<String, Failed> {
    let (said, errors) = text(output);
    ensure(output.status.success(), format!("{said}\n{errors}"))?;
    Ok(said)
}

/// A script of the page: its code block that begins with this line.
fn of_page(line: &str) -> Result<String, Failed> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/generate.md");
    let page = fs::read_to_string(page)?;
    let block = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut found = block.filter(|block| block.starts_with(line));
    found.next().map(str::to_owned).ok_or_else(|| format!("the page has no block {line}").into())
}

/// The port of the page is the usual one, which another agent of this machine may have.
fn first() -> Checked {
    let place = Place::new()?;
    done(&place.ackclock(&["certificates", "certificates", "localhost"]).output()?)?;
    let agent = place.ackclock(&["agent", "--listen", "127.0.0.1:24310", "--json"]);
    let mut agent = place.listening(agent, "agent")?;
    let mut notes = BufReader::new(agent.0.stdout.take().ok_or("no standard output")?);
    let script =
        of_page("cluster {")?.replace("test localhost", "test localhost:24310").replace("42015", "24315");
    fs::write(place.path("first.netspec"), script)?;
    let check = done(&place.ackclock(&["generate", "first.netspec", "--check"]).output()?)?;
    ensure(check.contains("51328000 bytes at 204.80 Mbit/s"), check)?;
    let said = done(&place.ackclock(&["generate", "first.netspec"]).output()?)?;
    ensure(said.matches("51328000").count() == 2, said)?;
    // The same script again: the ports are free at once.
    let said = done(&place.ackclock(&["generate", "first.netspec", "--json", "--out", "out"]).output()?)?;
    let said: Value = serde_json::from_str(&said)?;
    let kept: Value = serde_json::from_str(&fs::read_to_string(place.path("out/generate.json"))?)?;
    ensure(said == kept && said["transfers"][0]["failed"].is_null(), format!("{said}"))?;
    documents(&said["transfers"][0])?;
    // What the agent has told meanwhile.
    let mut note = String::new();
    notes.read_line(&mut note)?;
    let note: Value = serde_json::from_str(&note)?;
    fields(&note, &["peer", "error", "text", "received_bytes", "sent_bytes"])?;
    ensure(note["text"] == "controller controls" && note["error"].is_null(), format!("{note}"))
}

/// The fields of the contract (json.md).
fn documents(transfer: &Value) -> Checked {
    fields(transfer, &["protocol", "burst", "source", "sink", "failed"])?;
    let burst = serde_json::json!({ "size": 128_000, "every_s": 0.005, "for_s": 2.0, "queued": false });
    ensure(transfer["burst"] == burst, format!("{transfer}"))?;
    for end in ["source", "sink"] {
        fields(&transfer[end], &["host", "own", "report"])?;
        let report = &transfer[end]["report"];
        let wanted = [
            &["bytes", "duration_s", "throughput_bps", "calls", "control", "retransmissions", "retransmits"]
                [..],
            &["bursts", "datagrams", "error"],
        ];
        fields(report, &wanted.concat())?;
        ensure(report["retransmits"] == report["retransmissions"], format!("{report}"))?;
    }
    let bursts = &transfer["source"]["report"]["bursts"];
    let counts = ["written", "due", "failed_cycles", "skipped", "within_200us"];
    let times = ["late_p50_us", "late_p99_us", "late_max_us", "late_p50_s", "late_p99_s", "late_max_s"];
    fields(bursts, &[&counts[..], &times].concat())?;
    let [us, seconds] = ["late_max_us", "late_max_s"].map(|key| bursts[key].as_f64().unwrap_or(f64::NAN));
    ensure((us * 1e-6 - seconds).abs() < 1e-9, format!("{bursts}"))
}

fn thesis() -> Checked {
    let place = Place::new()?;
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/generate");
    let mut count = 0;
    for script in fs::read_dir(scripts)? {
        let path = script?.path();
        let mut command = place.ackclock(&["generate", "--check", "--json"]);
        let said = done(&command.arg(&path).output()?)?;
        let said: Value = serde_json::from_str(&said)?;
        ensure(said["transfers"].as_array().is_some_and(|it| !it.is_empty()), format!("{said}"))?;
        count += 1;
    }
    ensure(count >= 3, "the scripts are gone")
}

fn wrong_use() -> Checked {
    let place = Place::new()?;
    fs::write(place.path("bad.netspec"), "cluster {\n  test a { type = brust; protocol = tcp; }\n}\n")?;
    let good = "cluster { test localhost:24311 { type = full; protocol = tcp; peer = localhost:24315; } test \
                localhost:24311 { type = sink; protocol = tcp; own = localhost:24315; } }";
    fs::write(place.path("good.netspec"), good)?;
    fs::write(place.path("policy.toml"), "[[allow]]\nwho = []\n")?;
    let cases: &[(&[&str], &str)] = &[
        (&["generate", "nowhere"], "No such file"),
        (&["generate", "bad.netspec"], "bad.netspec:2:19"),
        (&["generate", "bad.netspec"], "burst"),
        (&["generate", "good.netspec"], "ackclock certificates"),
        (&["agent"], "ackclock certificates"),
        (&["agent", "--policy", "policy.toml"], "towards"),
        (&["certificates", "c", "../a"], "no name"),
        (&["certificates", "c", "a", "a"], "already"),
    ];
    for (arguments, wanted) in cases {
        let output = place.ackclock(arguments).output()?;
        let (said, errors) = text(&output);
        let told = output.status.code() == Some(2) && said.is_empty() && errors.contains(wanted);
        ensure(told, format!("{arguments:?}: {errors}"))?;
    }
    done(&place.ackclock(&["certificates", "certificates", "localhost"]).output()?)?;
    let output = place.ackclock(&["generate", "good.netspec"]).output()?;
    ensure(
        output.status.code() == Some(2) && text(&output).1.contains("is the agent running"),
        text(&output).1,
    )
}

fn keys() -> Checked {
    let place = Place::new()?;
    let made = done(&place.ackclock(&["certificates", "c", "a.example"]).output()?)?;
    ensure(made.lines().count() == 6, made)?;
    for name in ["ca.key", "controller.key", "a.example.key"] {
        let mode = fs::metadata(place.path("c").join(name))?.permissions().mode();
        ensure(mode & 0o777 == 0o600, format!("{name}: {mode:o}"))?;
    }
    let before = fs::read(place.path("c/ca.pem"))?;
    let again = place.ackclock(&["certificates", "c", "a.example"]).output()?;
    ensure(again.status.code() == Some(2) && text(&again).1.contains("already"), text(&again).1)?;
    let more = done(&place.ackclock(&["certificates", "c", "b.example", "--user", "bob"]).output()?)?;
    ensure(more.lines().count() == 4 && fs::read(place.path("c/ca.pem"))? == before, more)
}
