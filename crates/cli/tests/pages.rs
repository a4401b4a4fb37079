//! The book's pages on reproduction were made from the experiment files as they are.

use ackclock_study::reproduce::Library;
use std::path::{Path, PathBuf};

/// Begins the line that says what a page was made from.
const STAMP: &str = "<!-- ackclock reproduce ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What was reproduced, and the digest of its experiment files.
fn stamp(text: &str) -> Option<(&str, &str)> {
    let line = text.lines().find_map(|line| line.strip_prefix(STAMP)?.strip_suffix(" -->"))?;
    let (what, from) = line.split_once(": build ").expect("a stamp names the build");
    let (_, files) = from.split_once(", experiment files ").expect("a stamp names the files");
    Some((what.split(' ').next().unwrap_or(what), files))
}

#[test]
fn no_page_is_older_than_its_experiments() {
    let library = Library::built_in().expect("every file can be read");
    let directories = ["docs/src/reproduction", "docs/src/kernel-runs"].map(|it| root().join(it));
    let entries = directories.iter().flat_map(|it| std::fs::read_dir(it).expect("the pages"));
    let pages = entries.map(|entry| entry.expect("a page").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let mut stale = Vec::new();
    for path in pages.chain([root().join("docs/src/reproduction.md"), root().join("README.md")]) {
        let text = std::fs::read_to_string(&path).expect("a page");
        let Some((what, files)) = stamp(&text) else { continue };
        let chosen = library.select(what).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if library.digest(&chosen).expect("a digest") != files {
            stale.push(path.display().to_string());
        }
    }
    assert!(
        stale.is_empty(),
        "make reproduction (or on-the-wire), for experiment files have changed since:\n{}",
        stale.join("\n")
    );
}

#[test]
fn a_stamp_is_found_where_it_is() {
    let text = "# Title\n\n<!-- ackclock reproduce nocc --emulate: build 12, experiment files 34 -->\n\nMore";
    assert_eq!(stamp(text), Some(("nocc", "34")));
    assert_eq!(stamp("# Title\n"), None);
}
