//! `ackclock emulate`: what it says about wrong use, and that nothing stays whatever ends it.

mod common;

use common::{SCENARIO, ackclock, stderr, stdout};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

type Checked = Result<(), Failed>;
/// A test's name, and the test.
type Named = (&'static str, fn() -> Checked);

fn main() {
    let lack = ackclock_live::privilege::check().err().map(|error| error.to_string());
    let always: &[Named] = &[("wrong_use", wrong_use)];
    let privileged: &[Named] = &[
        ("without_privilege", without_privilege),
        ("the_document_is_the_simulators", document),
        ("a_command_has_the_last_word", exit_status),
        ("sigterm_ends_it_in_order", || ended_by("TERM", Some(130))),
        ("sigkill_leaves_nothing", || ended_by("KILL", None)),
    ];
    let mut trials: Vec<Trial> = always.iter().map(|&(name, test)| Trial::test(name, test)).collect();
    trials.extend(privileged.iter().map(|&(name, test)| match &lack {
        None => Trial::test(name, test),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    }));
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // real time is for one at a time
    libtest_mimic::run(&arguments, trials).exit();
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

fn directory(text: &str) -> Result<tempfile::TempDir, Failed> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("case.toml"), text)?;
    Ok(directory)
}

/// Everything is refused before anything is made, so no privilege is needed.
fn wrong_use() -> Checked {
    let swept = format!("{SCENARIO}[sweep]\nseed = [1, 2]\n");
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("duration = 1\n", &[], &["duration", "help:"]),
        (&swept, &["--", "true"], &["2 points", "--set every swept key"]),
        (SCENARIO, &["--serve", "\"", "--", "true"], &["--serve \": this is no command", "iperf3"]),
        (SCENARIO, &["--out", "out", "--capture", "bottelneck"], &["bottelneck", "bottleneck"]),
        (SCENARIO, &["--set", "flows.0.control=renno"], &["renno", "reno"]),
        (SCENARIO, &["--simulate", "--", "true"], &["--simulate", "cannot be used with"]),
        (SCENARIO, &["--shell", "sender", "--", "true"], &["--shell", "cannot be used with"]),
    ];
    for (text, arguments, expected) in cases {
        let directory = directory(text)?;
        let output = ackclock(directory.path(), &[&["emulate", "case.toml"], *arguments].concat());
        let said = stderr(&output);
        ensure(
            output.status.code() == Some(2) && stdout(&output).is_empty(),
            format!("{arguments:?}: {said}"),
        )?;
        let missing: Vec<_> = expected.iter().filter(|word| !said.contains(**word)).collect();
        ensure(missing.is_empty(), format!("{arguments:?} does not say {missing:?}:\n{said}"))?;
        ensure(!directory.path().join("out").exists(), format!("{arguments:?}: files were written"))?;
    }
    Ok(())
}

fn without_privilege() -> Checked {
    let directory = directory(SCENARIO)?;
    let output = Command::new("setpriv")
        .args([
            "--bounding-set=-all",
            "--inh-caps=-all",
            env!("CARGO_BIN_EXE_ackclock"),
            "emulate",
            "case.toml",
        ])
        .current_dir(directory.path())
        .output()?;
    let said = stderr(&output);
    ensure(output.status.code() == Some(2), &*said)?;
    ensure(said.contains("CAP_NET_ADMIN") && said.contains("run it as root"), &*said)
}

/// A short scenario with the kernel's own controller.
const SHORT: &str = "duration = \"2 s\"\nmeasure = [\"0.5 s\", \"2 s\"]\n[topology.dumbbell]\n\
    bottleneck = { rate = \"10 Mbit/s\", delay = \"5 ms\", queue = { droptail = \"1 bdp\" } }\n[[flows]]\ncontrol = \"reno\"\n";

fn document() -> Checked {
    let directory = directory(SHORT)?;
    let line = ["emulate", "case.toml", "--json", "--simulate", "--out", "out", "--capture", "bottleneck"];
    let output = ackclock(directory.path(), &line);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let document: serde_json::Value = serde_json::from_str(&stdout(&output))?;
    let point = &document["points"][0];
    let goodput = point["flows"][0]["goodput_bps"].as_f64().unwrap_or(0.0);
    ensure((6e6..10e6).contains(&goodput), point["flows"][0].to_string())?;
    ensure(point["emulation"]["lateness"]["count"].as_u64() > Some(1000), point["emulation"].to_string())?;
    ensure(point["beside"][0]["simulated_bps"].as_f64() > Some(6e6), point["beside"].to_string())?;
    let doubts = point["emulation"]["doubts"].as_array().map_or(0, Vec::len);
    let loud = stderr(&output).matches("DO NOT TRUST").count();
    ensure(doubts == loud, format!("{doubts} doubts:\n{}", stderr(&output)))?;
    for file in ["report.html", "results.json", "emulation.json", "capture/bottleneck.pcapng"] {
        ensure(directory.path().join("out").join(file).is_file(), format!("there is no {file}"))?;
    }
    Ok(())
}

fn exit_status() -> Checked {
    // Without flows the hosts are at the ends of the dumbbell.
    let text = SHORT.replace("[[flows]]\ncontrol = \"reno\"\n", "");
    let directory = directory(&text)?;
    let line = ["emulate", "case.toml", "--", "sh", "-c", "test {receiver} = 10.128.0.1 && exit 7"];
    let output = ackclock(directory.path(), &line);
    ensure(output.status.code() == Some(7), stderr(&output))
}

/// Runs a program in a host, ends the emulator by a signal, and looks for what is left.
fn ended_by(signal: &str, expected: Option<i32>) -> Checked {
    let directory = directory(SHORT)?;
    let mark = format!("{}.{}", std::process::id(), signal.len() + usize::from(expected.is_none()));
    let mut emulator = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .args(["emulate", "case.toml", "--", "sleep", &format!("100{mark}")])
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let sleeps = || -> Result<bool, Failed> {
        let found = Command::new("pgrep").args(["-f", &format!("^sleep 100{mark}")]).output()?;
        Ok(!found.stdout.is_empty())
    };
    let within = |seconds, wanted: bool| -> Result<bool, Failed> {
        let patience = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < patience {
            if sleeps()? == wanted {
                return Ok(true);
            }
            sleep(Duration::from_millis(50));
        }
        Ok(false)
    };
    ensure(within(20, true)?, "the program never ran")?;
    let namespaces = namespaces()?;
    Command::new("kill").args([&format!("-{signal}"), &emulator.id().to_string()]).status()?;
    let status = emulator.wait()?;
    ensure(status.code() == expected, format!("{status:?}"))?;
    ensure(within(5, false)?, "the program runs on")?;
    ensure(!Path::new("/run/netns").join("sender").exists(), "a namespace has a name")?;
    let patience = Instant::now() + Duration::from_secs(5);
    while self::namespaces()? >= namespaces && Instant::now() < patience {
        sleep(Duration::from_millis(50));
    }
    ensure(self::namespaces()? < namespaces, "its namespaces are still there")
}

/// Network namespaces that processes are in.
fn namespaces() -> Result<usize, Failed> {
    let output = Command::new("lsns").args(["-n", "-t", "net", "-o", "NS"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}
