//! The documentation agrees with the program: generated pages are current, and every scenario in it is read.

use ackclock_scenario::Sweep;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every entry of a registry that has pages: their folder, and its name.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let schemes = ackclock_cc::schemes().iter().map(|scheme| ("schemes", scheme.name));
    let recoveries = ackclock_tcp::recovery::schemes().iter().map(|it| ("recoveries", it.entry.name));
    let detections = ackclock_tcp::detection::schemes().iter().map(|it| ("detections", it.entry.name));
    let slow_starts = ackclock_cc::slow_start::schemes().iter().map(|it| ("slow-starts", it.entry.name));
    let stacks = ackclock_scenario::stacks().iter().map(|it| ("stacks", it.entry.name));
    let loss = recoveries.chain(detections).chain(slow_starts).chain(stacks);
    schemes.chain(loss).chain(ackclock_net::disciplines().iter().map(|it| ("queues", it.entry.name)))
}

#[test]
fn generated_pages_are_current() {
    let fresh = tempfile::tempdir().expect("a temporary directory");
    let contents = "SUMMARY.md";
    std::fs::copy(book().join(contents), fresh.path().join(contents)).expect("it can be copied");
    let status = Command::new(env!("CARGO_BIN_EXE_ackclock")).arg("docs").arg(fresh.path()).status();
    assert!(status.expect("the program runs").success());
    let mut pages = [
        contents,
        "command-line.md",
        "schemes.md",
        "recoveries.md",
        "detections.md",
        "slow-starts.md",
        "stacks.md",
        "queues.md",
    ]
    .map(PathBuf::from)
    .to_vec();
    pages.extend(entries().map(|(folder, name)| Path::new(folder).join(format!("{name}.md"))));
    for page in pages {
        let current = read(&fresh.path().join(&page)) == read(&book().join(&page));
        assert!(current, "{} is stale: run `make docs`", page.display());
    }
}

/// The names of errors in the code of agents, and in the table of their page.
#[test]
fn every_error_of_agents_is_on_their_page() {
    let mut named = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/src")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("sources").map(|it| it.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = read(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or("");
            for call in ["Refusal::new(", "refused(", "limit("] {
                let arguments = code.split(call).skip(1).filter_map(|rest| rest.trim().strip_prefix('"'));
                named.extend(arguments.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
            }
        }
    }
    let page = read(&book().join("generate.md"));
    let errors = page.split("## Errors").nth(1).and_then(|it| it.split("\n## ").next()).expect("a section");
    let cells = errors.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let told: BTreeSet<String> = cells
        .flat_map(|cell| cell.split(['`', ',', ' ']).filter(|it| !it.is_empty()).map(str::to_owned))
        .collect();
    assert!(named.len() > 30, "{named:?}");
    assert_eq!(named, told);
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = read(&book().join("SUMMARY.md"));
    for (folder, name) in entries() {
        assert!(summary.contains(&format!("({folder}/{name}.md)")), "{name} has no entry");
    }
}

/// The fenced blocks of a language in a page.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while lines.any(|line| line == opening) {
        let block = lines.by_ref().take_while(|line| *line != "```");
        blocks.push(block.fold(String::new(), |text, line| text + line + "\n"));
    }
    blocks
}

/// A whole scenario around a fragment.
fn completed(fragment: &str) -> String {
    let mut text = String::new();
    if !fragment.contains("\nduration =") {
        text += "duration = \"400 s\"\n";
    }
    text += fragment;
    if !fragment.contains("[topology.") {
        text += "[topology.dumbbell]\nbottleneck = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n";
    }
    if !fragment.contains("[[flows]]") {
        let ends = if fragment.contains("[topology.graph]") { "from = \"a\"\nto = \"c\"\n" } else { "" };
        text += &format!("[[flows]]\nlabel = \"layered\"\ncontrol = \"layered\"\n{ends}");
    }
    text
}

#[test]
fn scenarios_in_the_documentation_are_read() {
    let mut count = 0;
    for page in ["scenario.md", "first-run.md", "index.md", "../../README.md"] {
        for fragment in blocks(&read(&book().join(page)), "toml") {
            let text = completed(&fragment);
            // Files that a scenario names lie beside the examples.
            let name = book().join("../../scenarios/of-the-book.toml").display().to_string();
            let sweep = Sweep::read(&name, &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
            for point in &sweep.points {
                point.scenario.build().unwrap_or_else(|error| panic!("{error}\n{text}"));
            }
            count += 1;
        }
    }
    assert!(count >= 9, "only {count} scenarios were found");
}
