//! The transfer of files: [`Outbound`] sends them, [`Inbound`] stores them.
//!
//! ```text
//! sender                        receiver
//! offer FILE size ...           refuses, or says how much of it is there, with the SHA-256 of that
//! start FILE at ...             (0, or there, if the hash is that of the sender's file)
//! begin, and the data           writes them to FILE.ackclock.part
//! digest FILE                   compares, writes through to the disk, renames, and says that it is saved
//! ```
//!
//! The data are the remaining bytes of all files, one after the other. Whatever ends a transfer before its
//! end, the part that has arrived stays, and is verified before it is used again.

mod inbound;
mod message;
mod name;
mod outbound;
mod writer;

pub use inbound::Inbound;
pub use name::{WrongName, check_name};
pub use outbound::{Outbound, SendError, Sent};
pub use writer::Stored;

/// Files of one transfer.
pub const MAX_FILES: usize = 10_000;

/// What an unfinished file is called: its name, and this.
pub const PART: &str = ".ackclock.part";
