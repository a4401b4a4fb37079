//! What a host asks for bytes, and gives bytes to.

use crate::channel::Why;

/// Why a transfer cannot go on, as the other end is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The kind of reason.
    pub why: Why,
    /// In words, for both users.
    pub words: String,
}

impl Stop {
    /// It cannot go on.
    pub fn failed(words: impl Into<String>) -> Stop {
        Stop { why: Why::Failed, words: words.into() }
    }

    /// The other end broke the protocol.
    pub fn broken(words: impl Into<String>) -> Stop {
        Stop { why: Why::Broken, words: words.into() }
    }
}

/// How much there is to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// So many bytes.
    Bytes(u64),
    /// No end: until somebody stops it.
    Endless,
}

/// What is sent. A host calls it from one thread.
pub trait Source {
    /// A message of the receiver.
    ///
    /// # Errors
    ///
    /// If the transfer cannot go on.
    fn on_message(&mut self, message: &[u8]) -> Result<(), Stop> {
        let _ = message;
        Ok(())
    }

    /// The next message to the receiver, if there is one now.
    ///
    /// # Errors
    ///
    /// If the transfer cannot go on.
    fn poll_message(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        Ok(None)
    }

    /// How much there is to send. `None` as long as that is not agreed.
    fn extent(&self) -> Option<Extent>;

    /// Reads bytes, some of them again. `offset + into.len()` is within the extent.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Stop>;

    /// True if all is done, once all bytes are acknowledged.
    fn is_done(&self) -> bool {
        true
    }
}

/// Where what is received goes. A host calls it from one thread.
pub trait Sink {
    /// A message of the sender.
    ///
    /// # Errors
    ///
    /// If the transfer cannot go on.
    fn on_message(&mut self, message: &[u8]) -> Result<(), Stop> {
        let _ = message;
        Ok(())
    }

    /// The next message to the sender, if there is one now.
    ///
    /// # Errors
    ///
    /// If the transfer cannot go on.
    fn poll_message(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        Ok(None)
    }

    /// The next bytes, in order.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop>;

    /// How many more bytes it takes now. The sender stops where there is no room.
    fn room(&self) -> u64;

    /// True if all is done.
    fn is_done(&self) -> bool;
}

/// Zeros, for flows that only load a path.
#[derive(Clone, Copy, Debug)]
pub struct Zeros(pub Extent);

impl Source for Zeros {
    fn extent(&self) -> Option<Extent> {
        Some(self.0)
    }

    fn read(&mut self, _: u64, into: &mut [u8]) -> Result<(), Stop> {
        into.fill(0);
        Ok(())
    }
}

/// Forgets what it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard {
    /// Bytes that it got.
    pub bytes: u64,
}

/// Room of a sink that is never full.
const AMPLE: u64 = 64 << 20;

impl Sink for Discard {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn room(&self) -> u64 {
        AMPLE
    }

    fn is_done(&self) -> bool {
        false // its sender closes
    }
}
