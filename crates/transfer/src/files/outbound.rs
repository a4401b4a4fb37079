//! Files that are sent.
//!
//! They are read when their data leave, and again where data are repeated. A thread of its own reads them
//! once more, for their hashes: so the disk is asked before the data are due. A file that changes meanwhile
//! is noticed by its time of change, or by its hash at the receiver.

use super::message::{Hash, ToReceiver, ToSender};
use super::name::{WrongName, check_name};
use super::{MAX_FILES, PART};
use crate::stream::{Extent, Source, Stop};
use rustix::fs::{Mode, OFlags, open};
use sha2::{Digest, Sha256};
use std::collections::{HashSet, VecDeque};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Read at once for hashes, bytes.
const BLOCK: usize = 1 << 20;

/// A file cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It cannot be opened.
    #[error("{0} cannot be read")]
    Open(PathBuf, #[source] io::Error),
    /// It is no regular file.
    #[error("{0} is {1}: only files are sent")]
    NoFile(PathBuf, &'static str),
    /// Its name is refused by every receiver.
    #[error("{0}: a file of this name cannot be sent: {1}")]
    Name(PathBuf, #[source] WrongName),
    /// Two files would have the same name.
    #[error("{0}: two files of this name cannot be sent together")]
    Twice(PathBuf),
    /// There are too many.
    #[error("{0} files are too many for one transfer, which has at most {MAX_FILES}: pack them")]
    Many(usize),
}

/// A file, and what became of it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Where it is.
    pub path: PathBuf,
    /// Its name at the receiver.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Bytes that the receiver had before.
    pub skipped: u64,
    /// Of the whole file, once that is known.
    pub hash: Option<[u8; 32]>,
    /// The receiver has it in its place.
    pub saved: bool,
}

struct Item {
    file: Arc<File>,
    opened: Identity,
    told: Sent,
    /// The part that the receiver has, once it has answered.
    has: Option<(u64, Hash)>,
    /// The place of its data among all data.
    begin: u64,
    /// The hash has been posted.
    posted: bool,
}

/// What changes when a file does.
#[derive(PartialEq, Eq)]
struct Identity {
    size: u64,
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity { size: metadata.size(), changed: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

/// What the hashing thread found.
enum Hashed {
    /// Of the first bytes of a file, as many as the receiver has.
    Part(usize, Hash),
    Whole(usize, Hash),
    Failed(usize, io::Error),
}

/// How far both ends agree.
#[derive(PartialEq, Eq)]
enum Agreed {
    /// The receiver's answers are missing.
    Nothing,
    /// Parts are hashed that the receiver has.
    Parts,
    /// The data may leave.
    All,
}

/// Files that are sent.
pub struct Outbound {
    items: Vec<Item>,
    out: VecDeque<ToReceiver>,
    agreed: Agreed,
    hashed: Option<Receiver<Hashed>>,
    extent: Option<Extent>,
    /// The file that was read last.
    at: usize,
}

fn open_file(path: &Path) -> Result<(File, Metadata, String), SendError> {
    let failed = |error| SendError::Open(path.to_owned(), error);
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    let kind = found.file_type();
    if !kind.is_file() {
        let what = match () {
            () if kind.is_symlink() => "a link; name the file itself",
            () if kind.is_dir() => "a directory; pack it",
            () => "a device or a pipe",
        };
        return Err(SendError::NoFile(path.to_owned(), what));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(SendError::NoFile(path.to_owned(), "a device or a pipe"));
    }
    let name = path.file_name().unwrap_or_default().to_str().unwrap_or_default().to_owned();
    check_name(&name).map_err(|error| SendError::Name(path.to_owned(), error))?;
    Ok((file, metadata, name))
}

impl Outbound {
    /// Opens `paths`. With `resume` the receiver goes on with what it has of them.
    ///
    /// # Errors
    ///
    /// [`SendError`] for the first that cannot be sent.
    pub fn open(paths: &[PathBuf], resume: bool) -> Result<Outbound, SendError> {
        if paths.len() > MAX_FILES {
            return Err(SendError::Many(paths.len()));
        }
        let (mut items, mut out, mut names) = (Vec::new(), VecDeque::new(), HashSet::new());
        for (number, path) in paths.iter().enumerate() {
            let (file, metadata, name) = open_file(path)?;
            if !names.insert(name.clone()) {
                return Err(SendError::Twice(path.clone()));
            }
            let size = metadata.len();
            out.push_back(ToReceiver::Offer { file: number as u32, size, resume, name: name.clone() });
            let told = Sent { path: path.clone(), name, size, skipped: 0, hash: None, saved: false };
            let opened = Identity::of(&metadata);
            items.push(Item { file: Arc::new(file), opened, told, has: None, begin: 0, posted: false });
        }
        out.push_back(ToReceiver::Offered(items.len() as u32));
        Ok(Outbound { items, out, agreed: Agreed::Nothing, hashed: None, extent: None, at: 0 })
    }

    /// The files, and what became of them.
    pub fn files(&self) -> impl Iterator<Item = &Sent> {
        self.items.iter().map(|item| &item.told)
    }

    /// All bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files().map(|file| file.size).sum()
    }

    /// The receiver has answered for all files: their hashes begin.
    fn hash(&mut self) {
        let (sender, receiver) = channel();
        let files: Vec<_> = self
            .items
            .iter()
            .map(|item| (item.file.clone(), item.told.size, item.has.map_or(0, |(bytes, _)| bytes)))
            .collect();
        thread::spawn(move || hash_all(&files, &sender));
        self.hashed = Some(receiver);
        self.agreed = Agreed::Parts;
    }

    /// All parts are verified: the data may leave.
    fn begin(&mut self) {
        let mut all = 0;
        for (number, item) in self.items.iter_mut().enumerate() {
            item.begin = all;
            all += item.told.size - item.told.skipped;
            self.out.push_back(ToReceiver::Start { file: number as u32, offset: item.told.skipped });
        }
        self.out.push_back(ToReceiver::Begin);
        self.extent = Some(Extent::Bytes(all));
        self.agreed = Agreed::All;
    }

    fn changed(path: &Path) -> Stop {
        let path = path.display();
        Stop::failed(format!("{path} has changed while it was sent: send it again, when nobody writes to it"))
    }

    fn on_hashed(&mut self, hashed: Hashed) -> Result<(), Stop> {
        match hashed {
            Hashed::Part(number, hash) => {
                let item = &mut self.items[number];
                item.told.skipped =
                    item.has.filter(|(_, theirs)| *theirs == hash).map_or(0, |(bytes, _)| bytes);
            }
            Hashed::Whole(number, hash) => {
                let item = &mut self.items[number];
                let now = item.file.metadata().ok().map(|metadata| Identity::of(&metadata));
                if now.as_ref() != Some(&item.opened) {
                    return Err(Outbound::changed(&item.told.path));
                }
                item.told.hash = Some(hash);
            }
            Hashed::Failed(number, error) => {
                let path = &self.items[number].told.path;
                return Err(match error.kind() {
                    io::ErrorKind::UnexpectedEof => Outbound::changed(path),
                    _ => Stop::failed(format!("{} cannot be read: {error}", path.display())),
                });
            }
        }
        Ok(())
    }
}

/// First the parts, because the data wait for them; then the files.
fn hash_all(files: &[(Arc<File>, u64, u64)], found: &Sender<Hashed>) {
    let mut states = Vec::new();
    for (number, (file, _, has)) in files.iter().enumerate() {
        let mut state = Sha256::default();
        let hashed = match hash_on(&mut state, file, 0, *has) {
            Ok(()) => Hashed::Part(number, state.clone().finalize().into()),
            Err(error) => Hashed::Failed(number, error),
        };
        states.push(state);
        if found.send(hashed).is_err() {
            return; // nobody waits any more
        }
    }
    for (number, ((file, size, has), mut state)) in files.iter().zip(states).enumerate() {
        let hashed = match hash_on(&mut state, file, *has, *size) {
            Ok(()) => Hashed::Whole(number, state.finalize().into()),
            Err(error) => Hashed::Failed(number, error),
        };
        if found.send(hashed).is_err() {
            return;
        }
    }
}

/// Adds the bytes from `begin` to `end` to a hash.
pub(super) fn hash_on(state: &mut Sha256, file: &File, begin: u64, end: u64) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    let mut at = begin;
    while at < end {
        let length = (end - at).min(BLOCK as u64) as usize;
        file.read_exact_at(&mut block[..length], at)?;
        state.update(&block[..length]);
        at += length as u64;
    }
    Ok(())
}

impl Source for Outbound {
    fn on_message(&mut self, message: &[u8]) -> Result<(), Stop> {
        let unexpected = || Stop::broken("the receiver says what it should not say now");
        let known = self.items.len();
        match ToSender::read(message) {
            Some(ToSender::Have { file, bytes, hash }) if (file as usize) < known => {
                let item = &mut self.items[file as usize];
                if item.has.is_some() || bytes > item.told.size {
                    return Err(unexpected());
                }
                item.has = Some((bytes, hash));
                if self.items.iter().all(|item| item.has.is_some()) {
                    self.hash();
                }
                Ok(())
            }
            Some(ToSender::Saved(file)) if (file as usize) < known => {
                let item = &mut self.items[file as usize];
                item.told.saved = item.posted;
                if item.posted { Ok(()) } else { Err(unexpected()) }
            }
            _ => Err(unexpected()),
        }
    }

    fn poll_message(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        while let Some(hashed) = self.hashed.as_ref().and_then(|hashed| hashed.try_recv().ok()) {
            let last = matches!(hashed, Hashed::Part(number, _) if number + 1 == self.items.len());
            self.on_hashed(hashed)?;
            if last && self.agreed == Agreed::Parts {
                self.begin();
            }
        }
        if let Some(message) = self.out.pop_front() {
            return Ok(Some(message.write()));
        }
        for (number, item) in self.items.iter_mut().enumerate() {
            if let Some(hash) = item.told.hash.filter(|_| !item.posted) {
                item.posted = true;
                return Ok(Some(ToReceiver::Digest { file: number as u32, hash }.write()));
            }
        }
        Ok(None)
    }

    fn extent(&self) -> Option<Extent> {
        self.extent
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Stop> {
        let (mut offset, mut left) = (offset, into);
        while !left.is_empty() {
            let holds = |item: &Item| {
                item.begin <= offset && offset - item.begin < item.told.size - item.told.skipped
            };
            if !holds(&self.items[self.at]) {
                let found = self.items.iter().position(holds);
                self.at = found.ok_or_else(|| Stop::broken("data beyond the end are asked for"))?;
            }
            let item = &self.items[self.at];
            let place = offset - item.begin + item.told.skipped;
            let length = (item.told.size - place).min(left.len() as u64) as usize;
            let (now, rest) = left.split_at_mut(length);
            item.file.read_exact_at(now, place).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Outbound::changed(&item.told.path),
                _ => Stop::failed(format!("{} cannot be read: {error}", item.told.path.display())),
            })?;
            (offset, left) = (offset + length as u64, rest);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.items.iter().all(|item| item.told.saved)
    }
}

/// What a receiver calls an unfinished file.
pub(super) fn part_of(name: &str) -> String {
    format!("{name}{PART}")
}
