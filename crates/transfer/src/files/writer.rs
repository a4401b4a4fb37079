//! The thread that writes files.

use super::MAX_FILES;
use super::message::Hash;
use super::name::check_name;
use super::outbound::{hash_on, part_of};
use crate::channel::Why;
use crate::stream::Stop;
use ackclock_files::{Folder, Kind};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// What is to be done, in this order.
pub(super) enum Job {
    /// A file is offered. Its number is that of the offers before it.
    Offer { size: u64, resume: bool, name: String },
    /// Where its data begin.
    Start { file: u32, offset: u64 },
    /// The next data.
    Data(Vec<u8>),
    /// The hash that it must have.
    Digest { file: u32, hash: Hash },
}

/// What came of it.
pub(super) enum Found {
    Have { file: u32, bytes: u64, hash: Hash },
    Saved(u32),
    Failed(Stop),
}

/// A file, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Bytes that were there before.
    pub skipped: u64,
    /// Of the whole file, once it is in its place.
    pub hash: Option<[u8; 32]>,
}

struct Item {
    name: String,
    size: u64,
    /// `None` if the whole file was in its place already.
    part: Option<File>,
    /// Bytes that are there, and their hash.
    have: u64,
    state: Sha256,
    started: bool,
    wanted: Option<Hash>,
    saved: bool,
}

pub(super) struct Writer {
    folder: Folder,
    force: bool,
    items: Vec<Item>,
    /// The file that the next data belong to.
    at: usize,
    shown: Arc<Mutex<Vec<Stored>>>,
    waiting: Arc<AtomicU64>,
}

fn refused(words: String) -> Stop {
    Stop { why: Why::Refused, words }
}

impl Writer {
    pub(super) fn new(
        folder: Folder,
        force: bool,
        shown: Arc<Mutex<Vec<Stored>>>,
        waiting: Arc<AtomicU64>,
    ) -> Writer {
        Writer { folder, force, items: Vec::new(), at: 0, shown, waiting }
    }

    /// Works until there is nobody to give it work, or it cannot.
    pub(super) fn run(mut self, jobs: &Receiver<Job>, found: &Sender<Found>) {
        while let Ok(job) = jobs.recv() {
            if let Err(stop) = self.work(job, found) {
                let _ = found.send(Found::Failed(stop));
                return;
            }
        }
    }

    fn work(&mut self, job: Job, found: &Sender<Found>) -> Result<(), Stop> {
        match job {
            Job::Offer { size, resume, name } => {
                let file = self.items.len() as u32;
                let item = self.accept(size, resume, name)?;
                let (bytes, hash) = (item.have, item.state.clone().finalize().into());
                let stored = Stored { name: item.name.clone(), size, skipped: 0, hash: None };
                self.items.push(item);
                self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(stored);
                let _ = found.send(Found::Have { file, bytes, hash });
            }
            Job::Start { file, offset } => self.start(file as usize, offset)?,
            Job::Data(block) => {
                self.write(&block)?;
                self.waiting.fetch_sub(block.len() as u64, Ordering::Relaxed);
            }
            Job::Digest { file, hash } => self.items[file as usize].wanted = Some(hash),
        }
        for file in 0..self.items.len() {
            if self.save(file)? {
                let _ = found.send(Found::Saved(file as u32));
            }
        }
        Ok(())
    }

    /// May this file come, and how much of it is there?
    fn accept(&self, size: u64, resume: bool, name: String) -> Result<Item, Stop> {
        if let Err(wrong) = check_name(&name) {
            return Err(refused(format!("the receiver refuses a file's name: {wrong}")));
        }
        if self.items.len() >= MAX_FILES || self.items.iter().any(|item| item.name == name) {
            return Err(refused("the receiver refuses so many files, or two of one name".to_owned()));
        }
        let mut item = Item {
            name,
            size,
            part: None,
            have: 0,
            state: Sha256::default(),
            started: false,
            wanted: None,
            saved: false,
        };
        let name = item.name.clone();
        let name = name.as_str();
        match self.folder.kind(name) {
            None => {}
            Some(Kind::File) if resume && self.is_whole(&mut item) => return Ok(item),
            Some(Kind::File) if self.force => {}
            Some(Kind::File) => {
                let words = format!(
                    "{name} is already there, at the receiver: move it away, or receive with --force to replace it"
                );
                return Err(refused(words));
            }
            Some(Kind::Directory | Kind::Other) => {
                let words =
                    format!("at the receiver something that is no file has the name {name}: move it away");
                return Err(refused(words));
            }
        }
        let part = self.open_part(name, resume).map_err(|error| self.trouble(name, &error))?;
        item.have = part.metadata().map_or(0, |metadata| metadata.len()).min(size);
        hash_on(&mut item.state, &part, 0, item.have).map_err(|error| self.trouble(name, &error))?;
        item.part = Some(part);
        Ok(item)
    }

    /// A transfer that went on after this file: it may be there. Its hash will tell.
    fn is_whole(&self, item: &mut Item) -> bool {
        let Ok(file) = self.folder.open(&item.name) else { return false };
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        if size != item.size || hash_on(&mut item.state, &file, 0, size).is_err() {
            item.state = Sha256::default();
            return false;
        }
        item.have = size;
        true
    }

    /// The unfinished file: the one that is there, or a new one. Nobody else writes to it.
    fn open_part(&self, name: &str, resume: bool) -> io::Result<File> {
        let part = part_of(name);
        if !resume || self.folder.kind(&part) != Some(Kind::File) {
            if let Ok(old) = self.folder.open_to_lock(&part) {
                flock(&old, FlockOperation::NonBlockingLockExclusive)?;
            }
            self.folder.remove(&part)?;
            drop(self.folder.create(&part)?);
        }
        let file = self.folder.open_to_lock(&part)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(file)
    }

    fn start(&mut self, file: usize, offset: u64) -> Result<(), Stop> {
        let item = &mut self.items[file];
        if item.started || offset != 0 && offset != item.have {
            return Err(Stop::broken("the sender begins where it cannot"));
        }
        item.started = true;
        if offset == 0 && item.have > 0 {
            // It is another file that was there.
            (item.have, item.state) = (0, Sha256::default());
            let Some(part) = &item.part else {
                let words = format!(
                    "{} is already there, at the receiver, with another content: move it away, or receive with \
                     --force to replace it",
                    item.name
                );
                return if self.force { self.replace(file) } else { Err(refused(words)) };
            };
            let cut = part.set_len(0);
            cut.map_err(|error| self.trouble(&self.items[file].name, &error))?;
        }
        let item = &self.items[file];
        // A part that is longer than the file is of another one.
        let (have, name) = (item.have, item.name.clone());
        let cut = item.part.as_ref().map_or(Ok(()), |part| part.set_len(have));
        cut.map_err(|error| self.trouble(&name, &error))?;
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)[file].skipped = have;
        Ok(())
    }

    /// The file that is in its place is another one, and may be replaced.
    fn replace(&mut self, file: usize) -> Result<(), Stop> {
        let name = self.items[file].name.clone();
        let part = self.open_part(&name, false).map_err(|error| self.trouble(&name, &error))?;
        self.items[file].part = Some(part);
        Ok(())
    }

    fn write(&mut self, mut block: &[u8]) -> Result<(), Stop> {
        while !block.is_empty() {
            let full = |item: &Item| item.have == item.size;
            while self.items.get(self.at).is_some_and(full) {
                self.at += 1;
            }
            let Some(item) = self.items.get_mut(self.at).filter(|item| item.started) else {
                return Err(Stop::broken("the sender sends more than it has offered"));
            };
            let length = (item.size - item.have).min(block.len() as u64) as usize;
            let (now, rest) = block.split_at(length);
            let written = item.part.as_ref().map_or(Ok(()), |part| part.write_all_at(now, item.have));
            if let Err(error) = written {
                return Err(self.trouble(&self.items[self.at].name, &error));
            }
            item.state.update(now);
            item.have += length as u64;
            block = rest;
        }
        Ok(())
    }

    /// Puts a file in its place that is complete. True if that was done now.
    fn save(&mut self, file: usize) -> Result<bool, Stop> {
        let item = &self.items[file];
        let Some(wanted) = item.wanted.filter(|_| item.started && item.have == item.size && !item.saved)
        else {
            return Ok(false);
        };
        let hash: Hash = item.state.clone().finalize().into();
        let name = item.name.clone();
        if hash != wanted {
            let words = format!(
                "{name} is not what the sender announced: it has changed while it was sent; send it again, when \
                 nobody writes to it"
            );
            return Err(Stop::failed(words));
        }
        if let Some(part) = &item.part {
            self.place(part, &name).map_err(|error| self.trouble(&name, &error))?;
        }
        self.items[file].saved = true;
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)[file].hash = Some(hash);
        Ok(true)
    }

    /// On the disk first, and then under its name.
    fn place(&self, file: &File, name: &str) -> io::Result<()> {
        file.sync_all()?;
        let part = part_of(name);
        if self.force {
            self.folder.rename(part, &self.folder, name)?;
        } else {
            self.folder.rename_new(part, name)?;
        }
        self.folder.sync()
    }

    /// What an error of the disk means to both users.
    fn trouble(&self, name: &str, error: &io::Error) -> Stop {
        let again = "then start both again, the sender with --resume: what has arrived is kept";
        Stop::failed(match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                format!("the receiver's disk is full: make room for {name}, {again}")
            }
            ErrorKind::FileTooLarge => {
                format!(
                    "{name} is larger than the receiver's system lets a file be: raise that limit, {again}"
                )
            }
            ErrorKind::WouldBlock => format!("another `ackclock receive` is writing {name}: end it first"),
            ErrorKind::AlreadyExists => {
                format!("{name} has appeared at the receiver meanwhile: move it away, {again}")
            }
            _ => format!("the receiver cannot store {name}: {error}; {again}"),
        })
    }
}
