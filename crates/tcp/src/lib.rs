//! A TCP endpoint without I/O: it receives packets and the time, and tells what to send and when to wake it.
//!
//! Everything is counted in segments (`u64`, from 0). A host that carries real bytes maps segments to byte
//! ranges; a simulator does not need to. Two questions are separate: when a hole is a loss ([`detection`]),
//! and who controls the window while it is repaired ([`recovery::Recovery`]). Otherwise the congestion
//! controller decides how much may be in flight ([`ackclock_cc::Controller`]).

#[cfg(test)]
mod complexity;
mod config;
pub mod detection;
mod packet;
mod reassembly;
mod receiver;
pub mod recovery;
mod rtt;
mod scoreboard;
mod sender;

pub use config::{Config, Counting, PacedRtt, Pacing, Undo};
pub use packet::{Ack, Data, Flags, SackBlock};
pub use reassembly::Reassembly;
pub use receiver::Receiver;
pub use rtt::{RtoLaw, RttEstimator};
pub use scoreboard::Scoreboard;
pub use sender::{Counters, Marks, Sender, State};
