//! Files beneath one directory. The kernel resolves their paths (openat2), so nothing above the directory and
//! no link is followed, whatever happens to the tree meanwhile.

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a directory is asked for by name.
const INDEX: &str = "index.html";

/// The directory.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
}

/// A file that was found, and what its name tells of it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) kind: &'static str,
}

/// Why a file cannot be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// There is none, or none that may be served.
    NotFound,
    /// This user may not read it.
    Forbidden,
    /// Too many files are open, or the disk fails.
    Unavailable,
}

impl Tree {
    pub(crate) fn open(directory: &Path) -> io::Result<Tree> {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        Ok(Tree { root: rustix::fs::open(directory, flags, Mode::empty())? })
    }

    /// Finds the file of a request's path, percent-encoded; of a directory its index.html.
    pub(crate) fn find(&self, path: &str) -> Result<Found, Missing> {
        let decoded = decode(path.trim_start_matches('/')).ok_or(Missing::NotFound)?;
        let name = OsStr::from_bytes(if decoded.is_empty() { b"." } else { &decoded });
        match self.regular(Path::new(name))? {
            Some(found) => Ok(found),
            None => self.regular(&Path::new(name).join(INDEX))?.ok_or(Missing::NotFound),
        }
    }

    /// The file of this name. `None`: it is a directory.
    fn regular(&self, name: &Path) -> Result<Option<Found>, Missing> {
        // A pipe without a writer must not block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(&self.root, name, flags, Mode::empty(), resolve).map_err(missing)?;
        let stat = fstat(&file).map_err(missing)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(None),
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                Ok(Some(Found { file: file.into(), size, kind: kind(name) }))
            }
            _ => Err(Missing::NotFound),
        }
    }
}

fn missing(error: Errno) -> Missing {
    match error {
        Errno::ACCESS | Errno::PERM => Missing::Forbidden,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO | Errno::AGAIN => Missing::Unavailable,
        // What is behind a link or above the directory does not exist, as far as anybody is told.
        _ => Missing::NotFound,
    }
}

/// Undoes percent-encoding (RFC 3986, section 2.1). `None` if it is broken, or for a zero byte.
fn decode(path: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        if first == b'%' {
            let digits = behind.get(..2).filter(|it| it.iter().all(u8::is_ascii_hexdigit))?;
            decoded.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &behind[2..];
        } else {
            decoded.push(first);
            rest = behind;
        }
    }
    (!decoded.contains(&0)).then_some(decoded)
}

/// The media type by the name's ending.
fn kind(name: &Path) -> &'static str {
    match name.extension().and_then(OsStr::to_str).unwrap_or("") {
        "html" | "htm" => "text/html; charset=utf-8",
        "txt" | "md" | "log" => "text/plain; charset=utf-8",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" => "text/javascript",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_but_files_beneath_the_directory() {
        let place = tempfile::tempdir().expect("a directory");
        let (root, outside) = (place.path().join("root"), place.path().join("secret.txt"));
        fs::create_dir_all(root.join("deep")).expect("directories");
        fs::write(&outside, "secret").expect("a file");
        fs::write(root.join("deep/a b.txt"), "hello").expect("a file");
        fs::write(root.join("deep/index.html"), "<p>").expect("a file");
        symlink(&outside, root.join("link.txt")).expect("a link");
        symlink("a b.txt", root.join("deep/inner.txt")).expect("a link");
        symlink("..", root.join("up")).expect("a link");
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), Mode::RUSR).expect("a pipe");
        let tree = Tree::open(&root).expect("the directory");
        let size = |path: &str| tree.find(path).map(|found| found.size);
        assert_eq!(size("/deep/a%20b.txt"), Ok(5));
        assert_eq!(size("//deep/./a b.txt"), Ok(5));
        assert_eq!((size("/deep"), size("/deep/"), size("/deep/../deep/")), (Ok(3), Ok(3), Ok(3)));
        for path in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/deep/../../secret.txt",
            "/link.txt",
            "/deep/inner.txt",
            "/up/secret.txt",
            "/pipe",
            "/",
            "/none",
            "/deep/a%20b.txt/",
            "/deep/a%2",
            "/deep/%zz",
            "/deep%00",
            "/proc/self/environ",
            "//etc/passwd",
            "/%2fetc/passwd",
        ] {
            assert_eq!(size(path), Err(Missing::NotFound), "{path}");
        }
        assert_eq!(tree.find("/deep/").map(|found| found.kind), Ok("text/html; charset=utf-8"));
    }
}
