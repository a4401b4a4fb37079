//! The picture in docs/src/architecture.md, held against the crates' manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;

/// What runs a server or waits for one: async runtimes, HTTP, TLS.
const SERVERS: [&str; 14] = [
    "actix-web",
    "async-std",
    "axum",
    "h2",
    "hyper",
    "mio",
    "openssl",
    "reqwest",
    "rocket",
    "rustls",
    "smol",
    "tiny_http",
    "tokio",
    "tonic",
];

/// A row of the page: a crate, and whom it may know.
struct Room {
    name: String,
    knows: BTreeSet<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Words in backquotes.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The table of the page, from the ground up.
fn rooms() -> Vec<Room> {
    let page = read("docs/src/architecture.md");
    let table = page.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [name, _, knows] = cells[..] else { panic!("{line} has not three cells") };
        Room { name: quoted(name).pop_first().expect("a crate's name"), knows: quoted(knows) }
    });
    rows.collect()
}

fn manifest(name: &str) -> Table {
    read(&format!("crates/{name}/Cargo.toml")).parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Names of what a crate needs to be built, tests left out.
fn needs(name: &str) -> BTreeSet<String> {
    let manifest = manifest(name);
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    dependencies.into_iter().flat_map(Table::keys).cloned().collect()
}

#[test]
fn every_crate_is_in_the_picture_and_knows_only_whom_it_may() {
    let rooms = rooms();
    let drawn: BTreeSet<String> = rooms.iter().map(|room| room.name.clone()).collect();
    let there = fs::read_dir(root().join("crates")).expect("the crates");
    let there: BTreeSet<String> = there
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(drawn, there, "the table of docs/src/architecture.md has one row for each folder of crates/");
    let mut below = BTreeSet::new();
    for Room { name, knows } in &rooms {
        let known: BTreeSet<String> =
            needs(name).iter().filter_map(|it| it.strip_prefix("ackclock-").map(str::to_owned)).collect();
        let forbidden: Vec<_> = known.difference(knows).collect();
        assert!(forbidden.is_empty(), "{name} may not know {forbidden:?}: see docs/src/architecture.md");
        let above: Vec<_> = knows.difference(&below).collect();
        assert!(above.is_empty(), "the row of {name} stands below those of {above:?}");
        below.insert(name.clone());
    }
}

#[test]
fn the_walls_that_matter_most_are_drawn() {
    let rooms = rooms();
    let of = |name: &str| &rooms.iter().find(|room| room.name == name).expect("it is drawn").knows;
    for lower in ["units", "registry", "cc", "net", "tcp", "rate"] {
        for upper in ["scenario", "sim", "study", "live", "kernel", "cli"] {
            assert!(!of(lower).contains(upper), "{lower} knows {upper}");
        }
    }
    assert!(!of("live").contains("sim") && !of("live").contains("study"), "live runs without the simulator");
    for room in rooms.iter().filter(|room| room.name != "cli") {
        assert!(!room.knows.contains("live"), "{} knows live: only the command line may", room.name);
    }
}

#[test]
fn what_simulates_needs_no_server() {
    let lock: Table = read("Cargo.lock").parse().expect("Cargo.lock is TOML");
    let packages = lock["package"].as_array().expect("packages");
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let needs = package.get("dependencies").and_then(toml::Value::as_array);
        let needs = needs.into_iter().flatten().filter_map(toml::Value::as_str);
        // A version stands behind the name where there are several.
        graph.entry(name).or_default().extend(needs.filter_map(|it| it.split(' ').next()));
    }
    for room in rooms().iter().take_while(|room| room.name != "live") {
        let mut found: BTreeSet<String> = BTreeSet::new();
        let mut open: Vec<String> = needs(&room.name).into_iter().collect();
        while let Some(name) = open.pop() {
            // Crates of ours have rows of their own, and the lock file mixes in what their tests need.
            if name.starts_with("ackclock-") || !found.insert(name.clone()) {
                continue;
            }
            open.extend(graph.get(name.as_str()).into_iter().flatten().map(|&it| it.to_owned()));
        }
        let servers: Vec<_> = SERVERS.iter().filter(|server| found.contains(**server)).collect();
        assert!(servers.is_empty(), "{} needs {servers:?}", room.name);
    }
}
