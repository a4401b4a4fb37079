//! Files that are received.
//!
//! A thread of its own writes, because disks are slow at times and packets must not wait. What it has not
//! written yet limits what the sender may send.

use super::message::{ToReceiver, ToSender};
use super::writer::{Found, Job, Stored, Writer};
use crate::stream::{Sink, Stop};
use ackclock_files::Folder;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// What may wait for the disk, bytes.
const MOST_WAITING: u64 = 32 << 20;
/// What is given to the thread at once, bytes.
const BLOCK: usize = 256 << 10;

/// Files that are received.
pub struct Inbound {
    jobs: Option<Sender<Job>>,
    found: Receiver<Found>,
    thread: Option<JoinHandle<()>>,
    block: Vec<u8>,
    /// Bytes that the thread has not written yet.
    waiting: Arc<AtomicU64>,
    files: Arc<Mutex<Vec<Stored>>>,
    offered: Option<u32>,
    /// It is known where the data begin. They may overtake that message, and wait then.
    begun: bool,
    saved: u32,
}

impl Inbound {
    /// Files are stored in `folder`. With `force` they replace others of their names. `files` shows them.
    pub fn new(folder: Folder, force: bool, files: Arc<Mutex<Vec<Stored>>>) -> Inbound {
        let (jobs, to_do) = channel();
        let (tell, found) = channel();
        let waiting = Arc::new(AtomicU64::new(0));
        let (counter, shown) = (waiting.clone(), files.clone());
        let thread = thread::spawn(move || Writer::new(folder, force, shown, counter).run(&to_do, &tell));
        let (jobs, thread, block) = (Some(jobs), Some(thread), Vec::with_capacity(BLOCK));
        Inbound { jobs, found, thread, block, waiting, files, offered: None, begun: false, saved: 0 }
    }

    fn give(&mut self, job: Job) {
        // A thread that has ended has told why.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    fn flush(&mut self) {
        if self.begun && !self.block.is_empty() {
            let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
            self.give(Job::Data(block));
        }
    }
}

impl Drop for Inbound {
    /// What has arrived is written, whatever ended the transfer.
    fn drop(&mut self) {
        self.flush();
        self.jobs = None;
        self.thread.take().map(JoinHandle::join);
    }
}

impl Sink for Inbound {
    fn on_message(&mut self, message: &[u8]) -> Result<(), Stop> {
        let unexpected = || Stop::broken("the sender says what it should not say now");
        let known = self.files.lock().unwrap_or_else(PoisonError::into_inner).len() as u32;
        let job = match ToReceiver::read(message) {
            Some(ToReceiver::Offer { size, resume, name, .. }) if self.offered.is_none() => {
                Job::Offer { size, resume, name }
            }
            Some(ToReceiver::Offered(count)) if self.offered.is_none() => {
                self.offered = Some(count);
                return Ok(());
            }
            Some(ToReceiver::Start { file, offset }) if file < known => Job::Start { file, offset },
            Some(ToReceiver::Digest { file, hash }) if file < known => Job::Digest { file, hash },
            Some(ToReceiver::Begin) => {
                self.begun = true;
                return Ok(());
            }
            _ => return Err(unexpected()),
        };
        self.give(job);
        Ok(())
    }

    fn poll_message(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        self.flush();
        match self.found.try_recv() {
            Ok(Found::Have { file, bytes, hash }) => Ok(Some(ToSender::Have { file, bytes, hash }.write())),
            Ok(Found::Saved(file)) => {
                self.saved += 1;
                Ok(Some(ToSender::Saved(file).write()))
            }
            Ok(Found::Failed(stop)) => Err(stop),
            Err(_) => Ok(None),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.waiting.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.block.extend(bytes);
        if self.block.len() >= BLOCK {
            self.flush();
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        MOST_WAITING.saturating_sub(self.waiting.load(Ordering::Relaxed))
    }

    fn is_done(&self) -> bool {
        self.offered == Some(self.saved)
    }
}
