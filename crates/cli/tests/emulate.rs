//! `ackclock emulate`: what it says about wrong use and about its own error, every message readable in
//! `snapshots/`, and that nothing stays whatever ends it.

mod common;

use common::{Checked, Named, SCENARIO, ackclock, ensure, in_real_time, stderr, stdout};
use libtest_mimic::Failed;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn main() {
    let always: &[Named] = &[("wrong_use", wrong_use)];
    let privileged: &[Named] = &[
        ("without_privilege", without_privilege),
        ("what_cannot_be_emulated", what_cannot_be),
        ("doubts_are_loud", doubts),
        ("the_document_is_the_simulators", document),
        ("an_experiment_is_judged_twice", reproduced),
        ("points_of_experiments_are_emulated_at_once", at_once),
        ("an_experiment_without_privilege", reproduced_without_privilege),
        ("the_same_directory_twice", twice),
        ("a_command_has_the_last_word", exit_status),
        ("a_link_that_is_traced", traced),
        ("a_flow_that_is_followed", followed),
        ("the_limit_of_open_files", open_files),
        ("sigterm_ends_it_in_order", || ended_by("TERM", Some(130))),
        ("sigkill_leaves_nothing", || ended_by("KILL", None)),
    ];
    in_real_time(always, privileged);
}

fn directory(text: &str) -> Result<tempfile::TempDir, Failed> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("case.toml"), text)?;
    Ok(directory)
}

/// A wrong scenario or line, under the heading that says what is wrong.
type Case = (&'static str, String, &'static [&'static str]);

/// What is said about each case, which must be refused without a trace.
fn messages(cases: Vec<Case>) -> Result<String, Failed> {
    let mut all = String::new();
    for (heading, text, arguments) in cases {
        let directory = directory(&text)?;
        let output = ackclock(directory.path(), &[&["emulate", "case.toml"], arguments].concat());
        let said = stderr(&output);
        let refused = output.status.code() == Some(2) && stdout(&output).is_empty();
        ensure(refused, format!("{heading}: {said}"))?;
        ensure(!directory.path().join("out").exists(), format!("{heading}: files were written"))?;
        writeln!(all, "## {heading}\nackclock emulate case.toml {}\n{said}", arguments.join(" "))?;
    }
    Ok(all)
}

macro_rules! shown {
    ($name:literal, $text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($name, $text) })
    };
}

/// Everything is refused before anything is made, so no privilege is needed.
fn wrong_use() -> Checked {
    let example = || SCENARIO.to_owned();
    let swept = format!("{SCENARIO}[sweep]\nseed = [1, 2]\n");
    let said = messages(vec![
        ("a wrong scenario", "duration = 1\n".to_owned(), &[]),
        ("a program for a sweep", swept.clone(), &["--", "true"]),
        ("a shell for a sweep", swept, &["--shell", "sender"]),
        ("no command to serve", example(), &["--serve", "\"", "--", "true"]),
        ("a misspelt link to capture", example(), &["--out", "out", "--capture", "bottelneck"]),
        ("nowhere to write what is captured", example(), &["--capture", "bottleneck"]),
        ("a simulation of a program", example(), &["--simulate", "--", "true"]),
        ("a shell and a program", example(), &["--shell", "sender", "--", "true"]),
        ("something to serve without a program", example(), &["--serve", "true"]),
    ])?;
    shown!("wrong_use", said);
    // As `run` says them; all of these messages are in the snapshots of errors.rs.
    let directory = directory(SCENARIO)?;
    for (line, expected) in [
        (&["case.toml", "--set", "flows.0.control=renno"][..], "did you mean \"reno\"?"),
        (&["case.toml", "--set", "flows.0.controll=reno"], "did you mean \"control\"?"),
        (&["cases.toml"], "cases.toml: there is no such file"),
    ] {
        let output = ackclock(directory.path(), &[&["emulate"], line].concat());
        let said = stderr(&output);
        ensure(output.status.code() == Some(2) && said.contains(expected), format!("{line:?}: {said}"))?;
    }
    Ok(())
}

/// An emulation replaces what an emulation left, and so does a simulation.
fn twice() -> Checked {
    let directory = directory(SHORT)?;
    for command in ["emulate", "emulate", "run"] {
        let output = ackclock(directory.path(), &[command, "case.toml", "--out", "out"]);
        ensure(output.status.code() == Some(0), stderr(&output))?;
        let left = directory.path().join("out/emulation.json").exists();
        ensure(left == (command == "emulate"), format!("{command}: emulation.json"))?;
    }
    Ok(())
}

/// What only the run itself finds out. Nothing is left of it either.
fn what_cannot_be() -> Checked {
    let short = || SHORT.to_owned();
    let said = messages(vec![
        (
            "packets that no header fits",
            format!("segment = {{ payload = \"1 B\", header = \"1 B\" }}\n{SHORT}"),
            &[],
        ),
        ("too many flows", SHORT.replace("control", "count = 300\ncontrol"), &[]),
        ("no such host", short(), &["--shell", "left"]),
        ("no such program", short(), &["--", "no-such-program-here"]),
        ("no such program to serve", short(), &["--serve", "no-such-server-here", "--", "sleep", "9"]),
        (
            "parameters of the kernel's own",
            short(),
            &["--set", "flows.0.control={ reno = { decrease = 0.3 } }"],
        ),
    ])?;
    shown!("what_cannot_be", said);
    let directory = directory(SHORT)?;
    let output = ackclock(directory.path(), &["emulate", "case.toml", "--set", "flows.0.control=fast"]);
    let said = stderr(&output);
    ensure(output.status.code() == Some(2), &*said)?;
    ensure(said.contains("this kernel has no controller fast") && said.contains("modprobe"), said)
}

/// A round-trip time of 0.2 ms is out of any emulator's reach. The numbers are this run's own.
fn doubts() -> Checked {
    let directory = directory(&SHORT.replace("5 ms", "0.1 ms"))?;
    let output = ackclock(directory.path(), &["emulate", "case.toml"]);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let said = stderr(&output);
    let doubt = said.lines().find(|line| line.contains("on the average"));
    let doubt = doubt.ok_or_else(|| Failed::from(format!("no doubt: {said}\n{}", stdout(&output))))?;
    let words = doubt.split(' ').map(|word| if word.parse::<f64>().is_ok() { "N" } else { word });
    shown!("doubt", words.collect::<Vec<_>>().join(" "));
    let output = ackclock(directory.path(), &["emulate", "case.toml", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output))?;
    let emulation = &document["points"][0]["emulation"];
    let first = emulation["doubts"][0].as_str().unwrap_or_default();
    ensure(emulation["trusted"] == false && !first.is_empty(), emulation.to_string())?;
    ensure(stderr(&output).contains(&format!("DO NOT TRUST THIS RESULT: {first}")), stderr(&output))
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
        .envs([("NO_COLOR", "1"), ("LC_ALL", "C"), ("TERM", "dumb"), ("COLUMNS", "100")])
        .output()?;
    ensure(output.status.code() == Some(2), stderr(&output))?;
    shown!("without_privilege", stderr(&output));
    Ok(())
}

/// A short scenario with the kernel's own controller.
const SHORT: &str = "duration = \"2 s\"\nmeasure = [\"0.5 s\", \"2 s\"]\n[topology.dumbbell]\n\
    bottleneck = { rate = \"10 Mbit/s\", delay = \"5 ms\", queue = { droptail = \"1 bdp\" } }\n[[flows]]\ncontrol = \"reno\"\n";

fn document() -> Checked {
    let line = ["emulate", "case.toml", "--json", "--simulate", "--out", "out", "--capture", "bottleneck"];
    let emulate = || -> Result<(tempfile::TempDir, Output, serde_json::Value), Failed> {
        let directory = directory(SHORT)?;
        let output = ackclock(directory.path(), &line);
        ensure(output.status.code() == Some(0), stderr(&output))?;
        let document = serde_json::from_str(&stdout(&output))?;
        Ok((directory, output, document))
    };
    let mut emulated = emulate()?;
    // A busy machine delays packets. The run says so, and is not judged by its rates: it is made again.
    for _ in 0..4 {
        if emulated.2["points"][0]["emulation"]["trusted"] == true {
            break;
        }
        emulated = emulate()?;
    }
    let (directory, output, document) = emulated;
    let point = &document["points"][0];
    let goodput = point["flows"][0]["goodput_bps"].as_f64().unwrap_or(0.0);
    let trusted = point["emulation"]["trusted"] == true;
    ensure(!trusted || (6e6..10e6).contains(&goodput), point["flows"][0].to_string())?;
    ensure(point["emulation"]["lateness"]["count"].as_u64() > Some(1000), point["emulation"].to_string())?;
    ensure(point["beside"][0]["simulated_bps"].as_f64() > Some(6e6), point["beside"].to_string())?;
    let doubts = point["emulation"]["doubts"].as_array().map_or(0, Vec::len);
    let loud = stderr(&output).matches("DO NOT TRUST").count();
    ensure(doubts == loud, format!("{doubts} doubts:\n{}", stderr(&output)))?;
    for file in ["report.html", "results.json", "emulation.json", "capture/bottleneck.pcapng"] {
        ensure(directory.path().join("out").join(file).is_file(), format!("there is no {file}"))?;
    }
    pictured(&directory.path().join("out/series/flows.csv"), &point["flows"][0])
}

/// The rates in pictures and files are made from the kernel's segments: their sum is what the table says was
/// delivered.
fn pictured(series: &Path, flow: &serde_json::Value) -> Checked {
    ensure(flow["payload_bytes"] == 988 && flow["segment_bytes"] == 1040, flow.to_string())?;
    let text = fs::read_to_string(series)?;
    let (mut before, mut bytes) = (0.0, 0.0);
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let (at, goodput): (f64, f64) = (cells[0].parse()?, cells[7].parse()?);
        if at > 0.5 {
            bytes += goodput * (at - before) / 8.0;
        }
        before = at;
    }
    let delivered = flow["delivered"].as_u64().unwrap_or(0) as f64 * 988.0;
    ensure(
        (bytes / delivered - 1.0).abs() < 0.01,
        format!("{bytes} B in the series, {delivered} B delivered"),
    )
}

/// An experiment whose claim holds wherever it is run, and one that fails.
const EXPERIMENT: &str = "id = \"fig-4.5\"\nwork = \"tiny1999\"\ntitle = \"Bursts\"\nsection = \"I\"\nkind = \"testbed\"\nsummary = \"S\"\n\
    pictures = [\"in_flight\"]\n[scenario]\nduration = \"2 s\"\nprobe = \"20 ms\"\n[scenario.topology.dumbbell]\n\
    bottleneck = { rate = \"10 Mbit/s\", delay = \"5 ms\", queue = { droptail = \"2 bdp\" } }\n[[scenario.flows]]\nlabel = \"flow\"\n\
    control = \"reno\"\nbursts = { size = \"5 kB\", every = \"10 ms\", for = \"1 s\" }\n\
    [[claim]]\ntext = \"All of it arrives.\"\nthat = \"received_bytes('flow') == 101 * 5000\"\n\
    [[claim]]\ntext = \"None of it does.\"\nthat = \"received_bytes('flow') == 0\"\ntried = \"nothing\"\n";

fn experiment() -> Result<tempfile::TempDir, Failed> {
    let directory = tempfile::tempdir()?;
    fs::create_dir_all(directory.path().join("experiments/tiny1999"))?;
    fs::write(directory.path().join("experiments/tiny1999/fig-4.5.toml"), EXPERIMENT)?;
    Ok(directory)
}

const REPRODUCE: [&str; 7] =
    ["reproduce", "all", "--experiments", "experiments", "--emulate", "--store", "store"];

fn reproduced() -> Checked {
    let directory = experiment()?;
    let output = ackclock(directory.path(), &[&REPRODUCE[..], &["--json", "--out", "out"]].concat());
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let document: serde_json::Value = serde_json::from_str(&stdout(&output))?;
    for judged in [&document, &document["emulated"]] {
        let counts = ["holds", "fails", "undecided", "untestable"].map(|it| judged["counts"][it].as_u64());
        ensure(counts == [Some(1), Some(1), Some(0), Some(0)], document.to_string())?;
    }
    let own = &document["emulated"]["experiments"][0]["emulation"][0];
    ensure(own["emulation"]["lateness"]["count"].as_u64() > Some(300), own.to_string())?;
    let page = fs::read_to_string(directory.path().join("out/reproduction.md"))?;
    for part in [
        "](#fig-45)",
        "| simulator | measured | Linux ",
        "tried: nothing",
        "pictures/fig-4.5-in_flight-emulated.svg",
    ] {
        ensure(page.contains(part), format!("no {part} in {page}"))?;
    }
    // Kept points are not emulated again, and are not taken for simulated ones.
    let emulated = fs::read_dir(directory.path().join("store"))?
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().starts_with("emulated-"));
    let emulated = emulated.ok_or("nothing was kept")?.path();
    ensure(
        fs::read_dir(&emulated)?.count() == 3,
        "a result, how long it took, what the emulator says of it",
    )?;
    let again = ackclock(directory.path(), &[&REPRODUCE[..], &["--json", "--strict"]].concat());
    ensure(again.status.code() == Some(1) && stdout(&again) == stdout(&output), stderr(&again))?;
    let table = ackclock(directory.path(), &REPRODUCE);
    ensure(stdout(&table).contains("1 hold, 1 fail, 0 undecided, 0 untestable\nLinux "), stdout(&table))
}

/// Five points of 2 s at once: each has its own result, and is kept, after less than the ten seconds that
/// they take one after the other. An experiment that no emulation can judge takes nothing from the others.
fn at_once() -> Checked {
    let directory = experiment()?;
    let folder = directory.path().join("experiments/tiny1999");
    let rates = "[scenario.sweep]\n\"topology.dumbbell.bottleneck.rate\" = \
                 [\"6 Mbit/s\", \"7 Mbit/s\", \"8 Mbit/s\", \"9 Mbit/s\", \"10 Mbit/s\"]\n";
    let swept = EXPERIMENT
        .replacen("[[claim]]", &format!("{rates}[[claim]]"), 1)
        .replacen("('flow') ==", "('flow', rate='6 Mbit/s') ==", 1)
        .replacen("('flow') ==", "('flow', rate='9 Mbit/s') ==", 1);
    fs::write(folder.join("fig-4.5.toml"), &swept)?;
    let many = swept
        .replace("fig-4.5", "fig-4.6")
        .replace("[[scenario.flows]]\n", "[[scenario.flows]]\ncount = 201\n");
    fs::write(folder.join("fig-4.6.toml"), many)?;
    let began = Instant::now();
    let output = ackclock(directory.path(), &[&REPRODUCE[..], &["--json", "--at-once", "5"]].concat());
    let (took, said) = (began.elapsed(), stderr(&output));
    ensure(took < Duration::from_secs(10), format!("{took:?}: one after the other"))?;
    ensure(output.status.code() == Some(0) && said.contains("fig-4.6 is left out: "), &*said)?;
    let document: serde_json::Value = serde_json::from_str(&stdout(&output))?;
    let (counts, own) =
        (&document["emulated"]["counts"], &document["emulated"]["experiments"][0]["emulation"]);
    ensure(counts["holds"] == 1 && counts["fails"] == 1, document.to_string())?;
    ensure(own.as_array().map(Vec::len) == Some(5), own.to_string())?;
    let again = ackclock(directory.path(), &[&REPRODUCE[..], &["--json"]].concat());
    ensure(stdout(&again) == stdout(&output), "kept points give the same numbers")?;
    // As many flows as one emulation has, and no more.
    let three = swept.replace("[[scenario.flows]]\n", "[[scenario.flows]]\ncount = 3\n");
    fs::write(folder.join("fig-4.5.toml"), three)?;
    let output = ackclock(directory.path(), &[&REPRODUCE[..], &["--at-once", "67"]].concat());
    let said = stderr(&output);
    ensure(output.status.code() == Some(2) && said.contains("--at-once may be 66 at most"), said)
}

fn reproduced_without_privilege() -> Checked {
    let directory = experiment()?;
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_ackclock")])
        .args(REPRODUCE)
        .current_dir(directory.path())
        .output()?;
    let said = stderr(&output);
    ensure(output.status.code() == Some(2) && said.contains("run it as root"), &*said)?;
    ensure(!directory.path().join("store").exists(), "something was run before")
}

fn exit_status() -> Checked {
    // Without flows the hosts are at the ends of the dumbbell.
    let text = SHORT.replace("[[flows]]\ncontrol = \"reno\"\n", "");
    let directory = directory(&text)?;
    let line = ["emulate", "case.toml", "--", "sh", "-c", "test {receiver} = 10.128.0.1 && exit 7"];
    let output = ackclock(directory.path(), &line);
    ensure(output.status.code() == Some(7), stderr(&output))
}

/// The result tells what a capture of the link tells, and the capture does not stay.
fn traced() -> Checked {
    let directory = directory(&format!("trace = \"bottleneck\"\n{SHORT}"))?;
    let scratch = tempfile::tempdir()?;
    let output = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .args(["emulate", "case.toml", "--json"])
        .current_dir(directory.path())
        .env("TMPDIR", scratch.path())
        .output()?;
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let document: serde_json::Value = serde_json::from_str(&stdout(&output))?;
    let traced = &document["points"][0]["traced"];
    let (flow, data) = (&traced[0]["flow"], &traced[0]["data"]);
    ensure(traced.as_array().is_some_and(|all| all.len() == 1) && *flow == 0, traced.to_string())?;
    ensure(data["syns"] == 1.0 && data["data_packets"].as_f64() > Some(10.0), data.to_string())?;
    ensure(traced[0]["acks"][0]["acked_bytes"].as_f64() > Some(0.0), traced.to_string())?;
    ensure(fs::read_dir(scratch.path())?.next().is_none(), "the capture is still there")
}

/// Segments of a followed flow are those of a capture. Without one it is said that there are none.
fn followed() -> Checked {
    let directory = directory(&format!("{SHORT}follow = 1\n"))?;
    let emulate = |arguments: &[&str]| -> Result<String, Failed> {
        let output =
            ackclock(directory.path(), &[&["emulate", "case.toml", "--out", "out"], arguments].concat());
        ensure(output.status.code() == Some(0), stderr(&output))?;
        Ok(stdout(&output) + &stderr(&output))
    };
    let report = || fs::read_to_string(directory.path().join("out/report.html"));
    let said = emulate(&["--capture", "bottleneck"])?;
    ensure(!said.contains("follow shows no segments"), said)?;
    for words in ["Segments of reno, as captured", "<figure class=\"packets\">"] {
        ensure(report()?.contains(words), format!("the report has no {words}"))?;
    }
    let segments = fs::read_to_string(directory.path().join("out/series/segments.csv"))?;
    ensure(segments.lines().count() > 100, segments)?;
    let said = emulate(&[])?;
    ensure(said.contains("\"reno\": follow shows no segments."), said)?;
    let report = report()?;
    ensure(report.contains("follow shows no segments") && !report.contains("Segments of"), "the segments")?;
    ensure(report.contains("<figure class=\"packets\">"), "the queue that it met")
}

/// Most systems begin with 1024 open files, which are too few for the hosts of some forty flows. The emulator
/// raises that limit as far as it may. Where it may not, it says what is missing.
fn open_files() -> Checked {
    let directory = directory(SHORT)?;
    let limited = |limits: &str| {
        let line =
            format!("ulimit {limits} && exec \"$0\" emulate case.toml --set flows.0.count=4 --out out");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_ackclock")]).current_dir(directory.path()).output()
    };
    let refused = limited("-n 40")?;
    let said = stderr(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
    ensure(refused.status.code() == Some(2) && said.contains("ulimit -Hn"), said)?;
    let raised = limited("-Sn 40")?;
    ensure(raised.status.code() == Some(0), stderr(&raised))
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
