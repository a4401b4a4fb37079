//! Real time: the path of a scenario between hosts of the running Linux kernel.
//!
//! Every host is a network namespace with a TUN device. The emulator reads what a host sends from its device,
//! and carries it over the links of the scenario with the same code as the simulator ([`ackclock_net`]). It
//! writes each packet to the device of its destination when it is due there. So the kernel needs neither
//! netem nor a particular queueing discipline, and any unmodified program can use the path.
//!
//! Nothing has a name outside this process, and nothing outlives it: see [`emulate`].

mod asking;
mod capture;
mod clock;
mod crossings;
mod error;
mod fidelity;
mod flow;
mod host;
mod lanes;
mod lateness;
mod layout;
mod looks;
mod own;
mod paced;
pub mod privilege;
mod processes;
mod program;
mod run;
mod running;
mod sample;
mod schedule;
mod shard;
mod share;
mod trains;
mod window;
mod writer;

pub use error::LiveError;
pub use fidelity::Fidelity;
pub use lateness::Distribution;
pub use layout::MAX_FLOWS;
pub use program::Program;
pub use run::{Load, Outcome, Request, check, emulate};
