//! Loads the eBPF programs into the running kernel, lists them, and unloads them.
//!
//! A loaded scheme is a directory `/sys/fs/bpf/ackclock/NAME` with these pins. `link` keeps the scheme
//! registered as long as it exists. `statistics` holds the counters that `list` reads. The load-time data is
//! pinned under the name of the scheme, which tells what NAME is. `allowed` holds the prefixes that a scheme
//! may serve, if not all, and `namespaces` the cookies of the network namespaces that a confined scheme is
//! for. With socket options for a control group there are also their programs' links, and what both programs
//! share. Pins outlive the loader. `link` is made last. So a directory without it was left behind by a loader
//! that was killed: `list` shows it, and `unload` removes it.

mod attach;
mod cgroup;
mod check;
mod directory;
mod error;
mod pins;
mod prefix;
mod privilege;

pub use check::{Requirement, check};
pub use error::LoadError;
pub use pins::{Entry, Statistics, Unloaded, admit, list, remove_abandoned, unload};

use crate::{NoTwin, Parameters, Program, program};
use ackclock_cc::Settings;
use ackclock_sockets::Prefix;
use cgroup::Cgroup;
use directory::Directory;
use std::path::PathBuf;

/// The longest name that the kernel accepts (TCP_CA_NAME_MAX without the final zero).
const MAX_NAME: usize = 15;

/// A request to load a scheme.
pub struct Request {
    /// The name for setsockopt(TCP_CONGESTION). `None`: `ac_` and the name of the scheme.
    pub name: Option<String>,
    /// The scheme with its parameters.
    pub settings: Settings,
    /// The destinations that a program with [`Reach::Allowed`](crate::Reach::Allowed) serves.
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
    load_object(request, object(&request.settings)?)
}

/// The object file of the scheme.
fn object(settings: &Settings) -> Result<&'static [u8], NoTwin> {
    let scheme = settings.scheme().name;
    program(scheme).map(|Program { object, .. }| *object).ok_or(NoTwin::Scheme { scheme })
}

/// Like [`load`], for the calling process only, under a name of its own choosing. What is loaded so is
/// recognised when the process has ended without unloading it: see [`remove_abandoned`].
///
/// # Errors
///
/// As [`load`].
pub fn load_for_run(request: &Request) -> Result<OfRun, LoadError> {
    let program = object(&request.settings)?;
    let root = ready()?;
    let name = pins::unused(&root);
    let directory = put(request, program, &root, &name, &|directory| pins::claim(directory, &name))?;
    Ok(OfRun { name, _directory: directory })
}

/// What a run has loaded for itself. Whoever drops this unloads it before, or leaves it to the next run.
pub struct OfRun {
    name: String,
    /// Locked as long as the run lives.
    _directory: Directory,
}

impl OfRun {
    /// The name for setsockopt(TCP_CONGESTION).
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A request for the socket options of the thesis: see [`load_options`].
#[derive(Clone, Debug)]
pub struct OptionsRequest {
    /// The name of the controller without control, for `list` and `unload`. `None`: `ac_options`.
    pub name: Option<String>,
    /// The directory of a control group of version 2. Sockets that are made in it, or in a group below it,
    /// have the options.
    pub cgroup: PathBuf,
    /// The destinations towards which they may be set.
    pub allow: Vec<Prefix>,
}

/// The name of what is loaded for socket options without a name.
const OPTIONS: &str = "ac_options";

/// Gives the programs of a control group the socket options TCP_NO_CONGESTION (0x5301), TCP_SET_CWND
/// (0x5302) and TCP_TOTAL_REXMITS (0x5303), towards the allowed destinations. Loads a controller without
/// control, which they switch to. Returns its name. It all stays until it is [unloaded](unload).
///
/// # Errors
///
/// As [`load`]; and [`LoadError::NoCgroup`] if the path is no control group of version 2,
/// [`LoadError::Reached`] if its programs have the options already.
pub fn load_options(request: &OptionsRequest) -> Result<String, LoadError> {
    let name = request.name.clone().unwrap_or_else(|| OPTIONS.to_owned());
    check_name(&name)?;
    let program = program("none").expect("none has a program");
    let controller = Request {
        name: Some(name.clone()),
        settings: Settings::defaults(program.scheme()),
        allow: request.allow.clone(),
        initial_window: None,
        everyone: false,
        confined: false,
    };
    let cgroup = Cgroup::open(&request.cgroup)?;
    let root = ready()?;
    pins::free(&root, &name)?;
    pins::reached(&root, cgroup.path())?;
    put(&controller, program.object, &root, &name, &|directory| cgroup.attach(&name, directory))?;
    Ok(name)
}

/// The name of a scheme that is loaded without one.
fn default_name(scheme: &str) -> String {
    format!("ac_{scheme}")
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
    let name = request.name.clone().unwrap_or_else(|| default_name(request.settings.scheme().name));
    check_name(&name)?;
    // Before anything is asked of the kernel.
    Parameters::new(&request.settings)?;
    let root = ready()?;
    pins::free(&root, &name)?;
    put(request, program, &root, &name, &|_| Ok(()))?;
    Ok(name)
}

/// Checks that the kernel takes the name, and that it is one component of a path.
fn check_name(name: &str) -> Result<(), LoadError> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    if begins && name.len() <= MAX_NAME && name.bytes().all(letter) {
        Ok(())
    } else {
        Err(LoadError::Name { name: name.to_owned() })
    }
}

/// The directory of our pins, for a process that may load. It is locked: one load or unload at a time.
fn ready() -> Result<Directory, LoadError> {
    privilege::privilege()?;
    check::btf()?;
    pins::ready()
}

/// Loads a program under a name that is free, and leaves nothing if it cannot be done. `before` is called
/// with its pins, before it is registered.
fn put(
    request: &Request,
    program: &'static [u8],
    root: &Directory,
    name: &str,
    before: &dyn Fn(&Directory) -> Result<(), LoadError>,
) -> Result<Directory, LoadError> {
    let parameters = Parameters::new(&request.settings)?;
    let attached = attach::attach(program, &parameters, request, (root, name), before);
    let stands = attached.and_then(|directory| pins::stands(root, name).map(|()| directory));
    stands.inspect_err(|_| pins::remove(root, name))
}
