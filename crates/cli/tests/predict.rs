//! `ackclock predict`: predictors over a flow of a scenario, and what is said about wrong questions.

mod common;

use common::{SCENARIO, ackclock, and, stderr, stdout};
use serde_json::Value;
use std::fmt::Write;

fn predict(text: &str, arguments: &[&str]) -> std::process::Output {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), text).expect("a file");
    ackclock(directory.path(), &[&["predict", "case.toml"], arguments].concat())
}

fn document(output: &std::process::Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_str(&stdout(output)).expect("one JSON document")
}

#[test]
fn the_command_line_and_the_scenario_ask_the_same_question() {
    let asked = document(&predict(
        SCENARIO,
        &["--json", "--flow", "second", "--threshold", "70 ms", "--samples", "50"],
    ));
    let written =
        and("[predict]\nflow = \"second\"\nlink = \"bottleneck\"\nthreshold = \"70 ms\"\nsamples = 50\n");
    assert_eq!(asked, document(&predict(&written, &["--json"])));
    // The command line has the last word, and a run gives the same as the command.
    let other = document(&predict(&written, &["--json", "--flow", "first"]));
    assert_ne!(asked, other);
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("case.toml"), &written).expect("a file");
    let run = document(&ackclock(directory.path(), &["run", "case.toml", "--json"]));
    assert_eq!(run["points"][0]["predictions"], asked);
    for predictor in asked["predictors"].as_array().expect("a list") {
        let outcome = &predictor["queue_losses"];
        let share = |key: &str| outcome[key].as_f64();
        if let (Some(efficiency), Some(alarms)) = (share("efficiency"), share("false_positives")) {
            assert!((efficiency + alarms - 1.0).abs() < 1e-12, "{predictor}");
        }
    }
}

#[test]
fn wrong_questions() {
    let mut all = String::new();
    let cases: [(&str, String, &[&str]); 7] = [
        ("unknown flows", SCENARIO.to_owned(), &["--flow", "frist"]),
        ("an unknown link", SCENARIO.to_owned(), &["--link", "botleneck"]),
        ("a threshold without a unit", SCENARIO.to_owned(), &["--threshold", "65"]),
        ("a misspelt key", and("[predict]\nthreshhold = \"65 ms\"\n"), &[]),
        ("flows that the file asks for", and("[predict]\nflow = \"third\"\n"), &[]),
        ("no samples", and("[predict]\nsamples = 0\n"), &[]),
        ("a sweep", and("[sweep]\nseed = [1, 2]\n").replace("seed = 7\n", ""), &[]),
    ];
    for (heading, text, arguments) in cases {
        let output = predict(&text, arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{heading}");
        writeln!(all, "## {heading}\n{}", stderr(&output)).expect("a text grows");
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(all) });
}
