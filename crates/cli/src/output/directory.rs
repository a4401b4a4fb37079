//! The output directory, never half-written.
//!
//! Everything goes into `DIR.partial` beside it, which takes the directory's name at the very end. Until
//! then an older result stays as it was.

use crate::Failure;
use ackclock_sim::store::PointStore;
use miette::miette;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What is in a finished output directory; `results.json` is its mark.
const MARK: &str = "results.json";
const ENTRIES: [&str; 6] = [MARK, "report.html", "scenario.toml", "series", "pictures", "capture"];
/// What is in an unfinished one besides.
const POINTS: &str = "points";
const LOCK: &str = "lock";

/// An output directory that is being written.
pub(crate) struct OutputDirectory {
    target: PathBuf,
    partial: PathBuf,
    store: PointStore,
    lock: File,
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "choose a directory that you may write to, with --out",
        io::ErrorKind::StorageFull => "make room on this file system, or choose another with --out",
        _ => "choose another directory with --out",
    };
    Failure::Report(miette!(help = help, "{} cannot be {what}: {error}", path.display()))
}

/// The names in a directory; nothing if there is none.
fn names(path: &Path) -> Result<Vec<String>, Failure> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let names: io::Result<Vec<String>> =
        entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned())).collect();
    names.map_err(|error| cannot("read", path, &error))
}

fn refuse(path: &Path, why: &str) -> Failure {
    let help = "choose another directory with --out, or move this one out of the way";
    Failure::Report(miette!(help = help, "{} will not be replaced: {why}", path.display()))
}

/// May `path` be replaced by an output directory? Returns where it really lies, and touches nothing.
pub(crate) fn check(path: &Path) -> Result<PathBuf, Failure> {
    // A link to a directory stays a link; what it leads to is replaced.
    let target = if path.exists() {
        path.canonicalize().map_err(|error| cannot("read", path, &error))?
    } else {
        path.to_owned()
    };
    if target.file_name().is_none() {
        return Err(refuse(path, "it has no name"));
    }
    if target.is_file() {
        return Err(refuse(path, "it is a file"));
    }
    let found = names(&target)?;
    if !found.is_empty() && !found.iter().any(|name| name == MARK) {
        return Err(refuse(path, "it is not an ackclock output directory (it holds no results.json)"));
    }
    if let Some(other) = found.iter().find(|name| !ENTRIES.contains(&name.as_str())) {
        return Err(refuse(path, &format!("it holds \"{other}\", which ackclock did not write")));
    }
    let partial = partial_of(&target);
    let unfinished = names(&partial)?;
    let ours = |name: &String| ENTRIES.contains(&name.as_str()) || name == POINTS || name == LOCK;
    if !unfinished.iter().all(ours) {
        return Err(refuse(&partial, "it holds files that ackclock did not write"));
    }
    Ok(target)
}

fn partial_of(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    target.with_file_name(name)
}

impl OutputDirectory {
    /// Begins to write what will be at `path`; goes on where an interrupted run has left off.
    pub(crate) fn begin(path: &Path) -> Result<OutputDirectory, Failure> {
        let target = check(path)?;
        let partial = partial_of(&target);
        fs::create_dir_all(&partial).map_err(|error| cannot("made", &partial, &error))?;
        let lock = partial.join(LOCK);
        let lock = File::create(&lock).map_err(|error| cannot("made", &lock, &error))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let help = "wait until it has finished, or choose another directory with --out";
                let shown = partial.display();
                return Err(Failure::Report(miette!(help = help, "another run is writing to {shown}")));
            }
            // Where a file system cannot lock, nothing watches over two runs at once; that is all.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        for stale in ENTRIES {
            remove(&partial.join(stale))?;
        }
        let points = partial.join(POINTS);
        let store = PointStore::open(&points).map_err(|error| cannot("made", &points, &error))?;
        Ok(OutputDirectory { target, partial, store, lock })
    }

    /// Where finished points are kept until everything is.
    pub(crate) fn store(&self) -> &PointStore {
        &self.store
    }

    /// Where an unfinished run stays.
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// A new file, with the folders that lead to it.
    pub(crate) fn create(&self, name: impl AsRef<Path>) -> Result<BufWriter<File>, Failure> {
        let path = self.partial.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(&path));
        made.map(BufWriter::new).map_err(|error| cannot("made", &path, &error))
    }

    /// A new file with this content.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: &[u8]) -> Result<(), Failure> {
        let mut file = self.create(&name)?;
        let written = file.write_all(content).and_then(|()| file.flush());
        written.map_err(|error| cannot("written", &self.partial.join(name), &error))
    }

    /// Everything is written: takes the place of what was there before.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        remove(&self.partial.join(POINTS))?;
        drop(self.lock);
        remove(&self.partial.join(LOCK))?;
        let rename =
            |from: &Path, to: &Path| fs::rename(from, to).map_err(|error| cannot("made", to, &error));
        if !self.target.exists() {
            return rename(&self.partial, &self.target);
        }
        let mut aside = self.partial.clone().into_os_string();
        aside.push(".replaced");
        let aside = PathBuf::from(aside);
        remove(&aside)?;
        rename(&self.target, &aside)?;
        if let Err(error) = rename(&self.partial, &self.target) {
            rename(&aside, &self.target)?;
            return Err(error);
        }
        remove(&aside)
    }

    /// Nothing of this is to be kept.
    pub(crate) fn discard(self) -> Result<(), Failure> {
        drop(self.lock);
        remove(&self.partial)
    }
}

/// Removes a file or a directory, if it is there.
fn remove(path: &Path) -> Result<(), Failure> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(|error| cannot("removed", path, &error))
}
