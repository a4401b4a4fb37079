//! `ackclock reproduce`, on a small experiment and on built-in ones that take no time.

mod common;

use common::{ackclock, stderr, stdout};
use serde_json::Value;
use std::path::Path;

const EXPERIMENT: &str = r#"
id = "fig-1"
work = "tiny1999"
title = "A small experiment"
section = "I"
kind = "simulation"
summary = "One flow at three rates."

[scenario]
duration = "3 s"
seeds = 2
[scenario.topology.dumbbell]
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
[[scenario.flows]]
control = "reno"
start = { uniform = ["0 s", "1 s"] }
[scenario.sweep]
"topology.dumbbell.bottleneck.rate" = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]

[[claim]]
text = "Goodput grows with the rate."
that = "rises(goodput('reno', rate=axis('rate')))"

[[claim]]
text = "Goodput is above the rate."
that = "goodput('reno', rate='5 Mbit/s') > 5e6"
tried = "nothing"
"#;

fn experiments(directory: &Path, text: &str) {
    let folder = directory.join("experiments/tiny1999");
    std::fs::create_dir_all(&folder).expect("a directory");
    std::fs::write(folder.join("fig-1.toml"), text).expect("a file");
}

const COMMAND: [&str; 7] = ["reproduce", "all", "--experiments", "experiments", "--threads", "1", "--json"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A claim that asks for one value has no error, and says so; one that every run meets alike says that.
#[test]
fn what_stands_for_an_error_where_there_is_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let small = EXPERIMENT.replace("[[scenario.flows]]", "[[scenario.flows]]\nsize = \"10 kB\"");
    let text = small
        .replace("rises(goodput('reno', rate=axis('rate')))", "drops('bottleneck', rate='5 Mbit/s') == 0")
        .replace("goodput('reno', rate='5 Mbit/s') > 5e6", "drops('bottleneck', rate='5 Mbit/s') >= 0");
    experiments(directory.path(), &text);
    let out = [&COMMAND[..6], &["--out", "page"]].concat();
    let output = ackclock(directory.path(), &out);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(directory.path().join("page/reproduction.md")).expect("a page");
    let row = |of: &str| page.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{page}"));
    assert!(row("== 0`").contains("the same value is asked for; 2 runs"), "{page}");
    assert!(row(">= 0`").contains("the same in each of 2 runs"), "{page}");
}

/// An emulation sees no single segments: such an experiment is named, and nothing is emulated.
#[test]
fn what_no_emulation_can_judge_is_left_out_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let followed = EXPERIMENT.replace("control = \"reno\"\n", "control = \"reno\"\nfollow = true\n");
    experiments(directory.path(), &followed);
    let output = ackclock(directory.path(), &[&COMMAND[..], &["--emulate"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("fig-1 is left out"), "{}", stderr(&output));
    assert!(stderr(&output).contains("no emulation can judge"), "{}", stderr(&output));
}

#[test]
fn a_failing_claim_is_a_result_unless_strict() {
    let directory = tempfile::tempdir().expect("a directory");
    experiments(directory.path(), EXPERIMENT);
    let output = ackclock(directory.path(), &[&COMMAND[..], &["--out", "out"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&stdout(&output));
    let counts = &document["counts"];
    let number = |word: &str| counts[word].as_u64().expect("a number");
    assert_eq!(
        ["holds", "fails", "undecided", "untestable", "calibrated", "identity"].map(number),
        [1, 1, 0, 0, 0, 0]
    );
    let claims = &document["experiments"][0]["claims"];
    assert_eq!((&claims[0]["verdict"], &claims[1]["verdict"]), (&"holds".into(), &"fails".into()));
    assert!(claims[1]["cases"][0]["seen"][0]["value"].as_f64().is_some_and(|bps| bps > 1e6));
    let page = std::fs::read_to_string(directory.path().join("out/reproduction.md")).expect("the page");
    for part in [
        "| **fails**<br>",
        "beyond the line; ",
        "tried: nothing",
        "](pictures/fig-1.svg)",
        "`goodput('reno', rate='5 Mbit/s')` = ",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    for file in ["reproduction.json", "fig-1.points.json", "pictures/fig-1.svg"] {
        assert!(directory.path().join("out").join(file).exists(), "{file}");
    }
    let again = ackclock(directory.path(), &[&COMMAND[..], &["--strict"]].concat());
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(stdout(&again), stdout(&output), "kept points give the same numbers");
}

#[test]
fn the_summary_counts_claims_of_the_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let linked = EXPERIMENT.replacen("that = ", "of = \"O2\"\nthat = ", 1) + "ours = true\n";
    experiments(directory.path(), &linked);
    let published = "[tiny1999]\nfig-1 = 3\nfig-2 = 4\n";
    std::fs::write(directory.path().join("experiments/published.toml"), published).expect("a file");
    let output = ackclock(directory.path(), &[&COMMAND[..], &["--summary", "--out", "out"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&stdout(&output));
    let row = &document["summary"][0];
    let number = |word: &str| row[word].as_u64().expect("a number");
    assert_eq!(
        ["published", "represented", "holds", "fails", "contradicted", "ours", "unlinked"].map(number),
        [7, 1, 1, 0, 0, 1, 0]
    );
    let table = std::fs::read_to_string(directory.path().join("out/summary.md")).expect("the table");
    assert!(table.contains("| fig | tiny1999 | 7 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |"), "{table}");
    assert!(table.starts_with("<!-- ackclock reproduce all: build "), "{table}");
    assert!(!directory.path().join("out/reproduction.md").exists());
}

/// The pages are those that each family alone gives, and the table is that of all.
#[test]
fn each_family_gets_a_page_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    experiments(directory.path(), EXPERIMENT);
    let other = directory.path().join("experiments/tiny1999/b-fig-2.toml");
    std::fs::write(other, EXPERIMENT.replace("fig-1", "b-fig-2")).expect("a file");
    let run = |arguments: &[&str]| {
        let command = ["reproduce", "--experiments", "experiments", "--threads", "1"];
        let output = ackclock(directory.path(), &[&command[..], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    };
    run(&["all", "--by-family", "--out", "all"]);
    run(&["all", "--summary", "--out", "table"]);
    let text = |path: &str| {
        std::fs::read_to_string(directory.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    assert_eq!(text("all/summary.md"), text("table/summary.md"));
    for (family, id) in [("fig", "fig-1"), ("b", "b-fig-2")] {
        run(&[family, "--out", family]);
        for file in ["reproduction.md", "reproduction.json", &format!("{id}.points.json")] {
            assert_eq!(text(&format!("all/{family}/{file}")), text(&format!("{family}/{file}")), "{file}");
        }
        assert!(directory.path().join(format!("all/{family}/pictures/{id}.svg")).exists());
    }
}

/// Families of one name have one page, as when the name selects them.
#[test]
fn families_of_one_name_share_a_page() {
    let directory = tempfile::tempdir().expect("a directory");
    experiments(directory.path(), EXPERIMENT);
    let other = directory.path().join("experiments/small2000");
    std::fs::create_dir_all(&other).expect("a directory");
    let text = EXPERIMENT.replace("fig-1", "fig-2").replace("tiny1999", "small2000");
    std::fs::write(other.join("fig-2.toml"), text).expect("a file");
    let output = ackclock(directory.path(), &[&COMMAND[..], &["--by-family", "--out", "all"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(directory.path().join("all/fig/reproduction.md")).expect("the page");
    assert!(page.contains("## fig-1") && page.contains("## fig-2"), "{page}");
}

/// Who prepares the directory, or an experiment's id, does not choose another place for the pages.
#[test]
fn the_pages_of_families_stay_in_their_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    experiments(directory.path(), EXPERIMENT);
    std::fs::create_dir_all(at("all")).expect("a directory");
    std::fs::create_dir(at("elsewhere")).expect("a directory");
    std::os::unix::fs::symlink(at("elsewhere"), at("all/fig")).expect("a link");
    let by_family = [&COMMAND[..], &["--by-family", "--out", "all"]].concat();
    let output = ackclock(directory.path(), &by_family);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("all/fig cannot be used: there is a link in its place"),
        "{}",
        stderr(&output)
    );
    std::fs::remove_file(at("all/fig")).expect("a link");
    std::fs::rename(at("experiments/tiny1999/fig-1.toml"), at("experiments/tiny1999/..-fig-1.toml"))
        .expect("a name");
    std::fs::write(at("experiments/tiny1999/..-fig-1.toml"), EXPERIMENT.replace("fig-1", "..-fig-1"))
        .expect("a file");
    let output = ackclock(directory.path(), &by_family);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!at("reproduction.md").exists() && !at("elsewhere/reproduction.md").exists());
}

#[test]
fn an_expression_without_a_value_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    experiments(directory.path(), &EXPERIMENT.replace("> 5e6", "> nothing"));
    let output = ackclock(directory.path(), &COMMAND);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    let said = stderr(&output);
    assert!(said.contains("fig-1.toml:26: claim.1.that") && said.contains("help:"), "{said}");
}

#[test]
fn what_is_built_in_can_be_listed_shown_and_judged() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = |arguments: &[&str]| {
        let output = ackclock(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let list = json(&run(&["list", "experiments", "--json"]));
    assert!(list.as_array().is_some_and(|list| list.iter().any(|entry| entry["name"] == "ctcp-lowwnd")));
    assert!(run(&["show", "ctcp-lowwnd"]).contains("41 segments"));
    assert_eq!(json(&run(&["show", "ctcp-lowwnd", "--json"]))["work"], "tan2006");
    assert!(run(&["reproduce", "ctcp-lowwnd"]).contains("2 hold, 0 fail, 0 undecided, 0 untestable"));
    let output = ackclock(directory.path(), &["reproduce", "ctcp-lowwmd"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean \"ctcp-lowwnd\"?"), "{}", stderr(&output));
}
