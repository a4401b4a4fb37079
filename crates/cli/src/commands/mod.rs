//! One file or folder for each command: what it does with the other crates, and what it says.

#[cfg(feature = "monitor")]
pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod docs;
pub(crate) mod emulate;
#[cfg(feature = "agent")]
pub(crate) mod generate;
pub(crate) mod kernel;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod list;
#[cfg(feature = "monitor")]
pub(crate) mod monitor;
pub(crate) mod predict;
pub(crate) mod proxy;
pub(crate) mod reproduce;
pub(crate) mod run;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod trace;
pub(crate) mod transfer;
