//! Controllers in the running Linux kernel.
//!
//! Each scheme is a C file under `src/bpf/`: thin glue over step functions in a header. The header is the
//! twin of the engine's Rust controller, in fixed point. [`programs()`] lists the schemes.
//!
//! The feature `twin` adds a module of that name. It compiles the same functions natively, behind the
//! [`Controller`](ackclock_cc::Controller) trait, so that tests can drive both with the same events and
//! compare them. The feature `load` adds a module of that name. It loads the eBPF programs into the kernel,
//! lists them and unloads them.

#[cfg(feature = "load")]
pub mod load;
pub mod parameters;
mod programs;
#[cfg(feature = "twin")]
pub mod twin;

pub use parameters::{NoTwin, Parameters};
pub use programs::{Program, Reach, names, program, programs};
