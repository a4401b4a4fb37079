//! Open directories of the eBPF file system.
//!
//! If somebody else has mounted the file system, every user may be able to write there. So a directory counts
//! as ours only if root or the present user owns it, and nobody else may write into it. All entries are
//! reached through its descriptor. No symbolic link is followed, and no path is looked up twice.

use super::LoadError;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, statat, statfs,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Magic number of the eBPF file system (BPF_FS_MAGIC).
const MAGIC: u32 = 0xcafe_4a11;
/// The longest wait for a lock. A load takes a second or two.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two attempts.
const STEP: Duration = Duration::from_millis(10);
/// The write permissions of group and others.
const OTHERS_WRITE: u32 = 0o022;

/// An open directory, and its path for messages.
pub(super) struct Directory {
    descriptor: OwnedFd,
    path: String,
}

/// Opens the directory itself, and does not follow a symbolic link.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// True if an eBPF file system is mounted at `path`.
pub(super) fn is_file_system(path: &str) -> bool {
    statfs(path).is_ok_and(|stat| stat.f_type as u32 == MAGIC)
}

impl Directory {
    /// The root of the eBPF file system that is mounted at `path`; `None` if none is mounted. Every user may
    /// have access to it.
    pub(super) fn of_file_system(path: &str) -> Result<Option<Directory>, LoadError> {
        if !is_file_system(path) {
            return Ok(None);
        }
        let descriptor =
            openat(CWD, path, FLAGS, Mode::empty()).map_err(|error| LoadError::unreadable(path, error))?;
        Ok(Some(Directory { descriptor, path: path.to_owned() }))
    }

    /// Opens the subdirectory `name`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`LoadError::Foreign`] if the entry is not a directory, or if others own it or may write into it.
    pub(super) fn open(&self, name: &str) -> Result<Option<Directory>, LoadError> {
        let path = format!("{}/{name}", self.path);
        let foreign = |why: String| LoadError::Foreign { path: path.clone(), why };
        let descriptor = match openat(&self.descriptor, name, FLAGS, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(foreign("is no directory".to_owned())),
            Err(error) => return Err(LoadError::unreadable(&path, error)),
        };
        let stat = fstat(&descriptor).map_err(|error| LoadError::unreadable(&path, error))?;
        if stat.st_uid != 0 && stat.st_uid != geteuid().as_raw() {
            return Err(foreign(format!("belongs to user {}", stat.st_uid)));
        }
        if stat.st_mode & OTHERS_WRITE != 0 {
            return Err(foreign(format!("may be written by others (mode {:o})", stat.st_mode & 0o7777)));
        }
        Ok(Some(Directory { descriptor, path }))
    }

    /// Opens the subdirectory `name`. If there is none, creates it, with access for its owner only.
    pub(super) fn make(&self, name: &str) -> Result<Directory, LoadError> {
        let path = format!("{}/{name}", self.path);
        match mkdirat(&self.descriptor, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(LoadError::unreadable(&path, error)),
        }
        self.open(name)?.ok_or_else(|| LoadError::unreadable(&path, Errno::NOENT))
    }

    /// The names of all entries.
    pub(super) fn names(&self) -> Result<Vec<String>, LoadError> {
        let unreadable = |error| LoadError::unreadable(&self.path, error);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.descriptor).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// True if there is an entry of this name, of any kind.
    pub(super) fn has(&self, name: &str) -> bool {
        statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Removes the entry `name`: a pin, a symbolic link itself, or an empty directory. Best effort.
    pub(super) fn remove(&self, name: &str) {
        let is_directory = statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let _ = unlinkat(&self.descriptor, name, flags);
    }

    /// The path of a pin in this directory. libbpf needs a path. This one leads through the open descriptor,
    /// so it always means this directory.
    pub(super) fn pin(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.descriptor.as_fd().as_raw_fd()))
    }

    /// Locks the directory until this value is dropped, or the process ends, whatever ends it. The lock is
    /// the directory's: it holds between process namespaces, too. False: somebody else has it.
    pub(super) fn try_lock(&self, how: Lock) -> bool {
        let operation = match how {
            Lock::Alone => FlockOperation::NonBlockingLockExclusive,
            Lock::Shared => FlockOperation::NonBlockingLockShared,
        };
        flock(&self.descriptor, operation).is_ok()
    }

    /// The same, for as long as a load may take.
    pub(super) fn lock(&self, how: Lock) -> Result<(), LoadError> {
        let patience = Instant::now() + PATIENCE;
        while !self.try_lock(how) {
            if Instant::now() > patience {
                return Err(LoadError::Busy { path: self.path.clone() });
            }
            sleep(STEP);
        }
        Ok(())
    }
}

/// Who else may have a lock.
#[derive(Clone, Copy)]
pub(super) enum Lock {
    Alone,
    Shared,
}
