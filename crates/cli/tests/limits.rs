//! What ends a run before its time: too little memory, too many threads, a signal,
//! a full disk.
#![cfg(target_os = "linux")]

mod common;

use common::{SCENARIO, ackclock, stderr, stdout, with};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Runs this scenario in a shell with a limit of the address space, KiB.
fn within(limit: u64, text: &str, arguments: &str) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), text).expect("a file");
    let program = env!("CARGO_BIN_EXE_ackclock");
    let line = format!("ulimit -v {limit}; exec {program} run case.toml --json {arguments}");
    Command::new("sh").args(["-c", &line]).current_dir(directory.path()).output().expect("a shell")
}

#[track_caller]
fn assert_ends_for_memory(output: &Output) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("memory") && said.contains("help:") && !said.contains("RUST_BACKTRACE"), "{said}");
}

/// What does not slow down leaves in a queue without a limit.
const GROWING: &str = r#"
    duration = "400 s"
    [topology.dumbbell]
    bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = "unlimited" }
    access = { rate = "10 Gbit/s", delay = "1 ms" }
    [[flows]]
    count = 2
    control = { none = { cap = 100000000 } }
"#;

/// The runs that an undecided claim asks for need more memory than there is: it stays undecided, and others
/// have their verdicts.
#[test]
fn runs_that_do_not_fit_leave_a_claim_undecided() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("experiments/tiny1999");
    std::fs::create_dir_all(&folder).expect("a directory");
    let program = env!("CARGO_BIN_EXE_ackclock");
    let run = |line: &str, limit: u64| {
        let claim = format!("[[claim]]\ntext = \"It is above.\"\nthat = \"goodput('reno') > {line}\"\n");
        std::fs::write(folder.join("fig-1.toml"), PROBED.to_owned() + &claim).expect("a file");
        let line = format!(
            "ulimit -v {limit}; exec {program} reproduce all --experiments experiments --threads 1 --json"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(directory.path()).output().expect("a shell")
    };
    let document =
        |output: &Output| serde_json::from_str::<serde_json::Value>(&stdout(output)).expect("JSON");
    let known = document(&run("1", 8_000_000));
    let case = &known["experiments"][0]["claims"][0]["cases"][0];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (mean, error) = (number(&case["seen"][0]["value"]), number(&case["line"]["standard_error"]));
    let near = (mean - 1.2 * error).to_string();
    // With the least memory in which it ends there is none for more runs.
    let outputs = (16..60).map(|limit| run(&near, limit * 25_000));
    let first = outputs.into_iter().find(|output| output.status.success()).expect("1.5 GB are enough");
    assert!(
        stderr(&first).contains("stay undecided, because more runs need more memory"),
        "{}",
        stderr(&first)
    );
    assert_eq!(document(&first)["counts"]["undecided"], 1);
}

/// The runs of two experiments do not fit together, and each of them fits alone.
#[test]
fn experiments_that_do_not_fit_together_run_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("experiments/tiny1999");
    std::fs::create_dir_all(&folder).expect("a directory");
    let claim = "[[claim]]\ntext = \"It is above.\"\nthat = \"goodput('reno') > 1\"\n";
    for (name, duration) in [("fig-1", "20 s"), ("fig-2", "21 s"), ("fig-3", "22 s")] {
        let text = PROBED
            .replace("fig-1", name)
            .replace("duration = \"20 s\"", &format!("duration = \"{duration}\""));
        std::fs::write(folder.join(format!("{name}.toml")), text + claim).expect("a file");
    }
    let program = env!("CARGO_BIN_EXE_ackclock");
    let run = |what: &str, limit: u64, store: &str| {
        let line = format!(
            "ulimit -v {limit}; exec {program} reproduce {what} --experiments experiments --threads 1 --json \
             --store {store}"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(directory.path()).output().expect("a shell")
    };
    // The least memory in which the largest of them ends, and some pages more.
    let alone = (16..60).map(|limit| limit * 25_000);
    let least = alone.into_iter().find(|&limit| run("fig-3", limit, "one").status.success());
    let both = run("all", least.expect("1.5 GB are enough") + 25_000, "all");
    assert_eq!(both.status.code(), Some(0), "{}", stderr(&both));
    let document = serde_json::from_str::<serde_json::Value>(&stdout(&both)).expect("JSON");
    assert_eq!(document["counts"]["holds"], 3, "{}", document["counts"]);
}

/// Probes see much in a short time.
const PROBED: &str = r#"
    id = "fig-1"
    work = "tiny1999"
    title = "A small experiment"
    section = "I"
    kind = "simulation"
    summary = "Probes look often."
    [scenario]
    duration = "20 s"
    probe = "1 ms"
    topology.dumbbell.bottleneck = { rate = "2 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
    [[scenario.flows]]
    control = "reno"
    start = { uniform = ["0 s", "10 s"] }
    count = 5
"#;

#[test]
fn absurd_numbers_of_threads_are_refused_and_too_many_not_started() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), SCENARIO).expect("a file");
    for command in [&["run", "case.toml"][..], &["compare", "reno"], &["reproduce", "ctcp-fig3"]] {
        for threads in ["0", "100000", "many"] {
            let output = ackclock(directory.path(), &[command, &["--threads", threads]].concat());
            assert_eq!(output.status.code(), Some(2), "{command:?} {threads}: {}", stderr(&output));
            assert!(stderr(&output).contains("1 to 4096 are wanted"), "{}", stderr(&output));
        }
    }
    // 4096 stacks of 2 MB do not fit.
    let output = within(4_000_000, SCENARIO, "--threads 4096");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_million_flows_beyond_the_limit_of_the_address_space_are_no_abort() {
    assert_ends_for_memory(&within(700_000, &with("count = 2", "count = 999999"), ""));
}

/// A queue without a limit that grows as long as the run lasts ends it with a message, not by a signal.
#[test]
fn a_queue_that_takes_all_memory_ends_the_run() {
    let output = within(600_000, GROWING, "");
    assert_ends_for_memory(&output);
    assert!(stderr(&output).contains("queue"), "{}", stderr(&output));
}

/// What is known before the run is said before the run, with numbers.
#[test]
fn what_traffic_leaves_in_a_queue_without_a_limit_is_known_before_the_run() {
    let text = with("{ droptail = \"1 bdp\" }", "\"unlimited\"")
        .replace("rate = \"1 Mbit/s\"", "rate = \"90 Mbit/s\"")
        .replace("\"10 s\"", "\"10000 s\"");
    let output = within(600_000, &text, "");
    assert_ends_for_memory(&output);
    assert!(stderr(&output).contains("GB of memory"), "{}", stderr(&output));
}

/// The path is full, and each flow has packets under way.
const MANY_FLOWS: &str = r#"
    duration = "3 s"
    jitter = "off"
    [topology.dumbbell]
    bottleneck = { rate = "10 Gbit/s", delay = "10 ms", queue = { droptail = "1 bdp" } }
    access = { rate = "10 Gbit/s" }
    [[flows]]
    count = 10000
    control = "reno"
    rtt = "100 ms"
    start = { uniform = ["0 s", "1 s"] }
"#;

/// 115 MB, of which 13 are the program's, by the system's own count. It was 238 once.
#[test]
fn ten_thousand_flows_need_little_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), MANY_FLOWS).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.args(["run", "case.toml", "--json", "--engine", "phases", "--threads", "1"]);
    command.current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let (status, mut most) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait().expect("a state").is_none() {
        let said = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = said.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.trim().parse().ok());
        most = most.max(peak.unwrap_or(0));
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!((50_000..130_000).contains(&most), "{most} kB");
}

/// Waits until `done`, or fails after a minute.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the program in the background.
fn started(directory: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.current_dir(directory).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Sends a signal. What the program then says, and how long it took.
fn signalled(child: Child, signal: Signal) -> (Output, Duration) {
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), signal).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    (output, begun.elapsed())
}

/// All files below this directory.
fn files(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The longest time from a signal to the end. It is some milliseconds; machines may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// A thousandth of this run takes about ten seconds.
const SLOW: &str = r#"
    duration = "1000000 s"
    [topology.dumbbell]
    bottleneck = { rate = "10 Gbit/s", delay = "10 ms", queue = { droptail = "1 bdp" } }
    [[flows]]
    count = 3
    control = "cubic"
"#;

#[test]
fn a_signal_ends_a_slow_run_at_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("case.toml"), SLOW).expect("a file");
        let child = started(directory.path(), &["run", "case.toml"]);
        thread::sleep(Duration::from_millis(1500));
        let (output, took) = signalled(child, signal);
        assert_eq!(output.status.code(), Some(130), "{signal:?}: {}", stderr(&output));
        assert!(took < PATIENCE, "{signal:?}: {took:?}");
    }
}

#[test]
fn a_signal_keeps_the_finished_points_intact() {
    let sweep = with("seed = 7\nduration = \"10 s\"", "seeds = 40\nduration = \"400 s\"");
    let whole = tempfile::tempdir().expect("a directory");
    let broken = tempfile::tempdir().expect("a directory");
    for directory in [&whole, &broken] {
        std::fs::write(directory.path().join("case.toml"), &sweep).expect("a file");
    }
    let arguments = ["run", "case.toml", "--out", "out", "--threads", "1"];
    let points = broken.path().join("out.partial/points");
    let kept = || {
        let kept = files(&points);
        kept.into_iter().filter(|path| path.extension().is_some_and(|it| it == "json")).collect::<Vec<_>>()
    };
    let child = started(broken.path(), &arguments);
    wait_until("two points are kept", || kept().len() >= 2);
    let (output, took) = signalled(child, Signal::INT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(took < PATIENCE, "{took:?}");
    let before = kept();
    assert!((2..40).contains(&before.len()), "{before:?}");
    assert!(said.contains(&format!("{} of 40 points are finished", before.len())), "{said}");
    let output = ackclock(broken.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(ackclock(whole.path(), &arguments).status.code(), Some(0));
    let result = |directory: &Path| std::fs::read(directory.join("out/results.json")).expect("results");
    assert!(result(whole.path()) == result(broken.path()), "the interruption changed the results");
}

/// Whoever reads standard error may go away, as in `2>&1 >/dev/null | head`.
#[test]
fn a_closed_standard_error_changes_no_exit_status() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), SCENARIO).expect("a file");
    for (arguments, status) in [(&["run", "case.toml", "--out", "out"][..], 0), (&["run", "missing.toml"], 2)]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
        command.args(arguments).current_dir(directory.path()).stderr(writer).stdout(Stdio::null());
        assert_eq!(command.status().expect("it runs").code(), Some(status), "{arguments:?}");
    }
}

#[test]
fn control_characters_in_names_do_not_reach_the_terminal() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = with("label = \"first\"", r#"label = "\u001b[2Jfirst""#)
        .replace("goodput('first') > 1000000", "1 > 2");
    std::fs::write(directory.path().join("case.toml"), text).expect("a file");
    for (file, status) in [("case.toml", 1), ("\u{1b}[2Jmissing.toml", 2)] {
        let output = ackclock(directory.path(), &["run", file]);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        let all = stdout(&output) + &stderr(&output);
        assert!(!all.contains('\u{1b}') && all.contains("\\u001b[2J"), "{all:?}");
    }
}

/// Runs the scenario in a shell in which no file may be larger, blocks of 512 bytes. The error is that of a
/// full disk, by another name.
fn with_small_files(directory: &Path, blocks: u32, arguments: &str) -> Output {
    std::fs::write(directory.join("case.toml"), SCENARIO).expect("a file");
    let program = env!("CARGO_BIN_EXE_ackclock");
    let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} run case.toml {arguments}");
    Command::new("sh").args(["-c", &line]).current_dir(directory).output().expect("a shell")
}

#[test]
fn a_single_run_that_cannot_be_kept_is_printed() {
    for (arguments, part) in [("--out out", "goodput"), ("--out out --json", "\"goodput_bps\"")] {
        let directory = tempfile::tempdir().expect("a directory");
        let output = with_small_files(directory.path(), 8, arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(stdout(&output).contains(part), "{}", stdout(&output));
        assert!(said.contains("cannot be written") && said.contains("help:"), "{said}");
    }
}

#[test]
fn what_cannot_be_written_is_printed_and_what_is_finished_is_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), SCENARIO).expect("a file");
    // So the point itself is smaller than the page that shows it.
    let arguments = ["run", "case.toml", "--set", "probe=2 s", "--out"];
    let run = |out: &str| ackclock(directory.path(), &[&arguments[..], &[out]].concat());
    assert_eq!(run("whole").status.code(), Some(0));
    let page = std::fs::metadata(directory.path().join("whole/report.html")).expect("a page").len();
    let output = with_small_files(directory.path(), (page / 512) as u32 - 1, "--set 'probe=2 s' --out out");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(stdout(&output).contains("goodput"), "{}", stdout(&output));
    assert!(said.contains("report.html cannot be written") && said.contains("out.partial"), "{said}");
    assert!(!files(&directory.path().join("out.partial/points")).is_empty());
    assert_eq!(run("out").status.code(), Some(0));
}
