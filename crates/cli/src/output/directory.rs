//! The output directory, never half-written.
//!
//! Everything goes into `DIR.partial` beside it, which takes the directory's name at the very end. Until then
//! an older result stays as it was. What ackclock may remove bears its mark; what lacks it is refused. All
//! files are reached from open directories that belong to this user, so that nobody can lead what is written
//! here elsewhere.

mod guard;

use crate::failure::Failure;
use ackclock_files::Folder;
use ackclock_study::store::PointStore;
pub(crate) use guard::check;
use guard::{CONTENTS, ENTRIES, MARKER, POINTS, all_ours, foreign, names, only_ours, refuse, whole};
use miette::miette;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

/// What the mark says to who opens it.
const WORDS: &str = "This directory holds the unfinished output of a run of ackclock. The same command goes on where that run has \
                     stopped.\nIt may be removed, if no such run is going on.\n";

/// How often a directory is looked at again that another run has just finished or begun.
const TRIES: u32 = 100;

/// An output directory that is being written.
pub(crate) struct OutputDirectory {
    /// The directory in which both lie.
    parent: Folder,
    target: OsString,
    partial: OsString,
    folder: Folder,
    store: PointStore,
    /// The mark, locked: it goes last.
    lock: File,
}

pub(super) fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "choose a directory of your own that you may write to, with --out",
        io::ErrorKind::StorageFull => "make room on this file system, or choose another with --out",
        _ => "choose another directory with --out",
    };
    Failure::Report(miette!(help = help, "{} cannot be {what}: {error}", path.display()))
}

/// Takes the mark's lock, if nobody else has it.
fn lock(mark: &File, folder: &Folder) -> Result<(), Failure> {
    match mark.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let help = "wait until it has finished, or choose another directory with --out";
            Err(Failure::Report(miette!(
                help = help,
                "another run is writing to {}",
                folder.path().display()
            )))
        }
        // Where a file system cannot lock, nothing watches over two runs at once; that is all.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// A new mark in this directory.
fn mark(folder: &Folder) -> io::Result<File> {
    let mut mark = folder.create(MARKER)?;
    mark.write_all(WORDS.as_bytes())?;
    Ok(mark)
}

/// The unfinished directory of this name, and its mark, locked: a new one, or the one that an interrupted run
/// has left. `None` if it changed while it was looked at.
fn take(parent: &Folder, name: &OsString) -> Result<Option<(Folder, File)>, Failure> {
    let path = parent.path().join(name);
    let entered = match parent.enter(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other.map_err(|error| cannot("entered", &path, &error))?),
    };
    let Some(folder) = entered else {
        // It appears under its name with its mark in it, so that nobody ever sees it without.
        let beginning = format!(".{}-", name.to_string_lossy());
        let (fresh, folder) = parent.fresh(&beginning).map_err(|error| cannot("made", &path, &error))?;
        let marked = mark(&folder).map_err(|error| cannot("written", &path, &error)).and_then(|mark| {
            lock(&mark, &folder)?;
            Ok(mark)
        });
        let placed = marked.map(|mark| parent.rename(&fresh, parent, name).ok().map(|()| mark));
        return match placed {
            Ok(Some(mark)) => Ok(parent.enter(name).ok().map(|folder| (folder, mark))),
            Ok(None) => {
                parent.remove(&fresh).map(|()| None).map_err(|error| cannot("removed", &path, &error))
            }
            Err(failure) => {
                let _ = parent.remove(&fresh);
                Err(failure)
            }
        };
    };
    let found = names(&folder)?;
    let mark = match folder.open_to_lock(MARKER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if found.is_empty() {
                // Somebody's empty directory, or one that another run is just removing.
                let Ok(mark) = mark(&folder) else { return Ok(None) };
                mark
            } else {
                return Err(foreign(&path, &found));
            }
        }
        other => other.map_err(|error| cannot("used", &path.join(MARKER), &error))?,
    };
    lock(&mark, &folder)?;
    // Whoever had the lock before may have finished and taken the directory away.
    let still = parent.leads_to(name, &folder) && folder.is_file(MARKER);
    if still {
        only_ours(&path, &found)?;
    }
    Ok(still.then_some((folder, mark)))
}

impl OutputDirectory {
    /// Begins to write what will be at `path`; goes on where an interrupted run has left off.
    pub(crate) fn begin(path: &Path) -> Result<OutputDirectory, Failure> {
        let target = check(path)?;
        let above = target.parent().map_or_else(PathBuf::new, Path::to_owned);
        let parent = Folder::at(&above).map_err(|error| cannot("opened", &above, &error))?;
        let name = target.file_name().unwrap_or_default().to_owned();
        match parent.enter(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot("replaced", &target, &error));
            }
            _ => {}
        }
        let partial = guard::partial(&name);
        let taken = (0..TRIES).find_map(|_| take(&parent, &partial).transpose()).transpose()?;
        let Some((folder, lock)) = taken else {
            return Err(refuse(&parent.path().join(&partial), "other runs keep changing it"));
        };
        for stale in ENTRIES {
            folder.remove(stale).map_err(|error| cannot("removed", &folder.path().join(stale), &error))?;
        }
        // Another build may give other results.
        let build = crate::program::build()?;
        let points = folder.folder(POINTS).and_then(|points| points.folder(build.word()));
        let points = points.map_err(|error| cannot("made", &folder.path().join(POINTS), &error))?;
        let store = PointStore::within(points, &build);
        Ok(OutputDirectory { parent, target: name, partial, folder, store, lock })
    }

    /// Where finished points are kept until everything is.
    pub(crate) fn store(&self) -> &PointStore {
        &self.store
    }

    /// Where an unfinished run stays.
    pub(crate) fn partial(&self) -> &Path {
        self.folder.path()
    }

    /// A new file, with the folders that lead to it.
    pub(crate) fn create(&self, name: impl AsRef<Path>) -> Result<BufWriter<File>, Failure> {
        let made = self.folder.create(known(name.as_ref()));
        made.map(BufWriter::new).map_err(|error| cannot("made", &self.partial().join(name), &error))
    }

    /// A new file with this content.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: &[u8]) -> Result<(), Failure> {
        let mut file = self.create(&name)?;
        let written = file.write_all(content).and_then(|()| file.flush());
        written.map_err(|error| cannot("written", &self.partial().join(name), &error))
    }

    /// A new folder.
    pub(crate) fn folder(&self, name: impl AsRef<Path>) -> Result<Folder, Failure> {
        let made = self.folder.folders(known(name.as_ref()));
        made.map_err(|error| cannot("made", &self.partial().join(name), &error))
    }

    /// Puts a directory that was made elsewhere in its place here.
    pub(crate) fn adopt(&self, from: &Folder, called: &str, name: impl AsRef<Path>) -> Result<(), Failure> {
        let name = known(name.as_ref());
        // What lies at the top has this very directory above it.
        let above = self.folder.folders(name.parent().unwrap_or(Path::new("")));
        let moved = above.and_then(|above| from.rename(called, &above, name.file_name().unwrap_or_default()));
        moved.map_err(|error| cannot("made", &self.partial().join(name), &error))
    }

    /// Everything is written: takes the place of what was there before.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let path = self.parent.path().join(&self.target);
        let old = match self.parent.enter(&self.target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other.map_err(|error| cannot("replaced", &path, &error))?),
        };
        if let Some(old) = &old {
            whole(&path, &names(old)?)?;
            all_ours(&path, old)?;
        }
        let mut list = guard::files(&self.folder).map_err(|error| cannot("read", self.partial(), &error))?;
        list.push(CONTENTS.to_owned());
        list.sort();
        self.write(CONTENTS, (list.join("\n") + "\n").as_bytes())?;
        self.folder.remove(POINTS).map_err(|error| cannot("removed", self.partial(), &error))?;
        match old {
            None => self.parent.rename(&self.partial, &self.parent, &self.target),
            Some(old) => self.replace(&old),
        }
        .and_then(|()| self.folder.remove(MARKER))
        .map_err(|error| cannot("replaced", &path, &error))
    }

    /// Takes the place of `old`, which is removed.
    fn replace(&self, old: &Folder) -> io::Result<()> {
        if old.kind(POINTS).is_some() {
            old.rename(POINTS, &self.folder, POINTS)?;
        }
        // From now on it may be removed, if not by us, then by who comes next.
        if old.kind(MARKER).is_none() {
            mark(old)?;
        }
        let away = if self.parent.exchange(&self.partial, &self.target)? {
            self.partial.clone()
        } else {
            // Only an empty directory is ever replaced by a renaming, here one of our own.
            let (aside, _) = self.parent.fresh(&format!(".{}-", self.partial.to_string_lossy()))?;
            self.parent.rename(&self.target, &self.parent, &aside)?;
            self.parent.rename(&self.partial, &self.parent, &self.target)?;
            aside.into()
        };
        if self.parent.leads_to(&away, old) { self.parent.remove(&away) } else { Ok(()) }
    }

    /// Nothing of this is to be kept.
    pub(crate) fn discard(self) -> Result<(), Failure> {
        let all = names(&self.folder)?;
        // The mark goes last, and the lock with it.
        let removed = all.iter().filter(|name| *name != MARKER).try_for_each(|name| self.folder.remove(name));
        let removed = removed.and_then(|()| {
            let ours = self.parent.leads_to(&self.partial, &self.folder);
            if ours { self.parent.remove(&self.partial) } else { Ok(()) }
        });
        let removed = removed.map_err(|error| cannot("removed", self.partial(), &error));
        drop(self.lock);
        removed
    }
}

/// The name of something in an output directory; that it is in the list of these is the programmer's duty.
fn known(name: &Path) -> &Path {
    let first = name.components().next();
    let known =
        matches!(first, Some(Component::Normal(first)) if ENTRIES.iter().any(|entry| first == *entry));
    debug_assert!(known, "{} is missing in the list of what is in an output directory", name.display());
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard::MARK;
    use std::fs;

    fn finished(path: &Path, content: &str) {
        let Ok(directory) = OutputDirectory::begin(path) else { panic!("it can be made") };
        assert!(directory.write("pictures/a/b.svg", b"<svg/>").is_ok());
        assert!(directory.write(MARK, content.as_bytes()).is_ok());
        assert!(directory.finish().is_ok());
    }

    fn refusal(path: &Path) -> String {
        match check(path) {
            Err(Failure::Report(report)) => report.to_string(),
            _ => panic!("{} is not refused", path.display()),
        }
    }

    fn listed(path: &Path) -> Vec<OsString> {
        Folder::at(path).and_then(|folder| folder.names()).expect("a directory")
    }

    #[test]
    fn a_directory_appears_whole_and_replaces_an_older_one() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let out = home.path().join("out");
        let Ok(directory) = OutputDirectory::begin(&out) else { panic!("it can be made") };
        assert!(directory.write(MARK, b"half").is_ok());
        assert!(!out.exists(), "not before it is finished");
        drop(directory);
        finished(&out, "first");
        fs::create_dir(out.join(POINTS)).expect("a directory");
        fs::write(out.join(POINTS).join("kept"), "").expect("a file");
        finished(&out, "second");
        assert_eq!(fs::read_to_string(out.join(MARK)).expect("a file"), "second");
        assert!(out.join("pictures/a/b.svg").exists() && out.join("points/kept").exists());
        assert_eq!(listed(home.path()), ["out"], "nothing is left over");
        assert_eq!(listed(&out), ["files.txt", "pictures", "points", "results.json"]);
    }

    #[test]
    fn what_is_not_ours_is_not_touched() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let out = home.path().join("out");
        fs::create_dir(&out).expect("a directory");
        assert!(check(&out).is_ok(), "an empty directory may be filled");
        fs::write(out.join("thesis.tex"), "").expect("a file");
        assert!(refusal(&out).contains("no results.json"));
        fs::write(out.join(MARK), "").expect("a file");
        assert!(refusal(&out).contains("thesis.tex"));
        assert!(refusal(&out.join("thesis.tex")).contains("it is a file"));
        let partial = home.path().join("new.partial");
        fs::create_dir(&partial).expect("a directory");
        fs::write(partial.join("notes"), "").expect("a file");
        assert!(refusal(&home.path().join("new")).contains("new.partial"));
        fs::write(partial.join(MARKER), "").expect("a file");
        assert!(refusal(&home.path().join("new")).contains("notes"), "marked, but with something in it");
        assert!(out.join("thesis.tex").exists() && partial.join("notes").exists());
    }

    /// Nor what a user has put among what is ours.
    #[test]
    fn a_file_among_ours_is_not_touched() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let out = home.path().join("out");
        finished(&out, "first");
        finished(&out, "second");
        for own in ["pictures/notes.md", "pictures/a/own.svg", "pictures/mine/deep/file"] {
            fs::create_dir_all(out.join(own).parent().expect("a folder")).expect("folders");
            fs::write(out.join(own), "mine").expect("a file");
            assert!(refusal(&out).contains(own), "{own}: {}", refusal(&out));
            fs::remove_file(out.join(own)).expect("removed");
        }
        assert!(check(&out).is_ok());
        // It may also come while a run is going on.
        let Ok(directory) = OutputDirectory::begin(&out) else { panic!("it can be made") };
        assert!(directory.write(MARK, b"third").is_ok());
        fs::write(out.join("pictures/late"), "mine").expect("a file");
        assert!(directory.finish().is_err());
        assert!(out.join("pictures/late").exists());
    }

    #[test]
    fn two_runs_do_not_write_to_the_same_directory() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let out = home.path().join("out");
        let Ok(first) = OutputDirectory::begin(&out) else { panic!("it can be made") };
        assert!(OutputDirectory::begin(&out).is_err());
        assert!(first.discard().is_ok());
        assert!(listed(home.path()).is_empty());
        assert!(OutputDirectory::begin(&out).is_ok());
    }

    #[test]
    fn an_interruption_in_the_middle_of_the_change_is_made_good() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let out = home.path().join("out");
        finished(&out, "first");
        // As it is when the directories have changed places, and nothing more was done.
        let Ok(directory) = OutputDirectory::begin(&out) else { panic!("it can be made") };
        assert!(directory.write(MARK, b"second").is_ok());
        mark(&Folder::own(&out).expect("a folder")).expect("marked");
        assert!(directory.folder.remove(POINTS).is_ok());
        assert!(directory.parent.exchange("out.partial", "out").is_ok());
        drop(directory);
        finished(&out, "third");
        assert_eq!(fs::read_to_string(out.join(MARK)).expect("a file"), "third");
        assert_eq!((listed(home.path()).len(), listed(&out).len()), (1, 3), "nothing is left over");
    }
}
