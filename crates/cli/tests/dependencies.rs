//! Dependencies keep the policy of deny.toml: licences, sources, duplicates, and not many of them. `make
//! deny` asks cargo-deny, which also knows advisories; this asks cargo alone, so it always runs.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Crates that `cargo build` compiles for the program. Each costs every newcomer time: a further one needs a
/// good reason. Sixteen are the encryption of `ackclock send`: Noise, a curve, a cipher, and what they need.
/// Eleven are the server of `ackclock serve`: hyper, its parser and types, tokio and mio, and ours. Fourteen
/// are the TLS and the certificates of `ackclock agent`, and ours. Seven are the archive of `ackclock
/// monitor`: SQLite, its wrapper and what that needs, and ours. One more has the kernel's messages about
/// sockets. Two are our TCP on a wire and the proxy, one the report and its charts. Two are the lab:
/// its page with a server, and edits of TOML that keep comments. One reads the files of learned policies, one
/// has the function that Student's t is made of.
const MAX_CRATES: usize = 210;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What cargo says of the workspace on this platform, without asking the network.
fn metadata() -> Value {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(version.stdout).expect("rustc prints UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

fn policy() -> toml::Table {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is there");
    text.parse().expect("deny.toml is TOML")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

/// The identities of the program's packages: what it is built from, without what only tests need.
fn built(metadata: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"], "nodes").iter().map(|node| (text(node, "id"), node)).collect();
    let program = list(metadata, "packages").iter().find(|package| package["name"] == "ackclock");
    let mut next = vec![text(program.expect("the program is a package"), "id")];
    let mut found = BTreeSet::new();
    while let Some(id) = next.pop() {
        if found.insert(id) {
            let needed = list(nodes[id], "deps")
                .iter()
                .filter(|dependency| list(dependency, "dep_kinds").iter().any(|kind| kind["kind"] != "dev"));
            next.extend(needed.map(|dependency| text(dependency, "pkg")));
        }
    }
    found
}

/// Does an SPDX expression leave a choice that is allowed? Old manifests write "/" for OR.
fn allowed(expression: &str, known: &BTreeSet<&str>) -> bool {
    let expression = expression.replace('/', " OR ");
    let parsed = spdx::Expression::parse(&expression);
    parsed.is_ok_and(|it| it.evaluate(|wanted| known.contains(wanted.license.to_string().as_str())))
}

#[test]
fn licences_and_sources_are_those_that_the_policy_allows() {
    let (metadata, policy) = (metadata(), policy());
    let strings = |section: &str, key: &str| -> Vec<String> {
        let listed = policy[section][key].as_array().expect("a list");
        listed.iter().map(|it| it.as_str().expect("a text").to_owned()).collect()
    };
    let (licences, registries) = (strings("licenses", "allow"), strings("sources", "allow-registry"));
    let licences: BTreeSet<&str> = licences.iter().map(String::as_str).collect();
    let mut wrong = Vec::new();
    for package in list(&metadata, "packages") {
        let (name, licence) = (text(package, "name"), text(package, "license"));
        if !allowed(licence, &licences) {
            wrong.push(format!("{name}: licence {licence:?}"));
        }
        // The workspace's own packages have no source.
        let source = package["source"].as_str();
        if source.is_some_and(|it| !registries.iter().any(|known| it == format!("registry+{known}"))) {
            wrong.push(format!("{name}: from {}", source.unwrap_or("")));
        }
    }
    assert!(wrong.is_empty(), "deny.toml does not allow\n{}", wrong.join("\n"));
}

#[test]
fn an_expression_is_allowed_if_one_choice_is() {
    let known = BTreeSet::from(["MIT", "Unicode-3.0"]);
    assert!(allowed("MIT", &known) && allowed("Apache-2.0/MIT", &known));
    assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &known));
    assert!(!allowed("MIT AND GPL-3.0-only", &known) && !allowed("GPL-3.0-only", &known));
    assert!(!allowed("", &known) && !allowed("something of our own", &known));
}

#[test]
fn no_crate_is_built_in_two_versions_but_those_with_a_reason() {
    let (metadata, policy) = (metadata(), policy());
    let built = built(&metadata);
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in list(&metadata, "packages").iter().filter(|it| built.contains(text(it, "id"))) {
        versions.entry(text(package, "name")).or_default().insert(text(package, "version"));
    }
    let listed = policy["bans"]["skip"].as_array().expect("a list");
    let skipped: Vec<(&str, &str)> = listed
        .iter()
        .map(|entry| {
            assert!(entry["reason"].as_str().is_some_and(|it| !it.is_empty()), "{entry} has no reason");
            entry["crate"].as_str().and_then(|it| it.split_once('@')).expect("NAME@VERSION")
        })
        .collect();
    let skips = |name: &str, version: &str| {
        skipped.iter().any(|&(known, from)| known == name && version.starts_with(&format!("{from}.")))
    };
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let left: Vec<_> = versions.iter().filter(|version| !skips(name, version)).collect();
        assert!(
            left.len() <= 1,
            "{name} is built in versions {versions:?}: update, or give deny.toml a reason"
        );
    }
    for (name, from) in skipped {
        let needed = versions.get(name).is_some_and(|known| {
            known.len() > 1 && known.iter().any(|version| version.starts_with(&format!("{from}.")))
        });
        assert!(needed, "{name}@{from} has no second version any more: take it out of deny.toml");
    }
}

#[test]
fn the_program_is_built_from_few_crates() {
    // Metadata lists optional crates, too, that only a feature which nobody asked for would build.
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "ackclock", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8_lossy(&output.stdout);
    // A name and a version; what stands behind them is where it lies, or that it was listed before.
    let name = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let count = listed.lines().map(name).collect::<BTreeSet<_>>().len();
    assert!(
        (100..=MAX_CRATES).contains(&count),
        "{count} crates, and at most {MAX_CRATES} are wanted: what needs the further ones?"
    );
}

/// Archives for a registry hold all that their crates are built from.
#[test]
fn every_crate_can_be_packaged_with_what_it_embeds() {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let output = Command::new(env!("CARGO"))
        .args(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--exclude-lockfile"])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", &build)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = Command::new(env!("CARGO"))
        .args(["package", "-p", "ackclock-study", "--list", "--allow-dirty", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut works = 0;
    for work in std::fs::read_dir(root().join("experiments")).expect("the experiments") {
        let entry = work.expect("a readable entry");
        let name = entry.file_name().into_string().expect("our names are UTF-8");
        let end = if entry.path().is_dir() { "/" } else { "\n" };
        assert!(
            listed.contains(&format!("experiments/{name}{end}")),
            "{name} is not in the archive:\n{listed}"
        );
        works += usize::from(entry.path().is_dir());
    }
    assert!(works > 0, "there are no experiments");
}
