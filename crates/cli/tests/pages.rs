//! The book's pages on reproduction were made from the experiment files as they are.

use ackclock_study::reproduce::Library;
use std::collections::BTreeSet;
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

/// The cells of a table's row. A pipe within a cell is escaped.
fn cells(row: &str) -> Vec<String> {
    let cells = row.trim_matches('|').replace("\\|", "\0");
    cells.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// The claims of sources that fail or are undecided in the simulator, by a family's page: `ltcp-table-5 O1`.
fn not_holding(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut id, mut verdict) = (String::new(), 1);
    for line in page.lines() {
        if let Some(heading) =
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        {
            id = heading.split(' ').next().unwrap_or_default().to_owned();
        }
        if !line.starts_with('|') {
            continue;
        }
        let cells = cells(line);
        if cells[0] == "claim" {
            verdict = cells.iter().position(|it| it == "verdict" || it == "simulator").expect("a verdict");
        }
        let whose = cells[0].rsplit("<br>").next().unwrap_or_default();
        let told = cells.get(verdict).map_or("", |it| it.trim_start_matches('*'));
        if whose.starts_with('O') && (told.starts_with("fails") || told.starts_with("undecided")) {
            found.insert(format!("{id} {whose}"));
        }
    }
    found
}

/// Nothing that a source claims is passed over in silence.
#[test]
fn what_does_not_hold_has_a_place_in_the_book() {
    let pages = std::fs::read_dir(root().join("docs/src/reproduction")).expect("the pages");
    let pages =
        pages.map(|it| it.expect("a page").path()).filter(|it| it.extension().is_some_and(|it| it == "md"));
    let failing: BTreeSet<String> =
        pages.flat_map(|it| not_holding(&std::fs::read_to_string(it).expect("a page"))).collect();
    assert!(failing.len() > 100, "the pages are read wrongly: {failing:?}");
    let book = std::fs::read_to_string(root().join("docs/src/not-reproduced.md")).expect("the page");
    let listed: Vec<String> = book
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| cells(line).swap_remove(0))
        .filter(|cell| cell.rsplit(' ').next().is_some_and(|it| it.starts_with('O') && it.len() > 1))
        .collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), once.len(), "a claim is listed twice");
    let missing: Vec<&String> = failing.difference(&once).collect();
    let gone: Vec<&String> = once.difference(&failing).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not-reproduced.md lacks {missing:?} and has {gone:?}");

    // What the page says of how many there are.
    let rows =
        |part: &str| part.lines().filter(|line| line.starts_with("| ") && line.contains("<br>")).count();
    let counts: Vec<usize> = book.split("\n## ").skip(1).map(rows).collect();
    let [contradicted, settings, some, none, undecided] = counts[..] else {
        panic!("five tables: {counts:?}")
    };
    for (anchor, count) in
        [("contradicts", contradicted), ("setting", settings), ("cases", some), ("nothing", none)]
    {
        let told = book.lines().find(|line| line.starts_with("| [") && line.contains(anchor)).map(cells);
        assert_eq!(told.expect("a row")[1], count.to_string(), "{anchor}");
    }
    let table = std::fs::read_to_string(root().join("docs/src/reproduction.md")).expect("the table");
    let all = cells(table.lines().find(|line| line.starts_with("| all |")).expect("all works"));
    let [hold, fail]: [usize; 2] = [4, 5].map(|column| all[column].parse().expect("a number"));
    assert_eq!((fail, all[7].clone()), (contradicted + settings + some + none, undecided.to_string()));
    let most = hold + contradicted + settings + undecided;
    let are = if undecided == 1 { "is" } else { "are" };
    for told in [
        format!("{fail} fail here, and {undecided} {are} undecided"),
        format!("{hold} hold."),
        format!("{most} would hold"),
    ] {
        assert!(book.contains(&told), "the page does not say: {told}");
    }
}
