//! Controllers in the running Linux kernel.
//!
//! Each scheme is a C file under `src/bpf/`: thin glue over step functions in a header. The header is the twin of
//! the engine's Rust controller, in fixed point. [`twin`] has the same functions compiled natively, behind the
//! engine's own seam, so that both can be driven by the same events and compared. With the feature of its name
//! `load` puts the eBPF programs into the kernel, lists them and takes them out again.

#[cfg(feature = "load")]
pub mod load;
pub mod parameters;
pub mod twin;

pub use parameters::{NoTwin, Parameters, schemes};
