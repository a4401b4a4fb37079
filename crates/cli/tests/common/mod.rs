//! Running the program as a user does, in a directory of its own.
#![allow(dead_code)]

use assert_cmd::Command;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::Output;

/// What a test in real time finds.
pub type Checked = Result<(), Failed>;
/// Its name, and the test.
pub type Named = (&'static str, fn() -> Checked);

/// Runs tests one after the other, because real time is for one at a time. Those that need `privileged` are
/// named as skipped where the process lacks the rights.
pub fn in_real_time(always: &[Named], privileged: &[Named]) {
    in_real_time_and_long(always, privileged, &[]);
}

/// The same, with tests that take so long that they are only run when they are asked for (`--ignored`).
pub fn in_real_time_and_long(always: &[Named], privileged: &[Named], long: &[Named]) {
    let lack = ackclock_live::privilege::check().err().map(|error| error.to_string());
    let mut trials: Vec<Trial> = always.iter().map(|&(name, test)| Trial::test(name, test)).collect();
    trials.extend(privileged.iter().map(|&(name, test)| match &lack {
        None => Trial::test(name, test),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    }));
    trials.extend(long.iter().map(|&(name, test)| match &lack {
        None => Trial::test(format!("{name} (takes minutes)"), test).with_ignored_flag(true),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    }));
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit();
}

/// Fails with these words unless it `holds`.
pub fn ensure(holds: bool, otherwise: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

/// A scenario that is right; tests change a word of it.
pub const SCENARIO: &str = r#"name = "an example"
seed = 7
duration = "10 s"
measure = ["2 s", "10 s"]
segment = { payload = "1000 B", header = "40 B" }
tcp = { recovery = "sack", rto_min = "200 ms" }

[topology.dumbbell]
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "1 bdp" }, loss = 0 }
access = { rate = "100 Mbit/s", delay = "5 ms" }

[[flows]]
label = "first"
count = 2
control = { compound = { beta = 0.5 } }
rtt = "60 ms"

[[flows]]
label = "second"
control = "reno"
start = { uniform = ["0 s", "1 s"] }
stop = "9 s"

[[traffic]]
label = "noise"
kind = "cbr"
rate = "1 Mbit/s"
on = "1 s"
off = "1 s"

[[expect]]
that = "goodput('first') > 1000000"
"#;

/// The scenario with `old` replaced by `new`, once.
pub fn with(old: &str, new: &str) -> String {
    assert_eq!(SCENARIO.matches(old).count(), 1, "\"{old}\" is not in the scenario exactly once");
    SCENARIO.replacen(old, new, 1)
}

/// The scenario with this at its end.
pub fn and(end: &str) -> String {
    format!("{SCENARIO}{end}")
}

/// The program, in `directory`, with plain output.
pub fn ackclock(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("ackclock").expect("the program is built");
    command.current_dir(directory).args(arguments);
    // Neither colours nor box-drawing characters nor a terminal's width get into what is compared.
    command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb").env("COLUMNS", "100");
    command.output().expect("the program runs")
}

/// Standard output, as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("standard output is UTF-8")
}

/// Standard error, as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("standard error is UTF-8")
}

/// A listing of a page of the book: its first fence in which these words stand.
pub fn listing(page: &str, words: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let fences = text.split("\n```").skip(1).step_by(2).filter_map(|fence| Some(fence.split_once('\n')?.1));
    let found = fences.map(|fence| format!("{fence}\n")).find(|fence| fence.contains(words));
    found.unwrap_or_else(|| panic!("{page} has no listing with {words}"))
}

/// A shell for lines as a page has them: `ackclock` is this build, and who is root needs no `sudo`.
pub fn shell(directory: &Path, lines: &str) -> std::process::Command {
    let program = assert_cmd::cargo::cargo_bin("ackclock");
    let mut path = program.parent().map(|it| it.as_os_str().to_owned()).unwrap_or_default();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = std::process::Command::new("sh");
    command.arg("-ec").arg(format!("sudo() {{ \"$@\"; }}\n{lines}")).current_dir(directory).env("PATH", path);
    command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb").env("COLUMNS", "100");
    command
}

/// Fails unless a document has exactly these fields.
pub fn fields(document: &serde_json::Value, wanted: &[&str]) -> Checked {
    let object = document.as_object().ok_or_else(|| format!("an object is wanted, not {document}"))?;
    let lacks: Vec<_> = wanted.iter().filter(|field| !object.contains_key(**field)).collect();
    let more: Vec<_> = object.keys().filter(|field| !wanted.contains(&field.as_str())).collect();
    ensure(lacks.is_empty() && more.is_empty(), format!("without {lacks:?}, and with {more:?}: {document}"))
}
