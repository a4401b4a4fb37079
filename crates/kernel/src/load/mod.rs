//! Putting the eBPF programs into the running kernel, listing them, and taking them out again.
//!
//! A loaded scheme is a directory `/sys/fs/bpf/ackclock/NAME` with these pins: `link` registers the scheme as long as
//! it exists, whoever made it; `statistics` is what `list` reads; the load-time data is pinned under the scheme's
//! name, which tells what NAME is; `allowed` has the prefixes of `none`. Pins outlive the loader. `link` comes last,
//! so that a directory without it is what a killed loader left: it is listed, and unloading removes it.

mod attach;
mod check;
mod directory;
mod error;
mod pins;
mod prefix;

pub use check::{Requirement, check};
pub use error::LoadError;
pub use pins::{Entry, Statistics, Unloaded, list, unload};
pub use prefix::Prefix;

use crate::{NoTwin, Parameters};
use ackclock_cc::Settings;

/// Longest name that the kernel takes (TCP_CA_NAME_MAX without its final zero).
const MOST_NAME: usize = 15;

/// What to load.
pub struct Request {
    /// The name for setsockopt(TCP_CONGESTION); `ac_` and the scheme's if not given.
    pub name: Option<String>,
    /// The scheme with its parameters.
    pub settings: Settings,
    /// Destinations towards which `none` is without control.
    pub allow: Vec<Prefix>,
    /// The first window of each connection, segments; the kernel's if not given.
    pub initial_window: Option<u32>,
    /// May users without CAP_NET_ADMIN choose the scheme?
    pub everyone: bool,
}

/// Loads a scheme and leaves it registered; its name.
pub fn load(request: &Request) -> Result<String, LoadError> {
    let scheme = request.settings.scheme().name;
    load_object(request, attach::program(scheme).ok_or(NoTwin::Scheme { scheme })?)
}

/// The same with a program that was compiled elsewhere, from glue like that in `src/bpf/`.
///
/// # Panics
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
    check::privilege()?;
    check::btf()?;
    let root = pins::ready()?;
    pins::free(&root, &name)?;
    if let Err(error) = attach::attach(program, &parameters, request, &root, &name) {
        pins::remove(&root, &name);
        return Err(error);
    }
    Ok(name)
}
