//! The examples for newcomers: all of them run, and what they expect holds.

mod common;

use ackclock_scenario::Sweep;
use ackclock_study::run::{check, judge_points};
use std::path::{Path, PathBuf};

#[test]
fn every_example_keeps_its_promises() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).expect("the examples are there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a text");
        assert!(text.starts_with("# "), "{name} does not say what it shows");
        let file = path.display().to_string(); // what it names lies beside it
        let sweep = Sweep::read(&file, &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        check(&sweep.points, true).unwrap_or_else(|error| panic!("{error}"));
        let (results, over_points) = judge_points(&sweep.points, common::run_all(&sweep.points, None));
        for expectation in &over_points {
            assert!(expectation.holds, "{name}, all points: {expectation:?}");
        }
        for result in results {
            assert!(!result.expectations.is_empty(), "{name} expects nothing");
            for expectation in &result.expectations {
                assert!(expectation.holds, "{name}, {:?}: {}", result.parameters, expectation.that);
            }
        }
        count += 1;
    }
    assert!(count >= 11, "only {count} examples were found");
}

/// What the book's tables are measured with lies in directories below: it is too long to run here, but must
/// be readable.
#[test]
fn every_measured_scenario_can_be_run() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut count = 0;
    for path in inside(&directory).filter(|path| path.is_dir()).flat_map(|path| scenarios(&path)) {
        let text = std::fs::read_to_string(&path).expect("a text");
        let name = path.display().to_string();
        let sweep = Sweep::read(&name, &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        check(&sweep.points, true).unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert!(count >= 17, "only {count} were found");
}

fn inside(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").path())
}

/// All scenarios below a directory.
fn scenarios(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in inside(directory) {
        if path.is_dir() {
            found.extend(scenarios(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found
}
