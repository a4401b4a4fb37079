//! A directory that is reached by its handle.

use crate::unique;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, fstat, fsync, linkat, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// How a directory is opened: never through a link in the last component.
const ENTER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How a file is created: it must not exist yet.
const BEGIN: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Modes before the user's mask.
const FILE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY: Mode = Mode::from_raw_mode(0o777);

/// The kind of an entry. A link is neither a file nor a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, a device, a pipe.
    Other,
}

/// A directory that was opened once. Clones share the handle.
#[derive(Clone, Debug)]
pub struct Folder {
    handle: Arc<OwnedFd>,
    path: PathBuf,
    /// The user who owns the files that this process creates here.
    me: u32,
}

/// The same error, with a clearer message.
fn told(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::new(io::ErrorKind::InvalidInput, "there is a link in its place"),
        other => other.into(),
    }
}

fn foreign(owner: u32) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("it belongs to another user (number {owner})"))
}

impl Folder {
    /// Opens the directory at `path`. The path is looked up as usual. Missing directories are created. An
    /// empty path is the current directory. The owner does not matter here, but everything that is entered
    /// from here must be ours.
    ///
    /// # Errors
    ///
    /// If it cannot be created or opened.
    pub fn at(path: impl AsRef<Path>) -> io::Result<Folder> {
        let given = path.as_ref();
        let path = if given.as_os_str().is_empty() { Path::new(".") } else { given };
        fs::create_dir_all(path)?;
        let handle = openat(CWD, path, ENTER.difference(OFlags::NOFOLLOW), Mode::empty())?;
        let mut folder = Folder { handle: Arc::new(handle), path: given.to_owned(), me: 0 };
        folder.me = folder.whose()?;
        Ok(folder)
    }

    /// Opens the directory at `path`, and creates it if there is none. Refuses a directory of another user.
    ///
    /// # Errors
    ///
    /// If it cannot be created or opened, or is not ours.
    pub fn own(path: impl AsRef<Path>) -> io::Result<Folder> {
        let folder = Folder::at(path)?;
        folder.check_owner()?;
        Ok(folder)
    }

    /// The owner of new files here. Not every file system gives a file to the user who creates it, so the
    /// function creates one.
    fn whose(&self) -> io::Result<u32> {
        let name = format!(".ackclock-{}", unique());
        match openat(&*self.handle, &name, BEGIN, FILE) {
            Ok(probe) => {
                let owner = fstat(&probe)?.st_uid;
                unlinkat(&*self.handle, &name, AtFlags::empty())?;
                Ok(owner)
            }
            // A read-only file system can still be read.
            Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => Ok(rustix::process::geteuid().as_raw()),
            Err(error) => Err(told(error)),
        }
    }

    fn check_owner(&self) -> io::Result<()> {
        let owner = fstat(&*self.handle)?.st_uid;
        if owner == self.me { Ok(()) } else { Err(foreign(owner)) }
    }

    /// The path by which it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a subdirectory.
    ///
    /// # Errors
    ///
    /// If there is none, if another kind of entry is in its place, or if it is not ours.
    pub fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        let name = name.as_ref();
        let handle = openat(&*self.handle, name, ENTER, Mode::empty()).map_err(|error| {
            // With O_DIRECTORY the error for a link is "not a directory".
            let link = matches!(self.kind(name), Some(Kind::Other));
            if error == Errno::NOTDIR && link { told(Errno::LOOP) } else { told(error) }
        })?;
        let folder = Folder { handle: Arc::new(handle), path: self.path.join(name), me: self.me };
        folder.check_owner()?;
        Ok(folder)
    }

    /// Opens a subdirectory, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// As [`Folder::enter`], and if it cannot be created.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        match mkdirat(&*self.handle, name.as_ref(), DIRECTORY) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(told(error)),
        }
    }

    /// Creates a directory with a unique name that starts with `beginning`. Returns the name, too.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn fresh(&self, beginning: &str) -> io::Result<(String, Folder)> {
        let name = format!("{beginning}{}", unique());
        mkdirat(&*self.handle, &name, DIRECTORY).map_err(told)?;
        let folder = self.enter(&name)?;
        Ok((name, folder))
    }

    /// The directory of the last component of `path`, and that component.
    fn reach<'a>(&self, path: &'a Path, make: bool) -> io::Result<(Folder, &'a OsStr)> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "this name leads elsewhere");
        let mut folder = self.clone();
        let mut names = path.components().peekable();
        while let Some(component) = names.next() {
            let Component::Normal(name) = component else { return Err(wrong()) };
            if names.peek().is_none() {
                return Ok((folder, name));
            }
            folder = if make { folder.folder(name)? } else { folder.enter(name)? };
        }
        Err(wrong())
    }

    /// Creates a file, and the directories on the way to it.
    ///
    /// # Errors
    ///
    /// If there is already an entry of this name, or if it cannot be created.
    pub fn create(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (folder, name) = self.reach(path.as_ref(), true)?;
        Ok(File::from(openat(&*folder.handle, name, BEGIN, FILE).map_err(told)?))
    }

    /// Creates a directory below this one, and the directories on the way to it.
    ///
    /// # Errors
    ///
    /// As [`Folder::folder`].
    pub fn folders(&self, path: impl AsRef<Path>) -> io::Result<Folder> {
        if path.as_ref().as_os_str().is_empty() {
            return Ok(self.clone());
        }
        let (folder, name) = self.reach(path.as_ref(), true)?;
        folder.folder(name)
    }

    fn open_as(&self, path: &Path, how: OFlags) -> io::Result<File> {
        let (folder, name) = self.reach(path, false)?;
        // Opening a pipe must not block.
        let flags = how | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&*folder.handle, name, flags, Mode::empty()).map_err(told)?;
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        if found.st_uid != self.me {
            return Err(foreign(found.st_uid));
        }
        Ok(File::from(file))
    }

    /// Opens a file of ours for reading.
    ///
    /// # Errors
    ///
    /// If there is none, if another kind of entry is in its place, or if it belongs to another user.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_as(path.as_ref(), OFlags::RDONLY)
    }

    /// Opens a file of ours for locking. Its content does not change.
    ///
    /// # Errors
    ///
    /// As [`Folder::open`].
    pub fn open_to_lock(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_as(name.as_ref(), OFlags::RDWR)
    }

    /// Writes a file. It gets its name when it is complete, and replaces a file of this name. A link of this
    /// name is replaced, not followed.
    ///
    /// # Errors
    ///
    /// If it cannot be written. Nothing of it stays then.
    pub fn replace(
        &self,
        path: impl AsRef<Path>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let (folder, name) = self.reach(path.as_ref(), true)?;
        let mut partial = name.to_owned();
        partial.push(format!(".{}.partial", unique()));
        let mut file = BufWriter::new(folder.create(&partial)?);
        let written = write(&mut file).and_then(|()| file.flush());
        drop(file);
        let placed =
            written.and_then(|()| renameat(&*folder.handle, &partial, &*folder.handle, name).map_err(told));
        placed.inspect_err(|_| drop(folder.remove(&partial)))
    }

    /// The kind of the entry of this name, if there is one.
    pub fn kind(&self, path: impl AsRef<Path>) -> Option<Kind> {
        let path = path.as_ref();
        let (folder, name) = self.reach(path, false).ok()?;
        let found = statat(&*folder.handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        })
    }

    /// Checks, without opening it, that the entry of this name is a file of ours that has no second name.
    ///
    /// # Errors
    ///
    /// If there is none, if another kind of entry is in its place, or if it belongs to another user.
    pub fn check_own(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        let (folder, name) = self.reach(path.as_ref(), false)?;
        let found = statat(&*folder.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => Err(told(Errno::LOOP)),
            FileType::RegularFile if found.st_uid != self.me => Err(foreign(found.st_uid)),
            FileType::RegularFile if found.st_nlink != 1 => wrong("it has a second name elsewhere"),
            FileType::RegularFile => Ok(()),
            _ => wrong("it is not a file"),
        }
    }

    /// True if there is a file of this name.
    pub fn is_file(&self, path: impl AsRef<Path>) -> bool {
        self.kind(path) == Some(Kind::File)
    }

    /// All names, in order.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&*self.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// True if this name in `self` still leads to `folder`.
    pub fn leads_to(&self, name: impl AsRef<OsStr>, folder: &Folder) -> bool {
        let found = statat(&*self.handle, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW);
        match (found, fstat(&*folder.handle)) {
            (Ok(found), Ok(own)) => (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino),
            _ => false,
        }
    }

    /// Renames the entry `from`, here or into another directory. An existing file, link or empty directory of
    /// the new name is replaced.
    ///
    /// # Errors
    ///
    /// If there is no such entry, or if the new name cannot be used.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: &Folder, name: impl AsRef<OsStr>) -> io::Result<()> {
        renameat(&*self.handle, from.as_ref(), &*to.handle, name.as_ref()).map_err(told)
    }

    /// Renames the entry `from`. Nothing of the new name is replaced.
    ///
    /// # Errors
    ///
    /// If there is no such entry, or if there is one of the new name already.
    pub fn rename_new(&self, from: impl AsRef<OsStr>, name: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, name) = (from.as_ref(), name.as_ref());
        match renameat_with(&*self.handle, from, &*self.handle, name, RenameFlags::NOREPLACE) {
            // Not every file system can do that. A second name never replaces one either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(&*self.handle, from, &*self.handle, name, AtFlags::empty()).map_err(told)?;
                unlinkat(&*self.handle, from, AtFlags::empty()).map_err(told)
            }
            other => other.map_err(told),
        }
    }

    /// Waits until the names of this directory are on the disk.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&*self.handle)?)
    }

    /// Exchanges two names atomically. False if the file system cannot do that.
    ///
    /// # Errors
    ///
    /// If one of them does not exist, or must not be moved.
    pub fn exchange(&self, one: impl AsRef<OsStr>, other: impl AsRef<OsStr>) -> io::Result<bool> {
        let (one, other) = (one.as_ref(), other.as_ref());
        match renameat_with(&*self.handle, one, &*self.handle, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(told(error)),
        }
    }

    /// Removes a file, a link, or a directory with its content. Does nothing if there is no such entry. Links
    /// are removed, not followed.
    ///
    /// # Errors
    ///
    /// If something cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        remove_at(&self.handle, name.as_ref())
    }
}

fn remove_at(parent: &impl AsFd, name: &OsStr) -> io::Result<()> {
    let found = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(told(error)),
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return unlinkat(parent, name, AtFlags::empty()).map_err(told);
    }
    // If a link has replaced the directory in the meantime, it is not entered.
    let handle = openat(parent, name, ENTER, Mode::empty()).map_err(told)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&handle)? {
        names.push(entry?.file_name().to_owned());
    }
    for inner in names.iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
        remove_at(&handle, OsStr::from_bytes(inner.to_bytes()))?;
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    fn home() -> (tempfile::TempDir, Folder) {
        let home = tempfile::tempdir().expect("a directory");
        let folder = Folder::own(home.path()).expect("a folder");
        (home, folder)
    }

    #[test]
    fn what_is_written_is_found_again() {
        let (home, folder) = home();
        folder.create("a/b/file").and_then(|mut file| file.write_all(b"one")).expect("written");
        assert!(home.path().join("a/b/file").is_file() && folder.is_file("a/b/file"));
        assert_eq!(folder.create("a/b/file").expect_err("twice").kind(), io::ErrorKind::AlreadyExists);
        folder.replace("a/b/file", |to| to.write_all(b"two")).expect("replaced");
        let mut text = String::new();
        folder.open("a/b/file").and_then(|mut file| file.read_to_string(&mut text)).expect("read");
        assert_eq!(text, "two");
        let names = folder.enter("a").and_then(|it| it.enter("b")).and_then(|it| it.names()).expect("read");
        assert_eq!(names, ["file"]);
        folder.remove("a").expect("removed");
        assert!(folder.names().expect("read").is_empty());
        folder.remove("a").expect("there is nothing to remove");
    }

    #[test]
    fn a_new_name_replaces_nothing() {
        let (_home, folder) = home();
        folder.replace("one", |to| to.write_all(b"one")).expect("written");
        folder.replace("two", |to| to.write_all(b"two")).expect("written");
        assert_eq!(folder.rename_new("one", "two").expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
        folder.rename_new("one", "three").and_then(|()| folder.sync()).expect("it is free");
        assert_eq!(folder.names().expect("read"), ["three", "two"]);
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let (_home, folder) = home();
        folder.replace("file", |to| to.write_all(b"one")).expect("written");
        folder.replace("file", |_| Err(io::Error::other("full"))).expect_err("it fails");
        assert_eq!(folder.names().expect("read"), ["file"]);
    }

    #[test]
    fn links_are_not_followed() {
        let (home, folder) = home();
        let (_other, elsewhere) = self::home();
        elsewhere.create("file").expect("made");
        symlink(elsewhere.path(), home.path().join("directory")).expect("a link");
        symlink(elsewhere.path().join("file"), home.path().join("file")).expect("a link");
        assert!(folder.enter("directory").is_err() && folder.folder("directory").is_err());
        assert!(folder.create("directory/new").is_err() && folder.create("file").is_err());
        assert!(folder.open("file").is_err() && !folder.is_file("file"));
        assert_eq!(folder.kind("file"), Some(Kind::Other));
        folder.replace("file", |to| to.write_all(b"mine")).expect("the link is replaced");
        assert!(folder.is_file("file"));
        folder.folder("deep").expect("made");
        symlink(elsewhere.path(), home.path().join("deep/directory")).expect("a link");
        folder.remove("deep").and_then(|()| folder.remove("directory")).expect("removed");
        assert_eq!(elsewhere.open("file").and_then(|file| file.metadata()).expect("there").len(), 0);
    }

    #[test]
    fn a_file_with_a_second_name_is_not_our_own() {
        let (home, folder) = home();
        folder.create("file").expect("made");
        folder.check_own("file").expect("it is ours");
        symlink("file", home.path().join("link")).expect("a link");
        assert!(folder.check_own("link").is_err_and(|it| it.to_string().contains("link")));
        fs::hard_link(home.path().join("file"), home.path().join("second")).expect("a second name");
        assert!(folder.check_own("file").is_err_and(|it| it.to_string().contains("second name")));
        assert!(folder.check_own("none").is_err_and(|it| it.kind() == io::ErrorKind::NotFound));
    }

    #[test]
    fn names_do_not_lead_out() {
        let (_home, folder) = home();
        for name in ["../file", "/etc/file", "a/../../file", "", "."] {
            assert!(folder.create(name).is_err(), "{name}");
        }
    }

    #[test]
    fn two_directories_change_places() {
        let (_home, folder) = home();
        let (one, other) = (folder.folder("one").expect("made"), folder.folder("other").expect("made"));
        if folder.exchange("one", "other").expect("exchanged") {
            assert!(folder.leads_to("one", &other) && folder.leads_to("other", &one));
        }
        assert!(!folder.leads_to("nothing", &one));
    }

    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let (home, folder) = home();
        let made = std::process::Command::new("mkfifo").arg(home.path().join("pipe")).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(folder.open("pipe").is_err() && folder.open_to_lock("pipe").is_err());
        }
    }
}
