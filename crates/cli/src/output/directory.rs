//! The output directory. It is never half-written.
//!
//! Everything goes into `DIR.partial` first. It gets the name of the directory at the very end. Until then an
//! older result stays as it is.

use crate::failure::Failure;
use ackclock_study::store::PointStore;
use miette::miette;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// An entry of a finished output directory. `results.json` identifies it.
const MARK: &str = "results.json";
const ENTRIES: [&str; 6] = [MARK, "report.html", "scenario.toml", "series", "pictures", "capture"];
/// Further entries of an unfinished directory. A finished one may have the first, too: `ackclock reproduce`
/// keeps its points there, and they stay when the directory is replaced.
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

/// The names in a directory; none if it does not exist.
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

/// Checks that `path` may be replaced by an output directory. Returns its real path, and changes nothing.
pub(crate) fn check(path: &Path) -> Result<PathBuf, Failure> {
    // A link to a directory stays a link. Its target is replaced.
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
    if !found.iter().all(|name| name == POINTS) && !found.iter().any(|name| name == MARK) {
        return Err(refuse(path, "it is not an ackclock output directory (it holds no results.json)"));
    }
    let known = |name: &String| ENTRIES.contains(&name.as_str()) || name == POINTS;
    if let Some(other) = found.iter().find(|name| !known(name)) {
        return Err(refuse(path, &format!("it holds \"{other}\", which ackclock did not write")));
    }
    let partial = partial_of(&target);
    let unfinished = names(&partial)?;
    if !unfinished.iter().all(|name| known(name) || name == LOCK) {
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
    /// Starts to write the directory that will be at `path`. Continues an interrupted run.
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
            // If a file system has no locks, nothing detects two runs at the same time.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        for stale in ENTRIES {
            remove(&partial.join(stale))?;
        }
        // Another build may give other results.
        let build = crate::program::build().unwrap_or_else(|_| env!("CARGO_PKG_VERSION").to_owned());
        let points = partial.join(POINTS).join(build);
        let store = PointStore::open(&points).map_err(|error| cannot("made", &points, &error))?;
        Ok(OutputDirectory { target, partial, store, lock })
    }

    /// The store of finished points, until all are finished.
    pub(crate) fn store(&self) -> &PointStore {
        &self.store
    }

    /// The directory of an unfinished run.
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Creates a file, and the directories on the way to it.
    pub(crate) fn create(&self, name: impl AsRef<Path>) -> Result<BufWriter<File>, Failure> {
        let path = self.partial.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(&path));
        made.map(BufWriter::new).map_err(|error| cannot("made", &path, &error))
    }

    /// Creates a file with this content.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: &[u8]) -> Result<(), Failure> {
        let mut file = self.create(&name)?;
        let written = file.write_all(content).and_then(|()| file.flush());
        written.map_err(|error| cannot("written", &self.partial.join(name), &error))
    }

    /// Moves a directory from elsewhere to this place.
    pub(crate) fn adopt(&self, from: &Path, name: impl AsRef<Path>) -> Result<(), Failure> {
        let to = self.partial.join(name);
        let moved = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(from, &to));
        moved.map_err(|error| cannot("made", &to, &error))
    }

    /// Everything is written: replaces the directory that was there before.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        remove(&self.partial.join(POINTS))?;
        drop(self.lock);
        remove(&self.partial.join(LOCK))?;
        let rename =
            |from: &Path, to: &Path| fs::rename(from, to).map_err(|error| cannot("made", to, &error));
        if !self.target.exists() {
            return rename(&self.partial, &self.target);
        }
        let points = self.target.join(POINTS);
        if points.exists() {
            rename(&points, &self.partial.join(POINTS))?;
        }
        let mut aside = self.partial.clone().into_os_string();
        aside.push(".replaced");
        let aside = PathBuf::from(aside);
        remove(&aside)?;
        rename(&self.target, &aside)?;
        rename(&self.partial, &self.target)?;
        remove(&aside)
    }

    /// Removes everything.
    pub(crate) fn discard(self) -> Result<(), Failure> {
        drop(self.lock);
        remove(&self.partial)
    }
}

/// Removes a file or a directory, if it exists.
fn remove(path: &Path) -> Result<(), Failure> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(|error| cannot("removed", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(names(home.path()).ok(), Some(vec!["out".to_owned()]), "nothing is left over");
        assert_eq!(names(&out).map(|names| names.len()).ok(), Some(3));
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
        assert!(out.join("thesis.tex").exists() && partial.join("notes").exists());
    }

    #[test]
    fn two_runs_do_not_write_to_the_same_directory() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let out = home.path().join("out");
        let Ok(first) = OutputDirectory::begin(&out) else { panic!("it can be made") };
        assert!(OutputDirectory::begin(&out).is_err());
        assert!(first.discard().is_ok());
        assert_eq!(names(home.path()).map(|names| names.len()).ok(), Some(0));
        assert!(OutputDirectory::begin(&out).is_ok());
    }
}
