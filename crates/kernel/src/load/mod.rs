//! Loads the eBPF programs into the running kernel, lists them, and unloads them.
//!
//! A loaded scheme is a directory `/sys/fs/bpf/ackclock/NAME` with these pins. `link` keeps the scheme
//! registered as long as it exists. `statistics` holds the counters that `list` reads. The load-time data is
//! pinned under the name of the scheme, which tells what NAME is. `allowed` holds the prefixes of `none`,
//! and `namespaces` the cookies of the network namespaces that a confined scheme is for.
//! Pins outlive the loader. `link` is made last. So a directory without it was left behind by a loader that
//! was killed: `list` shows it, and `unload` removes it.

mod attach;
mod check;
mod directory;
mod error;
mod pins;
mod prefix;
mod privilege;

pub use check::{Requirement, check};
pub use error::LoadError;
pub use pins::{Entry, Statistics, Unloaded, admit, list, unload};
pub use prefix::Prefix;

use crate::{NoTwin, Parameters};
use ackclock_cc::Settings;

/// The longest name that the kernel accepts (TCP_CA_NAME_MAX without the final zero).
const MOST_NAME: usize = 15;

/// A request to load a scheme.
pub struct Request {
    /// The name for setsockopt(TCP_CONGESTION). `None`: `ac_` and the name of the scheme.
    pub name: Option<String>,
    /// The scheme with its parameters.
    pub settings: Settings,
    /// The destinations for which `none` runs without congestion control.
    pub allow: Vec<Prefix>,
    /// The initial window of each connection, segments. `None`: the kernel's.
    pub initial_window: Option<u32>,
    /// True if users without CAP_NET_ADMIN may choose the scheme.
    pub everyone: bool,
    /// Only connections of the network namespaces that [`admit`] has named use the scheme; others get the
    /// kernel's reno.
    pub confined: bool,
}

/// Loads a scheme and leaves it registered. Returns its name.
///
/// # Errors
///
/// [`LoadError`] if the settings have no eBPF program, the name is taken or invalid, or the process or the
/// kernel does not meet the requirements that [`check`] lists.
pub fn load(request: &Request) -> Result<String, LoadError> {
    let scheme = request.settings.scheme().name;
    load_object(request, attach::program(scheme).ok_or(NoTwin::Scheme { scheme })?)
}

/// Like [`load`], with a program that was compiled elsewhere, from glue like that in `src/bpf/`.
///
/// # Errors
///
/// As [`load`].
///
/// # Panics
///
/// If the object file lacks the data that `src/bpf/host.h` declares.
pub fn load_object(request: &Request, program: &'static [u8]) -> Result<String, LoadError> {
    let name = request.name.clone().unwrap_or_else(|| format!("ac_{}", request.settings.scheme().name));
    let fits = name.len() <= MOST_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte));
    if !fits {
        return Err(LoadError::Name { name });
    }
    let parameters = Parameters::new(&request.settings)?;
    privilege::privilege()?;
    check::btf()?;
    let root = pins::ready()?;
    pins::free(&root, &name)?;
    if let Err(error) = attach::attach(program, &parameters, request, &root, &name) {
        pins::remove(&root, &name);
        return Err(error);
    }
    Ok(name)
}
