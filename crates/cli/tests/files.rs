//! Files that others planted, and directories that only look like ours: nothing of them is followed, changed
//! or removed.
#![cfg(unix)]

mod common;

use common::{ackclock, stderr};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// What must not be touched.
const PRECIOUS: &str = "years of work\n";
/// What marks a directory as an unfinished one of ackclock's.
const MARKER: &str = "ackclock-unfinished";

/// A run that is over at once.
const SCENARIO: &str = "duration = \"1 s\"\n[topology.dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\n\
                        [[flows]]\ncontrol = \"reno\"\n";

fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("case.toml"), SCENARIO).expect("a file");
    fs::create_dir(home.path().join("mine")).expect("a directory");
    fs::write(home.path().join("mine/thesis.tex"), PRECIOUS).expect("a file");
    home
}

fn run(home: &Path, out: &str) -> Output {
    ackclock(home, &["run", "case.toml", "--out", out])
}

/// The thesis is as it was, and alone.
fn assert_untouched(home: &Path, when: &str) {
    assert_eq!(fs::read_to_string(home.join("mine/thesis.tex")).ok().as_deref(), Some(PRECIOUS), "{when}");
    let beside = fs::read_dir(home.join("mine")).expect("a directory").count();
    assert_eq!(beside, 1, "{when}: something was written beside it");
}

#[test]
fn links_in_an_unfinished_directory_are_not_followed() {
    let names = ["lock", "results.json", "report.html", "points", "series", "pictures", "capture", MARKER];
    for (name, marked) in names.into_iter().flat_map(|name| [(name, false), (name, true)]) {
        let home = home();
        let partial = home.path().join("out.partial");
        fs::create_dir(&partial).expect("a directory");
        if marked && name != MARKER {
            fs::write(partial.join(MARKER), "").expect("a file");
        }
        let folder = ["points", "series", "pictures", "capture"].contains(&name);
        let to = home.path().join(if folder { "mine" } else { "mine/thesis.tex" });
        symlink(to, partial.join(name)).expect("a link");
        let output = run(home.path(), "out");
        assert!([Some(0), Some(2)].contains(&output.status.code()), "{name}: {}", stderr(&output));
        assert!(marked || output.status.code() == Some(2), "{name}: there was no mark");
        assert_untouched(home.path(), name);
    }
}

#[test]
fn an_unfinished_directory_that_is_a_link_is_refused() {
    let home = home();
    symlink("mine", home.path().join("out.partial")).expect("a link");
    let output = run(home.path(), "out");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_untouched(home.path(), "a link to a directory");
}

#[test]
fn a_file_that_two_names_share_is_not_emptied() {
    let home = home();
    let partial = home.path().join("out.partial");
    fs::create_dir(&partial).expect("a directory");
    for name in [MARKER, "lock"] {
        fs::hard_link(home.path().join("mine/thesis.tex"), partial.join(name)).expect("a second name");
    }
    let output = run(home.path(), "out");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_untouched(home.path(), "a second name");
}

#[test]
fn what_lacks_the_mark_is_not_taken_for_unfinished() {
    let home = home();
    for out in ["a.partial", "a"] {
        let output = run(home.path(), out);
        let (status, said) = (output.status.code(), stderr(&output));
        match out {
            "a" => {
                assert_eq!(status, Some(2), "{said}");
                assert!(said.contains("a.partial") && said.contains(MARKER), "{said}");
            }
            _ => assert_eq!(status, Some(0), "{said}"),
        }
        assert!(home.path().join("a.partial/results.json").exists(), "the finished results are gone");
    }
    assert!(!home.path().join("a").exists());
}

#[test]
fn nothing_of_the_users_vanishes_when_an_older_directory_is_replaced() {
    let home = home();
    for name in ["out.partial.replaced", "out.replaced", "out.old"] {
        fs::create_dir(home.path().join(name)).expect("a directory");
        fs::write(home.path().join(name).join("thesis.tex"), PRECIOUS).expect("a file");
    }
    for _ in 0..2 {
        let output = run(home.path(), "out");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    for name in ["out.partial.replaced", "out.replaced", "out.old"] {
        let kept = fs::read_to_string(home.path().join(name).join("thesis.tex"));
        assert_eq!(kept.ok().as_deref(), Some(PRECIOUS), "{name}");
    }
    let mut left: Vec<_> = fs::read_dir(home.path())
        .expect("a directory")
        .map(|entry| entry.expect("one").file_name())
        .collect();
    left.sort();
    let expected = ["case.toml", "mine", "out", "out.old", "out.partial.replaced", "out.replaced"];
    assert_eq!(left, expected, "something was left over");
    let mut inside: Vec<_> = fs::read_dir(home.path().join("out"))
        .expect("a directory")
        .map(|entry| entry.expect("one").file_name())
        .collect();
    inside.sort();
    assert!(!inside.iter().any(|name| name == MARKER), "a finished directory is not marked: {inside:?}");
}

#[test]
fn what_an_emulation_left_is_ours_too() {
    let home = home();
    assert_eq!(run(home.path(), "out").status.code(), Some(0));
    fs::write(home.path().join("out/emulation.json"), "[]\n").expect("a file");
    let output = run(home.path(), "out");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!home.path().join("out/emulation.json").exists(), "it belonged to the older results");
}

#[test]
fn reproduce_replaces_links_and_does_not_follow_them() {
    let home = home();
    let out = home.path().join("out");
    fs::create_dir(&out).expect("a directory");
    for name in ["reproduction.md", "reproduction.json"] {
        symlink("../mine/thesis.tex", out.join(name)).expect("a link");
    }
    let arguments = ["reproduce", "ctcp-theorem-1", "--out", "out", "--store", "points"];
    let output = ackclock(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        out.join("reproduction.md").symlink_metadata().expect("a file").is_file(),
        "the link is replaced"
    );
    assert_untouched(home.path(), "reproduction.md");
    fs::remove_dir_all(&out).expect("removed");
    fs::create_dir(&out).expect("a directory");
    symlink("../mine", out.join("pictures")).expect("a link");
    let output = ackclock(home.path(), &arguments);
    assert_untouched(home.path(), &stderr(&output));
}

#[test]
fn kept_points_are_not_read_or_written_through_links() {
    let home = home();
    fs::write(home.path().join("sweep.toml"), format!("seeds = 2\n{SCENARIO}")).expect("a file");
    fs::create_dir(home.path().join("out.partial")).expect("a directory");
    fs::write(home.path().join("out.partial").join(MARKER), "").expect("a file");
    fs::create_dir(home.path().join("out.partial/points")).expect("a directory");
    // Whatever the folder of this build is called, a link in the place of its parent is not entered.
    fs::remove_dir(home.path().join("out.partial/points")).expect("removed");
    symlink("../mine", home.path().join("out.partial/points")).expect("a link");
    let output = ackclock(home.path(), &["run", "sweep.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_untouched(home.path(), "points");
}

#[test]
fn a_shared_store_is_of_one_build_and_nothing_in_it_runs_again() {
    let home = home();
    fs::write(home.path().join("sweep.toml"), format!("seeds = 2\n{SCENARIO}")).expect("a file");
    let arguments = ["run", "sweep.toml", "--store", "points", "--json"];
    let (first, second) = (ackclock(home.path(), &arguments), ackclock(home.path(), &arguments));
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    // The time that a point took is kept, too: it would be another one if it had run again.
    assert_eq!(first.stdout, second.stdout);
    let more = ackclock(home.path(), &[&arguments[..], &["--set", "seeds=3"]].concat());
    assert_eq!(more.status.code(), Some(0), "{}", stderr(&more));
    let points = fs::read_dir(home.path().join("points")).expect("the store");
    let points = points.map(|entry| entry.expect("an entry").path());
    assert_eq!(points.filter(|path| path.extension().is_some_and(|it| it == "json")).count(), 3);
    let build = home.path().join("points/build");
    let own = fs::read_to_string(&build).expect("the build");
    fs::write(&build, "0123456789abcdef\n").expect("written");
    let refused = ackclock(home.path(), &arguments);
    let said = stderr(&refused).replace("\n  │ ", " ");
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("0123456789abcdef") && said.contains(own.trim()), "{said}");
}
