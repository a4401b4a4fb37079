//! What is wrong with an archive.

use super::VERSION;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// Why the archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is none.
    #[error("there is no archive {}", .0.display())]
    Missing(PathBuf),
    /// The file is something else.
    #[error("{} is not an archive of ackclock monitor", .0.display())]
    Foreign(PathBuf),
    /// The archive was written by a later version.
    #[error("{} has the form {found}, and this program knows form {VERSION}", path.display())]
    Later {
        /// The archive.
        path: PathBuf,
        /// Its form.
        found: i32,
    },
    /// The archive is damaged.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// There is no room for more.
    #[error("there is no room for {}: {problem}", path.display())]
    Full {
        /// The archive.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// Another process holds the archive.
    #[error("{} is being written by another process", .0.display())]
    Busy(PathBuf),
    /// Anything else.
    #[error("{} cannot be used: {problem}", path.display())]
    Other {
        /// The archive.
        path: PathBuf,
        /// What SQLite or the system says.
        problem: String,
    },
}

/// The error with its name.
pub(super) fn named(path: &Path, error: &rusqlite::Error) -> ArchiveError {
    let (path, problem) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => ArchiveError::Foreign(path),
        Some(ErrorCode::DatabaseCorrupt) => ArchiveError::Damaged { path, problem },
        Some(ErrorCode::DiskFull) => ArchiveError::Full { path, problem },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ArchiveError::Busy(path),
        // A disk without room for the log's index says so by this.
        Some(ErrorCode::SystemIoFailure) if no_room() => ArchiveError::Full { path, problem },
        _ => ArchiveError::Other { path, problem },
    }
}

/// Did the last call to the system fail for want of room?
fn no_room() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::StorageFull
}
