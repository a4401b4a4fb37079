//! The rate-based transports of [`ackclock_rate`] over UDP, encrypted, and the transfer of files with them.
//!
//! From the inside out: [`wire`] is the form of packets. [`handshake`] and [`channel`] make a session of
//! them, through [`noise`]; [`sending`] and [`receiving`] put a transport into a session, on [terms](control)
//! that the sender chooses, with packets as large as [`probing`] finds, and within the limits of a
//! [`governor`]. None of these has a clock, I/O or random numbers of its own. [`host`] carries their packets
//! over a socket, in real time. It asks a [`stream`] for bytes, or gives bytes to one; [`files`] has those of
//! files.

pub mod channel;
pub mod control;
pub mod files;
pub mod governor;
pub mod handshake;
pub mod host;
pub mod mailbox;
pub mod noise;
pub mod probing;
pub mod receiving;
pub mod replay;
pub mod sending;
pub mod stream;
pub mod ticket;
pub mod wire;
