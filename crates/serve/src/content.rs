//! Pieces of a file, read without making the server's threads wait for a disk.

use hyper::body::Bytes;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, ErrorKind, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::{JoinHandle, spawn_blocking};

/// The bytes that are read at once, and so what a slow client makes the server keep.
pub(crate) const PIECE: u64 = 64 << 10;

/// A part of a file.
pub(crate) struct Content {
    file: Arc<File>,
    at: u64,
    end: u64,
    /// A piece that a disk is being asked for.
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Content {
    /// The bytes from `from` up to `end`.
    pub(crate) fn new(file: File, from: u64, end: u64) -> Content {
        Content { file: Arc::new(file), at: from, end, reading: None }
    }

    /// The bytes that are left.
    pub(crate) fn left(&self) -> u64 {
        self.end - self.at
    }

    /// The next piece, of at most `most` bytes. Something must be left.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>, most: u64) -> Poll<io::Result<Bytes>> {
        let wanted = most.min(PIECE).min(self.left()) as usize;
        let piece = match &mut self.reading {
            None => match at_once(&self.file, self.at, wanted)? {
                Some(piece) => piece,
                None => {
                    let (file, at) = (self.file.clone(), self.at);
                    self.reading = Some(spawn_blocking(move || read(&file, at, wanted)));
                    return self.poll_piece(context, most);
                }
            },
            Some(reading) => {
                let piece = ready!(Pin::new(reading).poll(context));
                self.reading = None;
                piece.map_err(io::Error::other)??
            }
        };
        if piece.is_empty() {
            // The file has become shorter than the response that was promised.
            return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
        }
        self.at += piece.len() as u64;
        Poll::Ready(Ok(piece.into()))
    }
}

/// What is in memory. `None`: a disk must be asked.
fn at_once(file: &File, at: u64, wanted: usize) -> io::Result<Option<Vec<u8>>> {
    let mut piece = vec![0; wanted];
    match preadv2(file, &mut [IoSliceMut::new(&mut piece)], at, ReadWriteFlags::NOWAIT) {
        // None of it may also mean that the file ends here. The disk knows.
        Ok(0) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR) => Ok(None),
        Ok(bytes) => {
            piece.truncate(bytes);
            Ok(Some(piece))
        }
        Err(error) => Err(error.into()),
    }
}

fn read(file: &File, at: u64, wanted: usize) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; wanted];
    let bytes = loop {
        match file.read_at(&mut piece, at) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    piece.truncate(bytes);
    Ok(piece)
}
