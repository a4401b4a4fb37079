//! What README and the first-run page tell a newcomer to type works, in the order in which they tell it.

mod common;

use common::{ackclock, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A fenced block: its language and its lines.
fn blocks(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(language) = lines.by_ref().find_map(|line| line.strip_prefix("```")) {
        blocks.push((language, lines.by_ref().take_while(|line| *line != "```").collect()));
    }
    blocks
}

/// The words of a command for the program, without what its output goes through. `None` for other commands.
fn words(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?; // a comment is none of the words
    let words: Vec<String> = words.into_iter().take_while(|word| word != "|" && word != ">").collect();
    let prefix: &[&str] = match words.first()?.as_str() {
        "ackclock" => &["ackclock"],
        "cargo" => &["cargo", "run", "--release", "--"],
        _ => return None,
    };
    words
        .starts_with(&prefix.iter().map(ToString::to_string).collect::<Vec<_>>())
        .then(|| words[prefix.len()..].to_vec())
}

/// Types a page's commands. The first scenario is `mine.toml`; one that only sweeps is the end of a copy,
/// `sweep.toml`.
fn follow(page: &str) -> usize {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name);
    let mut scenario = String::new();
    let mut typed = 0;
    for (language, lines) in blocks(page) {
        if language == "toml" && scenario.is_empty() {
            scenario = lines.join("\n");
            fs::write(file("mine.toml"), &scenario).expect("it can be written");
        } else if language == "toml" && lines[0] == "[sweep]" {
            let sweep = format!("{scenario}\n{}\n", lines.join("\n"));
            fs::write(file("sweep.toml"), sweep).expect("it can be written");
        } else if language == "sh" {
            for (line, mut words) in lines.into_iter().filter_map(|line| Some((line, words(line)?))) {
                // Whole published works take minutes; that they are known is enough here.
                if words[0] == "reproduce" {
                    let list = stdout(&ackclock(directory.path(), &["list"]));
                    assert!(list.contains(&words[1]), "{line}: it is not in the list");
                    continue;
                }
                if words[0] == "compare" {
                    words.extend(["--duration", "2 s"].map(str::to_owned)); // in place of a minute
                }
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let output = ackclock(directory.path(), &words);
                assert!(output.status.success(), "{line}\n{}{}", stdout(&output), stderr(&output));
                typed += 1;
            }
        }
    }
    typed
}

#[test]
fn what_the_readme_says_works() {
    assert!(follow(&read("README.md")) >= 10);
}

#[test]
fn what_the_first_run_page_says_works() {
    assert!(follow(&read("docs/src/first-run.md")) >= 4);
}

#[test]
fn the_first_run_page_explains_every_column() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = ackclock(directory.path(), &["compare", "reno", "layered", "--duration", "1 s"]);
    let (page, table) = (read("docs/src/first-run.md"), stdout(&output));
    let rule = |line: &str| !line.is_empty() && line.chars().all(|letter| "─═".contains(letter));
    let lines: Vec<&str> = table.lines().collect();
    let headers = lines.windows(3).filter(|three| rule(three[0]) && three[2].starts_with('═'));
    let columns =
        headers.flat_map(|three| three[1].split("  ").map(str::trim).filter(|name| !name.is_empty()));
    let missing: Vec<&str> = columns.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/src/first-run.md does not explain {missing:?}\n{table}");
}

/// A target's name and what `make help` says of it.
fn targets(makefile: &str) -> Vec<(String, bool)> {
    let phony = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: "));
    let described = |name: &str| {
        makefile.lines().any(|line| line.starts_with(&format!("{name}:")) && line.contains("## "))
    };
    phony.flat_map(str::split_whitespace).map(|name| (name.to_owned(), described(name))).collect()
}

#[test]
fn every_target_of_make_is_described_and_in_the_guide() {
    let (makefile, guide) = (read("Makefile"), read("CONTRIBUTING.md"));
    let targets = targets(&makefile);
    assert!(targets.len() > 10, "{targets:?}");
    for (name, described) in &targets {
        assert!(described, "{name}: `make help` does not show it (## after its prerequisites)");
        assert!(guide.contains(&format!("`make {name}`")), "CONTRIBUTING.md does not tell of make {name}");
    }
    // Nothing is told of that is not there.
    let told = guide.split("`make ").skip(1).filter_map(|rest| rest.split('`').next());
    for name in told {
        assert!(targets.iter().any(|(known, _)| known == name), "there is no target {name}");
    }
}

#[test]
fn the_workflow_runs_what_anybody_runs() {
    assert!(read(".github/workflows/ci.yml").contains(".ci/run"));
    assert!(read(".ci/run").contains("make test"));
}
