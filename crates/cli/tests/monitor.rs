//! `ackclock monitor` and `ackclock advise` as programs: over emulated paths, with what goes wrong.

mod common;

use ackclock_monitor::{Archive, Known, Moment, Quantity, Row, Sample};
use ackclock_units::Duration as Span;
use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ensure, fields, in_real_time_and_long, listing, shell, stderr, stdout};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn main() {
    let always: &[Named] = &[
        ("what_is_archived_is_advised", advised),
        ("a_burst_has_the_same_words_everywhere", words),
        ("wrong_use_is_explained", wrong_use),
        ("a_probe_that_fails_is_told_and_the_others_go_on", failing),
        ("a_running_monitor_is_asked", asked),
        ("a_clock_that_is_set_is_told", clock_set),
    ];
    let long: &[Named] = &[("twelve_paths", twelve_paths), ("monitored_by_ten_million_rows", ten_million)];
    let privileged: &[Named] = &[
        ("files_of_other_users_are_refused", others),
        ("a_full_disk_is_survived", full_disk),
        ("a_killed_monitor_loses_at_most_a_second", killed),
        ("the_path_of_the_thesis", thesis),
        ("a_slow_path", slow),
        ("a_search_finds_the_rate_at_which_losses_begin", searched),
        ("a_competing_flow_withdraws_the_advice_to_do_without_control", competing),
    ];
    in_real_time_and_long(always, privileged, long);
}

struct Place(TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        Ok(Place(tempfile::tempdir()?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Checked {
        Ok(fs::write(self.path(name), text)?)
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path());
        command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb").env("COLUMNS", "100");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn ackclock(&self, arguments: &[&str]) -> Result<Output, Failed> {
        Ok(self.command(&cargo_bin("ackclock"), arguments).output()?)
    }

    /// The advice on a host, as JSON.
    fn advice(&self, arguments: &[&str]) -> Result<Value, Failed> {
        let output = self.ackclock(&[&["advise", "far", "--json"], arguments].concat())?;
        ensure(output.status.success(), stderr(&output))?;
        Ok(serde_json::from_str(&stdout(&output))?)
    }

    /// The median of what was measured.
    fn median(&self, quantity: Quantity) -> Result<f64, Failed> {
        let archive = Archive::open(&self.path("monitor.sqlite"))?;
        let host = archive.hosts()?.remove(0).id;
        let all = archive.samples(host, quantity, (Moment(0), Moment::now()), 999)?;
        let mut all: Vec<f64> = all.iter().map(|sample| sample.value).collect();
        all.sort_by(f64::total_cmp);
        ensure(all.len() >= 5, format!("{} samples of {}", all.len(), quantity.name()))?;
        Ok(all[all.len() / 2])
    }

    /// An archive of a path that was quiet for the last 20 minutes.
    fn quiet(&self, address: &str, capacity: f64, rtt: f64) -> Checked {
        let mut archive = Archive::create(&self.path("monitor.sqlite"))?;
        let (ping, transfer) = (Span::from_secs(10), Span::from_secs(3600));
        let (name, address) = ("far".to_owned(), address.to_owned());
        let host = archive.describe(&Known { id: 0, name, address, uncontrolled: true, ping, transfer })?;
        let now = Moment::now();
        let row = |quantity, ago, value| Row {
            host,
            quantity,
            sample: Sample { at: now.before(Span::from_millis(ago)), value },
        };
        for ping in 0..120 {
            let ago = 10_000 * ping + 1000;
            let values = [
                (Quantity::Rtt, rtt),
                (Quantity::Lost, 0.0),
                (Quantity::Sent, 1e3),
                (Quantity::Retransmissions, 0.0),
            ];
            archive.write(&values.map(|(quantity, value)| row(quantity, ago, value)))?;
        }
        for transfer in 0..6 {
            let ago = 3_600_000 * transfer + 60_000;
            let values =
                [(Quantity::Capacity, capacity), (Quantity::Waiting, rtt), (Quantity::ClosingWindow, 100.0)];
            archive.write(&values.map(|(quantity, value)| row(quantity, ago, value)))?;
        }
        Ok(())
    }

    /// Emulates a path. `serve` runs in the receiving host, `line` is a shell's line in the sending one.
    /// "ackclock" stands for the program.
    fn emulate(&self, rate: &str, delay: &str, serve: &str, line: &str) -> Result<Output, Failed> {
        let path = format!(
            "name = \"a path\"\nduration = \"120 s\"\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"{rate}\", delay = \"{delay}\", queue = {{ droptail = \"1 bdp\" }} }}\n"
        );
        self.write("path.toml", &path)?;
        let program = cargo_bin("ackclock").display().to_string();
        let (serve, line) = (serve.replace("ackclock", &program), line.replace("ackclock", &program));
        self.ackclock(&["emulate", "path.toml", "--serve", &serve, "--", "sh", "-c", &line])
    }
}

fn number(value: &Value, pointer: &str) -> Result<f64, Failed> {
    value.pointer(pointer).and_then(Value::as_f64).ok_or_else(|| format!("{pointer}: {value}").into())
}

fn near(what: &str, value: f64, wanted: f64, share: f64) -> Checked {
    ensure((value / wanted - 1.0).abs() <= share, format!("{what}: {value}, and {wanted} is wanted"))
}

/// Exact answers from an archive.
fn advised() -> Checked {
    let place = Place::new()?;
    place.quiet("192.0.2.1", 622e6, 0.067)?;
    let advice = place.advice(&["--control", "reno", "--control", "none"])?;
    ensure(advice["buffer_bytes"]["value"] == 5_209_250, format!("{advice}"))?;
    ensure(advice["buffer_bytes"]["basis"]["samples"] == 6, format!("{advice}"))?;
    ensure(advice["first_window_segments"]["value"] == 100, format!("{advice}"))?;
    ensure(advice["burst_bytes"]["value"] == 622_000, format!("{advice}"))?;
    ensure(advice["without_control_window_bytes"]["value"] == 2_604_625, format!("{advice}"))?;
    ensure(advice["throughput"][0]["control"] == "none", format!("{advice}"))?;
    let advised = ["buffer_bytes", "first_window_segments", "burst_bytes", "without_control_window_bytes"];
    let other = ["host", "address", "burst", "burst_period_s", "path", "losses_begin", "clock_set_by_s"];
    fields(&advice, &[&advised[..], &other, &["size_bytes", "throughput"]].concat())?;
    for key in advised.iter().chain(&["path"]) {
        fields(&advice[key], &["value", "basis"])?;
        fields(&advice[key]["basis"], &["samples", "age_s", "interval_s"])?;
    }
    fields(&advice["path"]["value"], &["capacity_bps", "rtt_s", "queue_bytes", "queue_seen", "loss"])?;
    fields(&advice["throughput"][0], &["control", "bps", "least_bps", "greatest_bps", "complete"])?;
    let text = stdout(&place.ackclock(&["advise", "192.0.2.1", "--size", "10 kB"])?);
    for word in ["5209250 B", "622000 B", "6 samples over 5.0 h", "cubic", "622.000 Mbit/s"] {
        ensure(text.contains(word), format!("{word} is not in\n{text}"))?;
    }
    let csv = stdout(&place.ackclock(&["advise", "far", "--csv"])?);
    ensure(csv.starts_with("quantity,time_s,value\nrtt_seconds,"), csv.clone())?;
    ensure(csv.lines().count() == 1 + 4 * 120 + 3 * 6, format!("{} lines", csv.lines().count()))?;
    // Nothing is old enough for the means of hours.
    let hours = stdout(&place.ackclock(&["advise", "far", "--hours"])?);
    ensure(hours == "quantity,time_s,samples,mean,least,greatest\n", hours)?;
    let mut archive = Archive::create(&place.path("monitor.sqlite"))?;
    let later = Moment::now().after(Span::from_secs(15 * 24 * 3600));
    while archive.thin(later)? {}
    let hours = stdout(&place.ackclock(&["advise", "far", "--hours"])?);
    ensure(
        hours.lines().any(|line| line.starts_with("rtt_seconds,") && line.ends_with(",0.067,0.067,0.067")),
        hours,
    )
}

/// Advice on a burst goes into a server's flag, a request's field, a script and a scenario as it is. All of
/// them tell of it in the words of the table in scenario.md.
fn words() -> Checked {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/scenario.md");
    let page = fs::read_to_string(page)?;
    for word in ["`bursts.size`", "`--burst \"SIZE/EVERY\"`", "`Burst: SIZE/EVERY`", "`advise --every`"] {
        ensure(page.contains(word), format!("the table has no {word}"))?;
    }
    let place = Place::new()?;
    place.quiet("192.0.2.1", 622e6, 0.067)?;
    let wanted = |burst: &Value| burst["size"] == 622_000 && burst["every_s"] == 0.01;
    // Advice, by both names of its flag.
    for flag in ["--every", "--period"] {
        let advice = place.advice(&[flag, "10 ms", "--control", "none"])?;
        ensure(wanted(&advice["burst"]), format!("{flag}: {advice}"))?;
        ensure(advice["burst_period_s"] == 0.01, format!("{advice}"))?;
    }
    let text = stdout(&place.ackclock(&["advise", "far", "--control", "none"])?);
    let row = text.lines().find(|line| line.trim().starts_with("burst ")).ok_or("no row of bursts")?;
    let burst = row.split("  ").map(str::trim).find(|cell| cell.contains('/')).ok_or("no burst")?;
    ensure(burst == "622000 B/10 ms", burst)?;
    let [size, every] = burst.split('/').collect::<Vec<_>>()[..] else { return Err(burst.into()) };

    // A server, by its flag, and by a request's field.
    fs::create_dir(place.path("www"))?;
    place.write("www/file", "what is served\n")?;
    let field = format!("Burst: {burst}\r\n");
    for (flag, field) in [(&["--burst", burst][..], ""), (&[], &field)] {
        let arguments = [&["serve", "www", "--listen", "127.0.0.1:0", "--json"], flag].concat();
        let mut server = place.command(&cargo_bin("ackclock"), &arguments).spawn()?;
        let mut said = String::new();
        BufReader::new(server.stderr.take().ok_or("no standard error")?).read_line(&mut said)?;
        let mut stream = TcpStream::connect(said.trim().rsplit("http://").next().unwrap_or(""))?;
        write!(stream, "GET /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{field}\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Command::new("kill").arg("-INT").arg(server.id().to_string()).status()?;
        let log = stdout(&server.wait_with_output()?);
        let entry: Value = serde_json::from_str(log.lines().next().ok_or(answer)?)?;
        ensure(wanted(&entry["burst"]) && entry["retransmits"] == 0, log)?;
    }

    // A script, in both languages.
    for (kind, queued) in [
        (format!("burst (size=\"{size}\", every=\"{every}\", for=\"2 s\", queued=true)"), true),
        ("burst (blocksize=622000, period=10000, duration=2)".to_owned(), false),
    ] {
        let script = format!(
            "cluster {{ test a {{ type = {kind}; protocol = tcp; peer = b:1; }} \
             test b {{ type = sink (for=\"2 s\"); protocol = tcp; own = b:1; }} }}"
        );
        place.write("script", &script)?;
        let output = place.ackclock(&["generate", "script", "--check", "--json"])?;
        let said: Value = serde_json::from_str(&stdout(&output)).map_err(|_| stderr(&output))?;
        let said = &said["transfers"][0]["burst"];
        ensure(wanted(said) && said["for_s"] == 2.0 && said["queued"] == queued, format!("{said}"))?;
    }

    // A scenario.
    let scenario = format!(
        "name = \"bursts\"\nduration = \"3 s\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"622 Mbit/s\", \
         delay = \"1 ms\", queue = {{ droptail = \"1 bdp\" }} }}\n[[flows]]\ncontrol = \"none\"\n\
         bursts = {{ size = \"{size}\", every = \"{every}\", for = \"2 s\", queued = true }}\n"
    );
    place.write("bursts.toml", &scenario)?;
    let output = place.ackclock(&["run", "bursts.toml", "--json"])?;
    let said: Value = serde_json::from_str(&stdout(&output)).map_err(|_| stderr(&output))?;
    let bursts = &said["points"][0]["flows"][0]["bursts"];
    ensure(bursts["size_bytes"] == 622_000 && bursts["due"] == 201, format!("{bursts}"))
}

/// A running monitor tells what its archive tells. It stops when it is told to.
fn asked() -> Checked {
    let place = Place::new()?;
    place.quiet("127.0.0.1", 622e6, 0.067)?;
    let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    place.write(
        "m.toml",
        &format!(
            "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\nping = {{ every = \"1 h\" }}\n\
             transfer = {{ port = 1 }}\n[publish]\nlisten = \"{free}\"\n"
        ),
    )?;
    let program = cargo_bin("ackclock");
    let mut monitor = place.command(&program, &["monitor", "m.toml"]).spawn()?;
    let url = format!("http://{free}");
    let begun = Instant::now();
    while std::net::TcpStream::connect(free).is_err() {
        ensure(begun.elapsed() < Duration::from_secs(20), "nothing is published")?;
        sleep(Duration::from_millis(20));
    }
    let controls = ["--control", "reno", "--control", "none"];
    let mut here = place.advice(&controls)?;
    let mut there = place.advice(&[&["--from", &url], &controls[..]].concat())?;
    for document in [&mut here, &mut there] {
        ensure(document["buffer_bytes"]["value"] == 5_209_250, format!("{document}"))?;
        forget_ages(document);
    }
    ensure(here == there, format!("{here}\n{there}"))?;
    let text = stdout(&place.ackclock(&["advise", "far", "--from", &url, "--control", "none"])?);
    ensure(text.contains("622000 B") && text.contains("622.000 Mbit/s"), text)?;
    let refused = stderr(&place.ackclock(&["advise", "near", "--from", &url])?);
    ensure(refused.contains("there is no such host; there is far"), refused)?;
    let question = |path: &str| -> Result<Value, Failed> {
        Ok(serde_json::from_str(&ackclock_monitor::ask(&url, path)?)?)
    };
    let info = question("/api/v1/info?host=far")?;
    fields(&info, &["host", "address", "average_over_s", "quantities", "routes"])?;
    fields(&info["quantities"]["rtt_seconds"], &["newest", "age_s", "average"])?;
    let average = &info["quantities"]["rtt_seconds"]["average"];
    fields(average, &["mean", "least", "greatest", "samples"])?;
    fields(&question("/api/v1/info")?, &["hosts"])?;
    let forecast = question("/api/v1/forecast?host=far&control=none")?;
    fields(&forecast, &["host", "size_bytes", "throughput"])?;
    let metrics = ackclock_monitor::ask(&url, "/metrics")?;
    ensure(metrics.contains("ackclock_rtt_seconds{host=\"far\",address=\"127.0.0.1\"} 0.067\n"), metrics)?;
    let stop = Command::new("kill").arg("-INT").arg(monitor.id().to_string()).status()?;
    ensure(stop.success(), "it cannot be told")?;
    let begun = Instant::now();
    let status = monitor.wait()?;
    ensure(begun.elapsed() < Duration::from_secs(5), "it does not stop")?;
    ensure(status.code().is_some(), format!("{status}"))?;
    let silent = stderr(&place.ackclock(&["advise", "far", "--from", &url])?);
    ensure(silent.contains("does not answer"), silent)
}

/// Ages differ by the time between two questions.
fn forget_ages(document: &mut Value) {
    match document {
        Value::Object(fields) => {
            fields.remove("age_s");
            fields.values_mut().for_each(forget_ages);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_ages),
        _ => {}
    }
}

fn wrong_use() -> Checked {
    let place = Place::new()?;
    place.quiet("192.0.2.1", 1e6, 0.01)?;
    place.write("text.sqlite", &"no database at all\n".repeat(100))?;
    place.write(
        "step.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"192.0.2.1\"\nping = { evry = \"1 s\" }\n",
    )?;
    place.write(
        "foreign.toml",
        "archive = \"text.sqlite\"\n[[hosts]]\nname = \"a\"\naddress = \"127.0.0.1\"\n",
    )?;
    place.write("port.toml", "[sink]\nlisten = \"192.0.2.99:5310\"\nallow = [\"127.0.0.1\"]\n")?;
    let cases: [(&[&str], &str); 9] = [
        (&["advise", "far", "--from", "http://127.0.0.1:1"], "127.0.0.1:1 does not answer"),
        (&["advise", "far", "--from", "far:80"], "is no address of a monitor"),
        (&["advise", "fare"], "did you mean \"far\""),
        (&["advise", "far", "--archive", "none.sqlite"], "there is no archive none.sqlite"),
        (&["advise", "far", "--archive", "text.sqlite"], "is not an archive of ackclock monitor"),
        (&["advise", "far", "--control", "cubik"], "did you mean \"cubic\""),
        (&["monitor", "step.toml"], "did you mean \"every\""),
        (&["monitor", "foreign.toml"], "is not an archive of ackclock monitor"),
        (&["monitor", "port.toml"], "nothing can listen on 192.0.2.99:5310"),
    ];
    for (arguments, says) in cases {
        let output = place.ackclock(arguments)?;
        let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        ensure(output.status.code() == Some(2), format!("{arguments:?}: {:?} {said}", output.status))?;
        ensure(said.contains(says), format!("{arguments:?}: {said}"))?;
    }
    Ok(())
}

/// Nobody takes transfers on this port; the monitor ends in time all the same, and has what else there is.
fn failing() -> Checked {
    let place = Place::new()?;
    place.write(
        "m.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\nping = { every = \"100 ms\" }\n\
         transfer = { port = 1, every = \"1 s\", length = \"500 ms\" }\n",
    )?;
    let output = place.ackclock(&["monitor", "m.toml", "--for", "2500 ms"])?;
    ensure(output.status.success(), stderr(&output))?;
    let said = stderr(&output);
    ensure(said.matches("far: transfer fails: Connection refused").count() == 1, said.clone())?;
    let output = place.ackclock(&["monitor", "m.toml", "--for", "2500 ms", "--json"])?;
    let said = stdout(&output);
    let news: Vec<Value> = said.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let fails = |it: &&Value| it["news"] == "fails" && it["probe"] == "transfer" && it["host"] == "far";
    ensure(news.iter().filter(fails).count() == 1, &*said)?;
    fields(news.iter().find(fails).unwrap_or(&Value::Null), &["news", "host", "probe", "reason"])?;
    ensure(!stderr(&output).contains("fails"), stderr(&output))?;
    let archive = Archive::open(&place.path("monitor.sqlite"))?;
    let host = archive.hosts()?.remove(0).id;
    let sent = archive.samples(host, Quantity::Sent, (Moment(0), Moment::now()), 999)?;
    ensure(sent.len() >= 5, format!("{} samples", sent.len()))
}

/// A library that the program is started with: its system clock is an hour ahead as soon as there is a file.
/// The clock of this machine stays as it is.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME && access(getenv("AHEAD"), F_OK) == 0)
        time->tv_sec += 3600;
    return failed;
}
"#;

/// Somebody sets the clock while a monitor runs, and sets it back.
fn clock_set() -> Checked {
    let place = Place::new()?;
    place.write("clock.c", CLOCK)?;
    let made = place.command(Path::new("cc"), &["-shared", "-fPIC", "-o", "clock.so", "clock.c"]).output()?;
    ensure(made.status.success(), stderr(&made))?;
    place.write(
        "m.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\nping = { every = \"100 ms\" }\n",
    )?;
    let mut command = place.command(&cargo_bin("ackclock"), &["monitor", "m.toml", "--json"]);
    command.env("LD_PRELOAD", place.path("clock.so")).env("AHEAD", place.path("ahead"));
    let mut monitor = command.spawn()?;
    let mut news = BufReader::new(monitor.stdout.take().ok_or("no standard output")?);
    let begun = Instant::now();
    while !place.path("monitor.sqlite").exists() {
        ensure(begun.elapsed() < Duration::from_secs(30), "it does not begin")?;
        sleep(Duration::from_millis(50));
    }
    sleep(Duration::from_secs(1));
    for (change, by) in [("ahead", 3600.0), ("back", -3600.0)] {
        match change {
            "ahead" => place.write("ahead", "")?,
            _ => fs::remove_file(place.path("ahead"))?,
        }
        // A monitor that says nothing would hold this up: what it says is all that is waited for.
        let mut said = String::new();
        let step = loop {
            said.clear();
            ensure(news.read_line(&mut said)? > 0, format!("{change}: it has ended"))?;
            let said: Value = serde_json::from_str(&said)?;
            if said["news"] == "clock_set" {
                break number(&said, "/by_s")?;
            }
        };
        ensure((step - by).abs() < 1.0, format!("{change}: by {step} s"))?;
    }
    let stop = Command::new("kill").arg("-INT").arg(monitor.id().to_string()).status()?;
    ensure(stop.success() && monitor.wait()?.code() == Some(0), "it does not end as it should")?;
    let told = stderr(&place.ackclock(&["advise", "far", "--control", "none"])?);
    ensure(told.contains("clock was set by"), told)
}

/// The archive, and each of the files that SQLite may have beside it.
fn others() -> Checked {
    for added in ["", "-wal", "-shm", "-journal"] {
        let place = Place::new()?;
        place.write("m.toml", "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\n")?;
        drop(Archive::create(&place.path("monitor.sqlite"))?);
        let planted = place.path(&format!("monitor.sqlite{added}"));
        fs::OpenOptions::new().append(true).create(true).open(&planted)?;
        std::os::unix::fs::chown(&planted, Some(65534), Some(65534))?;
        let output = place.ackclock(&["monitor", "m.toml", "--for", "1s"])?;
        let said = stderr(&output);
        let said: Vec<&str> = said.split_whitespace().filter(|it| *it != "│").collect();
        let said = said.join(" ");
        ensure(output.status.code() == Some(2), format!("{added}: {said}"))?;
        ensure(said.contains("belongs to another user"), said)?;
    }
    Ok(())
}

/// A file system of a megabyte, until this is dropped.
struct Disk(PathBuf);

impl Disk {
    fn at(path: PathBuf) -> Result<Disk, Failed> {
        fs::create_dir(&path)?;
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&path).output()?;
        ensure(mounted.status.success(), stderr(&mounted))?;
        Ok(Disk(path))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// A disk that somebody else fills, and frees again: the monitor says so, keeps its samples in memory, and
/// writes all of them. None is missing in between.
fn full_disk() -> Checked {
    let place = Place::new()?;
    let disk = Disk::at(place.path("disk"))?;
    place.write(
        "disk/m.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\nping = { every = \"100 ms\" }\n",
    )?;
    let mut command = place.command(&cargo_bin("ackclock"), &["monitor", "m.toml", "--json"]);
    let mut monitor = command.current_dir(&disk.0).spawn()?;
    let news = BufReader::new(monitor.stdout.take().ok_or("no standard output")?);
    let (tell, told) = std::sync::mpsc::channel();
    // It ends with the monitor.
    std::thread::spawn(move || news.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
    let wait = |wanted: &str| -> Result<Value, Failed> {
        let begun = Instant::now();
        loop {
            let left = Duration::from_secs(60).saturating_sub(begun.elapsed());
            let line = told.recv_timeout(left).map_err(|_| format!("it never says {wanted}"))?;
            let said: Value = serde_json::from_str(&line)?;
            if said["news"] == wanted {
                return Ok(said);
            }
        }
    };
    let archive = disk.0.join("monitor.sqlite");
    let times = || -> Result<Vec<Moment>, Failed> {
        let archive = Archive::open(&archive)?;
        let host = archive.hosts()?.first().ok_or("no host")?.id;
        let all = archive.samples(host, Quantity::Rtt, (Moment(0), Moment::now()), 9999)?;
        Ok(all.iter().map(|sample| sample.at).collect())
    };
    let begun = Instant::now();
    while times().map_or(0, |times| times.len()) < 10 {
        ensure(begun.elapsed() < Duration::from_secs(30), "nothing is written")?;
        sleep(Duration::from_millis(100));
    }
    // To the last byte: the monitor's own files have no room to grow.
    let filler = disk.0.join("filler");
    let mut file = fs::File::create(&filler)?;
    while file.write_all(&[7; 4096]).is_ok() {}
    drop(file);
    let full = Moment::now();
    let said = wait("waiting")?;
    ensure(said["reason"].as_str().is_some_and(|it| it.contains("full")), format!("{said}"))?;
    ensure(monitor.try_wait()?.is_none(), "it has ended")?;
    sleep(Duration::from_secs(1));
    fs::remove_file(&filler)?;
    let freed = Moment::now();
    wait("written")?;
    let begun = Instant::now();
    while times()?.last().is_none_or(|&last| last <= freed) {
        ensure(begun.elapsed() < Duration::from_secs(30), "nothing new is written")?;
        sleep(Duration::from_millis(100));
    }
    let times = times()?;
    let meanwhile = times.iter().filter(|&&at| at > full && at < freed).count();
    let stop = Command::new("kill").arg("-INT").arg(monitor.id().to_string()).status()?;
    ensure(stop.success() && monitor.wait()?.code() == Some(0), "it does not end as it should")?;
    // Ten a second, and on a busy machine fewer.
    ensure(meanwhile >= 3, format!("{meanwhile} samples of the time without room"))
}

fn killed() -> Checked {
    let place = Place::new()?;
    place.write(
        "m.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\nping = { every = \"100 ms\" }\n",
    )?;
    let program = cargo_bin("ackclock");
    for run in 1..=3u64 {
        let mut child = place.command(&program, &["monitor", "m.toml"]).spawn()?;
        sleep(Duration::from_millis(2000));
        let at = Moment::now();
        child.kill()?;
        child.wait()?;
        let archive = Archive::open(&place.path("monitor.sqlite"))?;
        let host = archive.hosts()?.remove(0).id;
        let all = archive.samples(host, Quantity::Rtt, (Moment(0), Moment::now()), 9999)?;
        let newest = all.last().ok_or("nothing is in the archive")?;
        let lost = at.since(newest.at).as_secs_f64();
        ensure(lost <= 1.0, format!("the last {lost} s are lost"))?;
        ensure(all.len() as u64 >= 5 * run, format!("{} samples after run {run}", all.len()))?;
    }
    Ok(())
}

const SINK: &str =
    "archive = \"sink.sqlite\"\n[sink]\nlisten = \"10.128.0.1:5310\"\nallow = [\"10.0.0.0/16\"]\n";

/// What was measured, advised and forecast on a path.
struct Measured {
    advice: Value,
    /// bit/s.
    forecast: f64,
    throughput: f64,
    /// What the emulator says of itself.
    emulation: String,
}

/// Measures a path for 40 s.
fn measure(rate: &str, delay: &str) -> Result<Measured, Failed> {
    let place = Place::new()?;
    place.write("sink.toml", SINK)?;
    place.write(
        "far.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"10.128.0.1\"\nping = { every = \"1 s\" }\n\
         transfer = { every = \"5 s\", length = \"2 s\", control = \"cubic\" }\n",
    )?;
    let output =
        place.emulate(rate, delay, "ackclock monitor sink.toml", "ackclock monitor far.toml --for 40s")?;
    ensure(output.status.success(), stderr(&output))?;
    told(&place, &output)
}

/// What the archive of a path comes to.
fn told(place: &Place, emulated: &Output) -> Result<Measured, Failed> {
    let size = format!("{} B", place.median(Quantity::Transferred)?);
    let advice = place.advice(&["--size", &size, "--control", "cubic"])?;
    let forecast = number(&advice, "/throughput/0/bps")?;
    let emulation = stdout(emulated).lines().filter(|line| line.contains(" deliveries, late by ")).collect();
    Ok(Measured { advice, forecast, throughput: place.median(Quantity::Throughput)?, emulation })
}

/// Holds the advice on a path against what it is.
fn holds(measured: &Measured, bps: f64, rtt: f64) -> Checked {
    let Measured { advice, forecast, throughput, emulation } = measured;
    let all = || {
        near("buffer", number(advice, "/buffer_bytes/value")?, bps * rtt / 8.0, 0.05)?;
        near("burst", number(advice, "/burst_bytes/value")?, 0.8 * bps * 0.01 / 8.0, 0.05)?;
        near("forecast", *forecast, *throughput, 0.15)?;
        let against = advice["without_control_window_bytes"]["against"].as_str();
        ensure(against.is_some_and(|it| it.contains("does not allow")), format!("{advice}"))
    };
    all().map_err(|wrong: Failed| format!("{}; {emulation}", wrong.message().unwrap_or_default()).into())
}

/// Measures up to four times more if something is wrong: others who use the machine make a path look longer
/// than it is, for minutes at times.
fn in_one_of_five(check: impl Fn() -> Checked) -> Checked {
    let again = |wrong: Failed| {
        eprintln!("once more: {}", wrong.message().unwrap_or_default());
        check()
    };
    (1..5).fold(check(), |checked, _| checked.or_else(again))
}

/// The listings of the page: the path of the thesis.
fn thesis() -> Checked {
    in_one_of_five(the_path_of_the_thesis)
}

fn the_path_of_the_thesis() -> Checked {
    let place = Place::new()?;
    for (file, words) in
        [("sink.toml", "[sink]"), ("far.toml", "name = \"far\""), ("path.toml", "[topology.dumbbell]")]
    {
        place.write(file, &listing("monitor.md", words))?;
    }
    let output = shell(place.0.path(), &listing("monitor.md", "emulate path.toml")).output()?;
    let said = stdout(&output);
    ensure(output.status.success(), format!("{said}\n{}", stderr(&output)))?;
    // What the page shows below, but for the values.
    let row = |line: &str| line.split("  ").next().unwrap_or("").trim().to_owned();
    let shown = listing("monitor.md", "far (10.128.0.1)");
    for line in shown.lines().filter(|line| line.starts_with(' ')) {
        ensure(said.lines().any(|told| row(told) == row(line)), format!("no row {line} in\n{said}"))?;
    }
    holds(&told(&place, &output)?, 622e6, 0.067)
}

fn slow() -> Checked {
    in_one_of_five(|| holds(&measure("20 Mbit/s", "20 ms")?, 20e6, 0.040))
}

/// Forecasts against measured throughput, as a table. It takes nine minutes, and an idle machine.
fn twelve_paths() -> Checked {
    let mut wrong = Vec::new();
    println!(
        "| rate | round-trip time | measured, Mbit/s | forecast, Mbit/s | error |\n|---|---|---|---|---|"
    );
    for mbit in [2, 10, 50, 200] {
        for ms in [10, 40, 100] {
            let path = format!("{mbit} Mbit/s | {ms} ms");
            let Measured { forecast, throughput, .. } =
                measure(&format!("{mbit} Mbit/s"), &format!("{} ms", f64::from(ms) / 2.0))?;
            let error = forecast / throughput - 1.0;
            let (measured, forecast) = (throughput / 1e6, forecast / 1e6);
            println!("| {path} | {measured:.2} | {forecast:.2} | {:+.1} % |", 100.0 * error);
            if error.abs() > 0.15 {
                wrong.push(path);
            }
        }
    }
    ensure(wrong.is_empty(), format!("more than 15 % off: {wrong:?}"))
}

/// `make monitored`: rows a second into an archive, and the time of advice when it has 10^7 of them. It wants
/// a release build, and a machine that has nothing else to do.
fn ten_million() -> Checked {
    const HOSTS: i64 = 20;
    const ROWS: i64 = 10_000_000;
    /// What is written at once: half a second of a busy monitor.
    const BATCH: i64 = 25_000;
    let place = Place::new()?;
    let path = place.path("monitor.sqlite");
    let mut archive = Archive::create(&path)?;
    let mut hosts = Vec::new();
    for number in 0..HOSTS {
        let (name, address) = (format!("host{number}"), format!("192.0.2.{number}"));
        let (ping, transfer) = (Span::from_secs(10), Span::from_secs(3600));
        hosts.push(archive.describe(&Known { id: 0, name, address, uncontrolled: true, ping, transfer })?);
    }
    let quantities = [
        (Quantity::Rtt, 0.067),
        (Quantity::Lost, 0.0),
        (Quantity::Sent, 1e3),
        (Quantity::Retransmissions, 0.0),
        (Quantity::Capacity, 622e6),
        (Quantity::Waiting, 0.01),
        (Quantity::ClosingWindow, 100.0),
    ];
    let kinds = quantities.len() as i64;
    // From the oldest on, evenly over thirteen days, one quantity of one host after the other.
    let (now, span) = (Moment::now(), 13 * 86_400 * 1_000_000_i64);
    let row = |number: i64| Row {
        host: hosts[(number / kinds % HOSTS) as usize],
        quantity: quantities[(number % kinds) as usize].0,
        sample: Sample {
            at: Moment(now.0 - span + number * (span / ROWS)),
            value: quantities[(number % kinds) as usize].1,
        },
    };
    let begun = Instant::now();
    for batch in 0..ROWS / BATCH {
        archive.write(&(batch * BATCH..(batch + 1) * BATCH).map(row).collect::<Vec<_>>())?;
    }
    let rate = ROWS as f64 / begun.elapsed().as_secs_f64();
    let mut times = Vec::new();
    for number in 0..100 {
        let begun = Instant::now();
        let archive = Archive::open(&path)?;
        let known = archive.hosts()?.remove(number % HOSTS as usize);
        let now = Moment::now();
        let report = ackclock_monitor::report(&archive, &known, Span::from_millis(10), now)?;
        let advice = ackclock_monitor::advice_document(&report, now);
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        ensure(advice["buffer_bytes"]["value"].is_u64(), format!("{advice}"))?;
    }
    times.sort_by(f64::total_cmp);
    println!("{rate:.0} rows a second; advice in {:.1} ms, 95th percentile {:.1} ms", times[50], times[95]);
    ensure(rate >= 50_000.0, format!("{rate} rows a second"))?;
    ensure(times[95] <= 50.0, format!("advice takes {} ms", times[95]))
}

/// A search over a path of 20 Mbit/s, whose queue holds the excess of a round at the first rates above it.
fn searched() -> Checked {
    let place = Place::new()?;
    place.write("sink.toml", &format!("{SINK}search = \"100 Mbit/s\"\n"))?;
    place.write(
        "far.toml",
        "[[hosts]]\nname = \"far\"\naddress = \"10.128.0.1\"\nroute = {}\n\
         search = { every = \"20 s\", most = \"50 Mbit/s\" }\n",
    )?;
    let line = "ackclock monitor far.toml --for 45s";
    let output = place.emulate("20 Mbit/s", "20 ms", "ackclock monitor sink.toml", line)?;
    ensure(output.status.success(), stderr(&output))?;
    let archive = Archive::open(&place.path("monitor.sqlite"))?;
    let host = archive.hosts()?.remove(0).id;
    let newest = |quantity| -> Result<f64, Failed> {
        let all = archive.samples(host, quantity, (Moment(0), Moment::now()), 9)?;
        Ok(all.last().ok_or_else(|| format!("no search: {}", stderr(&output)))?.value)
    };
    let (clean, lossy) = (newest(Quantity::LossFree)?, newest(Quantity::Lossy)?);
    ensure(clean < lossy && lossy < 1.06 * clean, format!("{clean} to {lossy}"))?;
    near("middle of the interval", (clean * lossy).sqrt(), 20e6, 0.06)?;
    let advice = stdout(&place.ackclock(&["advise", "far"])?);
    ensure(advice.contains("losses begin") && advice.contains(" between "), advice)
}

/// A download fills the way back, so echo replies wait: two of them are enough.
fn competing() -> Checked {
    let place = Place::new()?;
    place.quiet("10.128.0.1", 50e6, 0.0202)?;
    fs::create_dir(place.path("www"))?;
    fs::write(place.path("www/big"), vec![7; 60_000_000])?;
    place.write(
        "far.toml",
        "uncontrolled = [\"10.128.0.1\"]\n[[hosts]]\nname = \"far\"\naddress = \"10.128.0.1\"\n\
         ping = { every = \"1 s\" }\n",
    )?;
    // As long as the path is quiet the advice is a window. On a noisy host that takes a while, and the
    // monitor must outlive it. Two periods (1.2 s at most each) after the download has begun, with the time
    // until samples are written, it is withdrawn. The shell has no job control, so both are known by number.
    let line = "ackclock monitor far.toml --for 600s & monitor=$!; \
        for i in $(seq 60); do ackclock advise far --json --control reno > quiet.json; \
          grep -q 'without_control_window_bytes\":{\"value' quiet.json && [ $i -gt 6 ] && break; sleep 0.5; done; \
        curl -s -o /dev/null http://10.128.0.1:8080/big & download=$!; \
        sleep 3.4; ackclock advise far --json --control reno > busy.json; \
        kill $monitor $download; wait";
    let serve = "ackclock serve www --listen 10.128.0.1:8080 --control cubic";
    let output = place.emulate("50 Mbit/s", "10 ms", serve, line)?;
    let read = |name: &str| -> Result<Value, Failed> {
        Ok(serde_json::from_str(&fs::read_to_string(place.path(name))?)?)
    };
    let (quiet, busy) = (read("quiet.json")?, read("busy.json")?);
    let window = &quiet["without_control_window_bytes"]["value"];
    ensure(window.is_u64(), format!("{quiet}\n{}", stderr(&output)))?;
    let against = busy["without_control_window_bytes"]["against"].as_str();
    ensure(against.is_some_and(|it| it.contains("vary")), format!("{busy}"))
}
