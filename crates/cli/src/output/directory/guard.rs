//! Decides which directories may be written and replaced: those that ackclock has created.

use super::cannot;
use crate::failure::Failure;
use ackclock_files::{Folder, Kind};
use miette::miette;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An entry of every finished output directory, and of no other directory. It is written last.
pub(super) const MARK: &str = "results.json";
/// An entry of a finished directory: the names of all its files. What is not in it is somebody else's.
pub(super) const CONTENTS: &str = "files.txt";
/// All entries of a finished directory.
pub(super) const ENTRIES: [&str; 10] = [
    MARK,
    CONTENTS,
    "timing.json",
    "emulation.json",
    "report.html",
    "scenario.toml",
    "series",
    "tidy",
    "pictures",
    "capture",
];
/// A further entry of an unfinished directory. A finished one may have it, too: `ackclock reproduce` keeps
/// its points there, and they stay when the directory is replaced.
pub(super) const POINTS: &str = "points";
/// The mark of an unfinished directory, which is also its lock. A directory with this mark may be removed.
pub(super) const MARKER: &str = "ackclock-unfinished";

/// True if this may be an entry of an output directory, finished or not. A run that was killed at its very
/// end may leave the mark in a finished one.
fn ours(name: &OsStr) -> bool {
    ENTRIES.iter().any(|entry| name == *entry) || name == POINTS || name == MARKER
}

pub(super) fn refuse(path: &Path, why: &str) -> Failure {
    let help = "choose another directory with --out, or move this one out of the way";
    Failure::Report(miette!(help = help, "{} will not be replaced: {why}", path.display()))
}

/// The error for a directory that is in the place of an unfinished one, but is none.
pub(super) fn foreign(path: &Path, found: &[OsString]) -> Failure {
    let finished = found.iter().any(|name| name == MARK);
    let what =
        if finished { "it holds finished results" } else { "it holds files that ackclock did not write" };
    refuse(path, &format!("{what}, not an unfinished run (there is no {MARKER} in it)"))
}

/// Checks that ackclock has written all entries.
pub(super) fn only_ours(path: &Path, found: &[OsString]) -> Result<(), Failure> {
    match found.iter().find(|name| !ours(name)) {
        Some(other) => {
            Err(refuse(path, &format!("it holds \"{}\", which ackclock did not write", other.display())))
        }
        None => Ok(()),
    }
}

/// The names in a directory.
pub(super) fn names(folder: &Folder) -> Result<Vec<OsString>, Failure> {
    folder.names().map_err(|error| cannot("read", folder.path(), &error))
}

/// The files in a finished directory, by their paths from there, in order. Kept points do not count: they
/// stay when the directory is replaced.
pub(super) fn files(folder: &Folder) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in folder.names()?.into_iter().filter(|name| name != POINTS && name != MARKER) {
        below(folder, &name, Path::new(&name), &mut found)?;
    }
    Ok(found)
}

fn below(folder: &Folder, name: &OsStr, path: &Path, found: &mut Vec<String>) -> io::Result<()> {
    if folder.kind(name) != Some(Kind::Directory) {
        found.push(path.to_string_lossy().into_owned());
        return Ok(());
    }
    let inner = folder.enter(name)?;
    inner.names()?.into_iter().try_for_each(|name| below(&inner, &name, &path.join(&name), found))
}

/// Checks that every file in the folders of a finished directory was written by ackclock. What lies beside
/// them is told by its name. A directory of an older version has no list of its files.
pub(super) fn all_ours(path: &Path, folder: &Folder) -> Result<(), Failure> {
    if !folder.is_file(CONTENTS) {
        return Ok(());
    }
    let mut list = String::new();
    let read = folder.open(CONTENTS).and_then(|mut file| file.read_to_string(&mut list));
    read.map_err(|error| cannot("read", &path.join(CONTENTS), &error))?;
    let found = files(folder).map_err(|error| cannot("read", path, &error))?;
    let known: HashSet<&str> = list.lines().collect();
    let in_a_folder = |name: &&String| Path::new(name).components().count() > 1;
    match found.iter().filter(in_a_folder).find(|name| !known.contains(name.as_str())) {
        Some(other) => Err(refuse(path, &format!("it holds \"{other}\", which ackclock did not write"))),
        None => Ok(()),
    }
}

/// The names in the directory at this path; none if it does not exist.
fn names_at(path: &Path) -> Result<Vec<OsString>, Failure> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let names: io::Result<Vec<OsString>> =
        entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
    names.map_err(|error| cannot("read", path, &error))
}

/// Checks that a directory with these names is an output directory, or practically empty.
pub(super) fn whole(path: &Path, found: &[OsString]) -> Result<(), Failure> {
    if !found.iter().all(|name| name == POINTS) && !found.iter().any(|name| name == MARK) {
        return Err(refuse(path, "it is not an ackclock output directory (it holds no results.json)"));
    }
    only_ours(path, found)
}

/// The name of the unfinished directory that belongs to the one of this name.
pub(super) fn partial(name: &OsStr) -> OsString {
    let mut partial = name.to_owned();
    partial.push(".partial");
    partial
}

/// True if this link belongs to another user, who could change its target. The superuser is trusted.
fn planted(link: &fs::Metadata) -> bool {
    link.is_symlink() && ![0, rustix::process::geteuid().as_raw()].contains(&link.uid())
}

/// Checks that `path` may be replaced by an output directory. Returns its real path, and changes nothing.
pub(crate) fn check(path: &Path) -> Result<PathBuf, Failure> {
    if path.symlink_metadata().is_ok_and(|found| planted(&found)) {
        return Err(refuse(path, "it is a link that belongs to another user"));
    }
    // A link to a directory stays a link. Its target is replaced.
    let target = if path.exists() {
        path.canonicalize().map_err(|error| cannot("read", path, &error))?
    } else {
        path.to_owned()
    };
    let Some(name) = target.file_name() else { return Err(refuse(path, "it has no name")) };
    if target.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(refuse(path, "it is a file"));
    }
    whole(path, &names_at(&target)?)?;
    if target.exists() {
        let folder = Folder::at(&target).map_err(|error| cannot("read", path, &error))?;
        all_ours(path, &folder)?;
    }
    let partial = target.with_file_name(partial(name));
    match partial.symlink_metadata() {
        Ok(found) if !found.is_dir() => {
            return Err(refuse(
                &partial,
                "it is not a directory, and unfinished results would be kept there",
            ));
        }
        _ => {}
    }
    let unfinished = names_at(&partial)?;
    if !unfinished.is_empty() && !unfinished.iter().any(|name| name == MARKER) {
        return Err(foreign(&partial, &unfinished));
    }
    only_ours(&partial, &unfinished)?;
    Ok(target)
}
