//! The command line as scripts see it: one JSON document, the promised fields, the exit status.

mod common;

use common::{SCENARIO, ackclock, and, stderr, stdout, with};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// A directory with this text as `case.toml`.
fn with_file(text: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), text).expect("a file");
    directory
}

/// Runs the text with `--json` and these arguments.
fn run(text: &str, arguments: &[&str]) -> Output {
    let directory = with_file(text);
    ackclock(directory.path(), &[&["run", "case.toml", "--json"], arguments].concat())
}

/// Standard output as the one JSON document that it must be.
fn document(output: &Output) -> Value {
    let text = stdout(output);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}\n{}", stderr(output)))
}

fn assert_fields(value: &Value, fields: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("an object is wanted, not {value}"));
    for field in fields {
        assert!(object.contains_key(*field), "\"{field}\" is missing in {value}");
    }
}

const POINT: &[&str] = &[
    "parameters",
    "seed",
    "duration_s",
    "measure_s",
    "flows",
    "groups",
    "links",
    "jain",
    "expectations",
    "wall_s",
    "delivered_segments",
    "segments_per_wall_s",
    "engine",
];
const FLOW: &[&str] = &[
    "id",
    "label",
    "control",
    "recovery",
    "detection",
    "slow_start",
    "payload_bytes",
    "segment_bytes",
    "goodput_bps",
    "throughput_bps",
    "sent",
    "delivered",
    "retransmits",
    "duplicates",
    "fast_retransmits",
    "timeouts",
    "window_cuts",
    "rtt_min_s",
    "rtt_mean_s",
    "cwnd_mean",
    "completion_s",
];
const GROUP: &[&str] = &["label", "count", "goodput_bps", "jain"];
const SPREAD: &[&str] = &["total", "mean", "min", "max", "std"];
const LINK: &[&str] = &[
    "name",
    "rate_bps",
    "utilisation",
    "arrivals",
    "drops",
    "drop_rate",
    "marks",
    "queue_mean",
    "queue_max",
];

#[test]
fn run_gives_the_fields_of_the_contract() {
    let output = run(SCENARIO, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = document(&output);
    assert_fields(&document, &["scenario", "points"]);
    assert_eq!(document["scenario"]["name"], "an example");
    assert_eq!(document["scenario"]["flows"][0]["count"], 2);
    let points = document["points"].as_array().expect("a list");
    assert_eq!(points.len(), 1);
    let point = &points[0];
    assert_fields(point, POINT);
    assert_eq!(point["parameters"], serde_json::json!({}));
    assert_eq!((&point["seed"], &point["duration_s"]), (&7.into(), &10.0.into()));
    assert_eq!(point["measure_s"], serde_json::json!([2.0, 10.0]));
    let flows = point["flows"].as_array().expect("a list");
    assert_eq!(flows.len(), 3);
    for (id, flow) in flows.iter().enumerate() {
        assert_fields(flow, FLOW);
        assert_eq!(flow["id"], id);
    }
    assert_eq!((&flows[0]["label"], &flows[2]["label"]), (&"first".into(), &"second".into()));
    assert_eq!((&flows[0]["control"], &flows[0]["recovery"]), (&"compound".into(), &"sack".into()));
    for group in point["groups"].as_array().expect("a list") {
        assert_fields(group, GROUP);
        assert_fields(&group["goodput_bps"], SPREAD);
    }
    assert_eq!(point["groups"][0]["count"], 2);
    let links = point["links"].as_array().expect("a list");
    assert_eq!(links.len(), 2);
    links.iter().for_each(|link| assert_fields(link, LINK));
    assert_eq!((&links[0]["name"], &links[0]["rate_bps"]), (&"bottleneck".into(), &10e6.into()));
    assert_eq!(
        point["expectations"],
        serde_json::json!([{"that": "goodput('first') > 1000000", "holds": true}])
    );
}

#[test]
fn an_expectation_that_fails_shows_its_numbers() {
    let output = run(&SCENARIO.replace("goodput('first') > 1000000", "goodput('first') > 1e9"), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let expectation = &document(&output)["points"][0]["expectations"][0];
    assert_eq!(expectation["holds"], false);
    assert_eq!(expectation["seen"][0]["call"], "goodput('first')");
    assert!(expectation["seen"][0]["value"].as_f64().is_some_and(|bps| bps > 1e6), "{expectation}");
}

#[test]
fn units_are_base_units_and_sums_agree() {
    let document = document(&run(SCENARIO, &[]));
    let point = &document["points"][0];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"));
    let flow = &point["flows"][0];
    // 8 s are measured, segments carry 1000 B.
    assert_eq!(number(&flow["goodput_bps"]), number(&flow["delivered"]) * 1000.0);
    assert!((0.060..0.0611).contains(&number(&flow["rtt_min_s"])), "{flow}");
    let (first, second) = (&point["flows"][0]["goodput_bps"], &point["flows"][1]["goodput_bps"]);
    let spread = &point["groups"][0]["goodput_bps"];
    assert_eq!(number(&spread["total"]), number(first) + number(second));
    assert_eq!(number(&spread["mean"]), number(&spread["total"]) / 2.0);
    let link = &point["links"][0];
    assert!((0.9..=1.0).contains(&number(&link["utilisation"])), "{link}");
}

#[test]
fn expectations_decide_between_0_and_1() {
    let failing = with("> 1000000", "> 1000000000");
    let output = run(&failing, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(document(&output)["points"][0]["expectations"][0]["holds"], false);
    let directory = with_file(&failing);
    let output = ackclock(directory.path(), &["run", "case.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("FAILS"), "{}", stdout(&output));
    // One of several points is enough.
    let sweep = with("> 1000000", "> 6000000") + "[sweep]\n\"flows.0.count\" = [1, 6]\n";
    let output = run(&sweep, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

/// A claim about all points together decides as those about each point do.
#[test]
fn expectations_can_compare_the_points_of_a_sweep() {
    let sweep = |that: &str| {
        let text =
            with("that = \"goodput('first') > 1000000\"", &format!("over = \"points\"\nthat = \"{that}\""));
        text + "[sweep]\n\"flows.0.count\" = [1, 6]\n"
    };
    for (that, holds) in [
        ("rises(goodput('first', count=axis('count')))", true),
        ("goodput('first', count=6) < goodput('first', count=1)", false),
    ] {
        let output = run(&sweep(that), &[]);
        assert_eq!(output.status.code(), Some(i32::from(!holds)), "{}", stderr(&output));
        let document = document(&output);
        let verdict = &document["expectations"][0];
        assert_eq!((&verdict["that"], &verdict["holds"]), (&that.into(), &holds.into()));
        assert_eq!(verdict["seen"].as_array().map_or(0, Vec::len), if holds { 0 } else { 2 }, "{verdict}");
        assert_eq!(document["points"][0]["expectations"], serde_json::json!([]));
    }
    let directory = with_file(&sweep("goodput('first', count=6) < goodput('first', count=1)"));
    let output = ackclock(directory.path(), &["run", "case.toml", "--out", "out"]);
    let shown = stdout(&output);
    assert!(shown.contains("FAILS  all points: goodput('first', count=6)"), "{shown}");
    let page = std::fs::read_to_string(directory.path().join("out/report.html")).expect("a report");
    assert!(page.contains("✗ fails"));
}

#[test]
fn set_changes_the_run() {
    let result = |arguments: &[&str]| document(&run(SCENARIO, arguments))["points"][0].clone();
    let rate = "topology.dumbbell.bottleneck.rate=20 Mbit/s";
    assert_eq!(result(&["--set", rate])["links"][0]["rate_bps"], 20e6);
    assert_eq!(result(&["--set", "flows.0.control=cubic"])["flows"][0]["control"], "cubic");
    assert_eq!(
        result(&["--set", "flows.0.control.layered.decrease=variable"])["flows"][0]["control"],
        "layered"
    );
    assert_eq!(result(&["--set", "seed=3", "--set", "seed=4"])["seed"], 4);
    assert_eq!(result(&["--set", "measure=[\"1 s\", \"2 s\"]"])["measure_s"], serde_json::json!([1.0, 2.0]));
    assert_eq!(result(&["--set", "flows.1.tcp.recovery=newreno"])["flows"][2]["recovery"], "newreno");
    assert_eq!(result(&["--set", "expect=[]"])["expectations"], serde_json::json!([]));
}

#[test]
fn sweeps_run_the_cross_product_in_order() {
    let text = with("seed = 7", "seeds = [5, 6]")
        + "[sweep]\n\"flows.0.count\" = [1, 2]\nload = [{ is = \"none\" }, { is = \"some\", \"traffic.0.rate\" = \"2 Mbit/s\" }]\n";
    let document = document(&run(&text, &["--set", "expect=[]"]));
    let points = document["points"].as_array().expect("a list");
    let shown: Vec<_> = points
        .iter()
        .map(|point| {
            let parameters = &point["parameters"];
            (parameters["flows.0.count"].clone(), parameters["load"].clone(), point["seed"].clone())
        })
        .collect();
    let mut expected = Vec::new();
    for count in [1, 2] {
        for load in ["none", "some"] {
            expected.extend([5, 6].map(|seed| (count.into(), load.into(), seed.into())));
        }
    }
    assert_eq!(shown, expected);
}

/// What the command line says wins over what the file sweeps.
#[test]
fn set_narrows_a_sweep() {
    let text = with("seed = 7", "seeds = 3") + "[sweep]\n\"flows.0.count\" = [1, 2]\n";
    let seeds = |arguments: &[&str]| {
        let document = document(&run(&text, arguments));
        let points = document["points"].as_array().expect("a list").clone();
        points
            .iter()
            .map(|point| (point["seed"].as_u64(), point["parameters"]["flows.0.count"].as_u64()))
            .collect::<Vec<_>>()
    };
    let narrowed = seeds(&["--set", "flows.0.count=3", "--set", "seed=9"]);
    assert_eq!(narrowed, [(Some(9), Some(3))]);
    let swept = seeds(&["--set", "sweep.\"flows.0.count\"=[4, 5]", "--set", "seeds=[8]"]);
    assert_eq!(swept, [(Some(8), Some(4)), (Some(8), Some(5))]);
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let once = |threads: &str| {
        let directory = with_file(&(SCENARIO.to_owned() + "[sweep]\n\"flows.0.count\" = [1, 2, 3, 4]\n"));
        let mut command = assert_cmd::Command::cargo_bin("ackclock").expect("the program is built");
        let output = command
            .current_dir(directory.path())
            .env("RAYON_NUM_THREADS", threads)
            .args(["run", "case.toml", "--json", "--set", "expect=[]"])
            .output()
            .expect("the program runs");
        let mut document = document(&output);
        for point in document["points"].as_array_mut().expect("a list") {
            let point = point.as_object_mut().expect("an object");
            point.remove("wall_s");
            point.remove("segments_per_wall_s");
        }
        document.to_string()
    };
    let alone = once("1");
    assert_eq!(alone, once("1"));
    assert_eq!(alone, once("4"));
}

#[test]
fn compare_gives_one_point_per_control() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments =
        ["compare", "reno", "compound", "--rate", "10 Mbit/s", "--rtt", "20ms", "--buffer", "0.5bdp"];
    let more =
        ["--duration", "5s", "--flows", "2", "--seed", "3", "--loss", "0.001", "--json", "--out", "out"];
    let output = ackclock(directory.path(), &[&arguments[..], &more[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = document(&output);
    let points = document["points"].as_array().expect("a list");
    assert!(points.len() >= 2, "{points:?}");
    for (point, control) in points.iter().zip(["reno", "compound"]) {
        assert_fields(point, POINT);
        assert_eq!(point["flows"][0]["control"], control);
        assert_eq!((&point["flows"].as_array().map(Vec::len), &point["seed"]), (&Some(2), &3.into()));
        assert_eq!(point["links"][0]["rate_bps"], 10e6);
    }
}

#[test]
fn compare_takes_queue_seeds_detection_and_recovery() {
    let directory = tempfile::tempdir().expect("a directory");
    let path =
        ["compare", "reno", "cubic", "--rate", "10 Mbit/s", "--rtt", "20ms", "--duration", "2s", "--json"];
    let more = [
        "--queue",
        "codel",
        "--buffer",
        "50 packets",
        "--seeds",
        "2",
        "--detection",
        "rack",
        "--recovery",
        "sack",
    ];
    let output = ackclock(directory.path(), &[&path[..], &more[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = document(&output);
    let points = document["points"].as_array().expect("a list");
    let seeds: Vec<_> = points.iter().map(|point| point["seed"].as_u64()).collect();
    assert_eq!(seeds, [Some(1), Some(2), Some(1), Some(2)]);
    let scenario = &document["scenario"];
    assert_eq!(scenario["topology"]["dumbbell"]["bottleneck"]["queue"]["codel"]["limit"], "50 packets");
    assert_eq!(
        (&scenario["flows"][0]["detection"], &points[0]["flows"][0]["recovery"]),
        (&"rack".into(), &"sack".into())
    );
}

#[test]
fn compare_takes_a_stack() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = ["compare", "reno", "cubic", "--rate", "10 Mbit/s", "--rtt", "20ms", "--duration", "1s"];
    let flows = |more: &[&str]| -> Vec<_> {
        let output = ackclock(directory.path(), &[&path[..], more, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let points = document(&output)["points"].as_array().expect("a list").clone();
        let text = |flow: &Value, key: &str| flow[key].as_str().expect("a text").to_owned();
        points
            .iter()
            .map(|point| &point["flows"][0])
            .map(|flow| ["detection", "recovery", "slow_start"].map(|key| text(flow, key)).join(" "))
            .collect()
    };
    assert_eq!(flows(&[]), ["dupacks sack standard", "rack sack hystart++"]);
    assert_eq!(flows(&["--stack", "linux"]), ["rack sack standard", "rack sack hystart"]);
    assert_eq!(flows(&["--stack", "plain"]), ["dupacks sack standard"; 2]);
    let newreno = flows(&["--stack", "linux", "--recovery", "newreno"]);
    assert_eq!(newreno, ["dupacks newreno standard", "dupacks newreno hystart"]);
}

#[test]
fn compare_speaks_of_its_own_flags() {
    for (arguments, wanted) in [
        (&["reno", "--rate", "10 Mb/s"][..], "--rate 10 Mb/s"),
        (&["reno", "--rtt", "1"], "--rtt 1"),
        (&["reno", "--buffer", "lots"], "--buffer lots"),
        (&["reno", "--duration", "0s"], "--duration 0s"),
        (&["reno", "--loss", "nan"], "--loss NaN"),
        (&["reno", "--loss", "2"], "--loss 2"),
        (&["reno", "--flows", "0"], "--flows 0"),
        (&["reno", "--seed", "18446744073709551615"], "--seed 18446744073709552000"),
        (&["reno", "--queue", "coddel"], "--queue coddel"),
        (&["reno", "--seeds", "0"], "--seeds 0"),
        (&["reno", "--detection", "rak"], "--detection rak"),
        (&["reno", "--recovery", "sak"], "--recovery sak"),
        (&["reno", "--stack", "linus"], "--stack linus"),
        (&["reno", "rneo"], "rneo"),
        (&["reno", "reno"], "reno"),
        (&["re\"no\\\n"], "re\"no\\"),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let output = ackclock(directory.path(), &[&["compare", "--json"], arguments].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(stdout(&output), "");
        assert!(said.contains("command line:") && said.contains(wanted), "{arguments:?}: {said}");
        assert!(said.contains("help:"), "{said}");
        assert!(!directory.path().join("ackclock-out").exists(), "{arguments:?}: files were written");
    }
}

#[test]
fn list_and_show_speak_json() {
    let here = Path::new(".");
    let all = document(&ackclock(here, &["list", "--json"]));
    for entry in all.as_array().expect("a list") {
        assert_fields(entry, &["kind", "name", "what", "source"]);
    }
    for kind in ["controls", "recoveries", "detections", "queues"] {
        let some = document(&ackclock(here, &["list", kind, "--json"]));
        let some = some.as_array().expect("a list");
        assert!(!some.is_empty() && some.iter().all(|entry| entry["kind"] == kind), "{kind}: {some:?}");
    }
    let all = all.as_array().expect("a list").iter().filter(|entry| entry["kind"] != "experiments");
    for entry in all {
        let (name, kind) = (entry["name"].as_str().expect("a text"), entry["kind"].as_str().expect("a text"));
        let shown = document(&ackclock(here, &["show", name, "--kind", kind, "--json"]));
        assert_fields(
            &shown,
            &["kind", "name", "title", "source", "usage", "equations", "notes", "parameters"],
        );
        assert_eq!((&shown["name"], &shown["kind"]), (&entry["name"], &entry["kind"]));
        let text = ackclock(here, &["show", name]);
        assert_eq!(text.status.code(), Some(0));
        assert!(stdout(&text).contains(&format!("({name})")), "{}", stdout(&text));
    }
    // A controller goes first where a recovery has the same name; text has both.
    assert_eq!(document(&ackclock(here, &["show", "reno", "--json"]))["kind"], "controls");
    let both = stdout(&ackclock(here, &["show", "reno"]));
    assert!(both.contains("control = \"reno\"") && both.contains("recovery = \"reno\""), "{both}");
}

#[test]
fn show_says_what_was_probably_meant() {
    for (given, meant) in
        [("CUBIC", "cubic"), ("codell", "codel"), ("New-Reno", "newreno"), ("ctcp-fig3", "ctcp-fig-3")]
    {
        let output = ackclock(Path::new("."), &["show", given]);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(&format!("\"{given}\"")), "{error}");
        assert!(error.contains(&format!("did you mean \"{meant}\"?")), "{error}");
    }
}

#[test]
fn wrong_usage_is_status_2_with_nothing_on_standard_output() {
    let directory = with_file(SCENARIO);
    for arguments in [
        &[][..],
        &["runn", "case.toml"],
        &["run"],
        &["run", "case.toml", "--jsn"],
        &["run", "case.toml", "--set"],
        &["compare"],
        &["compare", "reno", "--flows", "many"],
        &["compare", "reno", "--seed", "-1"],
        &["list", "things"],
        &["show"],
        &["show", "rneo"],
        &["show", "rneo", "--json"],
    ] {
        let output = ackclock(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(!stderr(&output).is_empty() && !stderr(&output).contains("panicked"), "{arguments:?}");
    }
}

#[test]
fn help_names_every_command_and_flag() {
    let here = Path::new(".");
    let help = |arguments: &[&str]| {
        let output = ackclock(here, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        stdout(&output)
    };
    let all = help(&["--help"]);
    for command in ["run", "compare", "list", "show", "reproduce"] {
        assert!(all.contains(&format!("\n  {command} ")), "{command} is missing in:\n{all}");
        help(&[command, "--help"]);
    }
    let run = help(&["run", "--help"]);
    assert!(["FILE", "--set", "--out", "--json"].iter().all(|flag| run.contains(flag)), "{run}");
    let compare = help(&["compare", "--help"]);
    let flags = ["--rate", "--rtt", "--buffer", "--duration", "--flows", "--seed", "--json"];
    assert!(flags.iter().all(|flag| compare.contains(flag)), "{compare}");
}

/// Commands, and those of `kernel` and `key`, by what the help says of them.
fn commands(of: &[&str]) -> Vec<Vec<String>> {
    let help = stdout(&ackclock(Path::new("."), &[of, &["--help"]].concat()));
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or("");
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(|name| of.iter().map(|word| (*word).to_owned()).chain([name.to_owned()]).collect())
        .collect()
}

/// Those without serve a page, or write what is no document.
#[test]
fn every_command_that_tells_something_takes_json() {
    let mut without = Vec::new();
    let mut all = commands(&[]);
    assert!(all.len() > 15, "{all:?}");
    while let Some(command) = all.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let inner = commands(&words);
        let help = stdout(&ackclock(Path::new("."), &[&words[..], &["--help"]].concat()));
        if inner.is_empty() && !help.contains("--json") {
            without.push(words.join(" "));
        }
        all.extend(inner);
    }
    without.sort();
    assert_eq!(without, ["completions", "lab", "man"]);
}

#[test]
fn trace_gives_the_fields_of_the_contract() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/kernel.pcapng");
    let capture = capture.display().to_string();
    let document = document(&ackclock(Path::new("."), &["trace", &capture, "--json"]));
    assert_fields(&document, &["packets", "tcp_packets", "cut_after", "connections"]);
    let connection = &document["connections"][0];
    assert_fields(connection, &["number", "ends", "begin_s", "elapsed_s", "directions"]);
    // The numbers of the page.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/trace.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let table =
        page.split("| number | JSON |").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a table");
    let names: Vec<&str> = table
        .lines()
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(names.len() > 25, "{names:?}");
    for direction in 0..2 {
        assert_fields(&connection["directions"][direction], &names);
    }
}

#[cfg(feature = "agent")]
#[test]
fn what_a_script_would_do_has_the_fields_of_the_contract() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/generate/burst.netspec");
    let script = script.display().to_string();
    let document = document(&ackclock(Path::new("."), &["generate", &script, "--check", "--json"]));
    assert_fields(&document, &["transfers"]);
    let transfer = &document["transfers"][0];
    assert_fields(transfer, &["source", "sink", "burst", "duration_s"]);
    assert_fields(&transfer["burst"], &["size", "every_s", "for_s", "queued"]);
    for end in ["source", "sink"] {
        assert_fields(&transfer[end], &["agent", "own", "spec"]);
    }
}

#[cfg(feature = "agent")]
#[test]
fn certificates_give_the_fields_of_the_contract() {
    let directory = tempfile::tempdir().expect("a directory");
    let document = document(&ackclock(directory.path(), &["certificates", "c", "a.example", "--json"]));
    assert_fields(&document, &["directory", "files", "days"]);
    for file in document["files"].as_array().expect("a list") {
        assert!(directory.path().join("c").join(file.as_str().expect("a name")).exists(), "{file}");
    }
}

/// Nobody reads to the end of a long table.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let text = and("[sweep]\nseed = [1, 2, 3, 4, 5, 6, 7, 8]\n").replacen("seed = 7\n", "", 1);
    let directory = with_file(&text);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("ackclock"));
    let mut child = command
        .current_dir(directory.path())
        .args([
            "run",
            "case.toml",
            "--set",
            "duration=3 s",
            "--set",
            "measure=[\"1 s\", \"3 s\"]",
            "--set",
            "flows.1.stop=2 s",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
