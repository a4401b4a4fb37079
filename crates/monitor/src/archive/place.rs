//! The files of an archive: ours, and no links.
//!
//! A monitor often runs as root, and others may write where its archive lies, as in /tmp. A link that waits
//! there under the name of the archive, of its log or of the log's index would make SQLite write somewhere
//! else, and a file of somebody else would be believed. SQLite itself follows no link of these names.

use ackclock_files::{Folder, Kind};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What SQLite adds to the archive's name: nothing, its log, the log's index, and the journal of its first
/// transaction.
const ADDED: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Where an archive lies.
pub(super) struct Place {
    folder: Folder,
    name: String,
}

impl Place {
    /// Opens the directory, and makes an empty file if there is none of this name. Missing directories are
    /// made.
    ///
    /// # Errors
    ///
    /// If the directory or the file cannot be made, or if [`Place::check`] refuses something.
    pub(super) fn open(path: &Path) -> io::Result<Place> {
        let unusable = || io::Error::new(io::ErrorKind::InvalidInput, "this is no name of a file");
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(unusable)?.to_owned();
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent)?;
        let place = Place { folder: Folder::at(fs::canonicalize(parent)?)?, name };
        if place.folder.kind(&place.name).is_none() {
            place.folder.create(&place.name)?;
        }
        place.check()?;
        Ok(place)
    }

    /// The path without a link in it.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Checks all files of the archive that there are. None is opened: closing it would release SQLite's
    /// locks (SQLite's "How to corrupt", section 2.2).
    ///
    /// # Errors
    ///
    /// If one is no file, has a second name, or belongs to another user.
    pub(super) fn check(&self) -> io::Result<()> {
        for added in ADDED {
            let name = format!("{}{added}", self.name);
            if self.folder.kind(&name).is_some() {
                let told = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
                self.folder.check_own(&name).map_err(told)?;
            }
        }
        Ok(())
    }

    /// Checks the same while the archive is open, when it must have its log.
    ///
    /// # Errors
    ///
    /// As [`Place::check`], and if there is no log: somebody has taken it away.
    pub(super) fn check_open(&self) -> io::Result<()> {
        self.check()?;
        if self.folder.kind(format!("{}-wal", self.name)) != Some(Kind::File) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its log has been taken away"));
        }
        Ok(())
    }
}
