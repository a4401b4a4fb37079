//! The prose keeps within the width that rustfmt is told, and every local link leads somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below `directory` with this extension, in order. Build directories are left out.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut found = Vec::new();
    for entry in entries.map(|entry| entry.expect("a readable entry").path()) {
        if entry.is_dir() && !entry.ends_with("target") {
            found.extend(files(&entry, extension));
        } else if entry.extension().is_some_and(|it| it == extension) {
            found.push(entry);
        }
    }
    found.sort();
    found
}

/// `max_width` of rustfmt.toml.
fn width() -> usize {
    let text = read(&root().join("rustfmt.toml"));
    let value = text.lines().find_map(|line| line.strip_prefix("max_width = "));
    value.and_then(|value| value.parse().ok()).expect("rustfmt.toml has a max_width")
}

/// The pages of the book, and the documents at the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = files(&root().join("docs/src"), "md");
    pages.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)));
    pages
}

/// The lines of a page that somebody wrote: no code, no tables, nothing that a program wrote.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut fenced, mut generated) = (false, text.starts_with("<!-- Generated"));
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        generated |= line.starts_with("<!-- begin");
        generated &= !line.starts_with("<!-- end");
        !(fence || fenced || generated || line.starts_with(['|', '#', '<', '!']))
    })
}

/// The places of lines that are too long, though they could be broken.
fn too_long<'a>(path: &Path, lines: impl Iterator<Item = (usize, &'a str)>, width: usize) -> Vec<String> {
    let long = |line: &str| line.chars().count() > width && line.trim().contains(' ');
    let place = |(number, _)| format!("{}:{}", path.display(), number + 1);
    lines.filter(|(_, line)| long(line)).map(place).collect()
}

#[test]
fn comments_keep_within_the_width() {
    let width = width();
    let mut wrong = Vec::new();
    for directory in ["crates", "benches"] {
        for path in files(&root().join(directory), "rs") {
            let text = read(&path);
            let comments = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//"));
            wrong.extend(too_long(&path, comments, width));
        }
    }
    assert!(wrong.is_empty(), "longer than {width} characters:\n{}", wrong.join("\n"));
}

#[test]
fn pages_keep_within_the_width() {
    let width = width();
    let written = pages().into_iter().filter(|path| !path.parent().is_some_and(is_generated));
    let wrong: Vec<String> = written.flat_map(|path| too_long(&path, prose(&read(&path)), width)).collect();
    assert!(wrong.is_empty(), "longer than {width} characters:\n{}", wrong.join("\n"));
}

/// Directories in which programs write every page.
fn is_generated(directory: &Path) -> bool {
    ["schemes", "reproduction", "kernel-runs"].iter().any(|name| directory.ends_with(name))
}

/// The anchors of a page's headings, as mdBook and GitHub name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// The targets of the links and pictures in a page, code left out.
fn targets(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced {
            targets.extend(
                line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target),
            );
        }
    }
    targets
}

#[test]
fn local_links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        for target in targets(&text).into_iter().filter(|target| !target.contains("://")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let there = path.exists() && (heading.is_empty() || anchors(&read(&path)).contains(heading));
            if !there {
                wrong.push(format!("{}: {target}", page.display()));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(count > 50, "only {count} links were found");
}
