//! Directories and links of other users in the place of ours: refused, and nothing in them is changed.
//!
//! Only root can give a file to somebody else, so everybody else sees these tests as ignored.

mod common;

use common::{SCENARIO, ackclock, stderr};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::path::Path;
use tempfile::TempDir;

type Checked = Result<(), Failed>;
/// A test's name, and the test.
type Named = (&'static str, fn() -> Checked);

/// The user and group `nobody`.
const NOBODY: Option<u32> = Some(65534);

fn main() {
    let root = tempfile::tempdir().is_ok_and(|probe| chown(probe.path(), NOBODY, NOBODY).is_ok());
    let tests: [Named; 5] = [
        ("an_unfinished_directory", unfinished),
        ("a_finished_directory", finished),
        ("an_empty_directory", empty),
        ("a_link_to_our_own_results", link),
        ("kept_points", points),
    ];
    let trials = tests.into_iter().map(|(name, test)| match root {
        true => Trial::test(name, test),
        false => Trial::test(format!("{name} (skipped: only root can give files away)"), test)
            .with_ignored_flag(true),
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn home() -> Result<TempDir, Failed> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("case.toml"), SCENARIO)?;
    Ok(home)
}

fn give_away(path: &Path) -> Checked {
    Ok(chown(path, NOBODY, NOBODY)?)
}

/// A run into `out` is refused with a word about whose it is.
fn refused(home: &Path) -> Checked {
    let output = ackclock(home, &["run", "case.toml", "--out", "out"]);
    let said = stderr(&output);
    if output.status.code() != Some(2) || !said.contains("belongs to another user") || !said.contains("help:")
    {
        return Err(format!("{:?}: {said}", output.status).into());
    }
    Ok(())
}

fn unfinished() -> Checked {
    let home = home()?;
    let partial = home.path().join("out.partial");
    fs::create_dir(&partial)?;
    fs::write(partial.join("ackclock-unfinished"), "")?;
    give_away(&partial)?;
    refused(home.path())?;
    // Ours, but with a mark that somebody else holds.
    chown(&partial, Some(0), Some(0))?;
    give_away(&partial.join("ackclock-unfinished"))?;
    refused(home.path())?;
    Ok(())
}

fn finished() -> Checked {
    let home = home()?;
    let out = home.path().join("out");
    fs::create_dir(&out)?;
    fs::write(out.join("results.json"), "theirs")?;
    give_away(&out)?;
    refused(home.path())?;
    if fs::read_to_string(out.join("results.json"))? != "theirs" || home.path().join("out.partial").exists() {
        return Err("something was written".into());
    }
    Ok(())
}

fn empty() -> Checked {
    let home = home()?;
    fs::create_dir(home.path().join("out"))?;
    give_away(&home.path().join("out"))?;
    refused(home.path())
}

fn link() -> Checked {
    let home = home()?;
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "mine"]);
    if !output.status.success() {
        return Err(stderr(&output).into());
    }
    let before = fs::metadata(home.path().join("mine/results.json"))?.modified()?;
    symlink("mine", home.path().join("out"))?;
    lchown(home.path().join("out"), NOBODY, NOBODY)?;
    refused(home.path())?;
    if fs::metadata(home.path().join("mine/results.json"))?.modified()? != before {
        return Err("our own results were replaced".into());
    }
    Ok(())
}

fn points() -> Checked {
    let home = home()?;
    fs::create_dir(home.path().join("kept"))?;
    give_away(&home.path().join("kept"))?;
    let output = ackclock(home.path(), &["reproduce", "ctcp-theorem-1", "--store", "kept"]);
    let said = stderr(&output);
    if output.status.code() != Some(2) || !said.contains("belongs to another user") {
        return Err(format!("{:?}: {said}", output.status).into());
    }
    Ok(())
}
