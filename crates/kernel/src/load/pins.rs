//! The loaded schemes: the directories below `/sys/fs/bpf/ackclock`.

use super::directory::{Directory, Lock, is_file_system};
use super::{LoadError, cgroup, prefix};
use ackclock_sockets::Prefix;
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The mount point of the eBPF file system.
const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// The directory of our pins, in the eBPF file system.
const ROOT: &str = "ackclock";
/// The pin that keeps a scheme registered.
pub(super) const LINK: &str = "link";
/// The mark of what a run has loaded for itself: an empty directory among its pins.
const RUN: &str = "run";
/// The start of the names of those. The number of a process and another number follow.
const RUNS: &str = "ace";
/// The map of network namespaces.
pub(super) const NAMESPACES: &str = "namespaces";
/// The list of the kernel's controllers.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// `struct ac_statistics`: counters since the load, over all connections.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Statistics {
    /// Connections that started to use the scheme.
    pub opened: u64,
    /// Connections that stopped using it.
    pub closed: u64,
    /// Thresholds that the scheme has set after losses, marks and timeouts.
    pub cuts: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions because of marks (ECN), or because the host's own queue was full.
    pub marks: u64,
    /// Early responses, before a loss.
    pub early: u64,
    /// Connections that asked for it and must not use it, because of their destination or their network
    /// namespace: handed to the kernel's reno, or held.
    pub refused: u64,
    /// Those among them that could not be handed over at once, and were held to reno's window.
    pub held: u64,
}

impl Statistics {
    /// The number of connections that use the scheme now.
    pub fn sockets(&self) -> u64 {
        self.opened.saturating_sub(self.closed)
    }
}

/// A loaded scheme, or the leftover of an interrupted load.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name for setsockopt(TCP_CONGESTION).
    pub name: String,
    /// The scheme; `None` if the leftover does not tell.
    pub scheme: Option<String>,
    /// True if a socket can choose the scheme. False: it was left behind by an interrupted load.
    pub registered: bool,
    /// The counters; `None` if the leftover has none.
    pub statistics: Option<Statistics>,
    /// The destinations without congestion control.
    pub allow: Vec<Prefix>,
    /// The control group whose programs have the socket options of this entry.
    pub cgroup: Option<PathBuf>,
}

/// The result of unloading.
#[derive(Clone, Debug)]
pub struct Unloaded {
    /// The name that it had.
    pub name: String,
    /// The number of connections that keep the scheme until they close.
    pub sockets: u64,
    /// True if it was the leftover of an interrupted load.
    pub leftover: bool,
}

/// True if the eBPF file system is mounted.
pub(super) fn mounted() -> bool {
    is_file_system(FILE_SYSTEM)
}

/// The directory of our pins, if there is one, locked.
fn root(lock: Lock) -> Result<Option<Directory>, LoadError> {
    let Some(file_system) = Directory::of_file_system(FILE_SYSTEM)? else { return Ok(None) };
    let Some(root) = file_system.open(ROOT)? else { return Ok(None) };
    root.lock(lock)?;
    Ok(Some(root))
}

/// Like [`root`], for a load, but creates the directory if there is none. It stays, so that it is the same
/// for all who lock it, and nobody else can take its place. If the file system is not mounted, mounts it for
/// root only. It stays mounted, because others may use it by then.
pub(super) fn ready() -> Result<Directory, LoadError> {
    if !mounted() {
        mount("bpf", FILE_SYSTEM, "bpf", MountFlags::empty(), c"mode=0700").map_err(|error| {
            LoadError::FileSystem { path: FILE_SYSTEM.to_owned(), reason: error.to_string() }
        })?;
    }
    let root = Directory::of_file_system(FILE_SYSTEM)?
        .ok_or_else(|| LoadError::FileSystem {
            path: FILE_SYSTEM.to_owned(),
            reason: "something else is mounted there".to_owned(),
        })?
        .make(ROOT)?;
    root.lock(Lock::Alone)?;
    Ok(root)
}

/// Checks that a scheme that was loaded can be chosen.
pub(super) fn stands(root: &Directory, name: &str) -> Result<(), LoadError> {
    if root.open(name)?.is_some_and(|directory| directory.has(LINK)) && registered(name) {
        return Ok(());
    }
    let reason = "something else has removed it at once".to_owned();
    Err(LoadError::Kernel { name: name.to_owned(), what: "kept", reason })
}

/// A name that nobody uses, for a run.
pub(super) fn unused(root: &Directory) -> String {
    let process = std::process::id();
    let mut names = (0_u32..).map(|number| format!("{RUNS}{process}_{number}"));
    // Another process namespace may have a process of this number.
    names.find(|name| free(root, name).is_ok()).expect("there is always another number")
}

/// Makes a directory the run's that calls this: as long as it keeps the directory open, it lives.
pub(super) fn claim(directory: &Directory, name: &str) -> Result<(), LoadError> {
    if !directory.try_lock(Lock::Alone) {
        return Err(LoadError::Busy { path: name.to_owned() });
    }
    directory.make(RUN).map(drop)
}

/// Removes what runs have left that were killed. What users have loaded stays, whatever they called it.
///
/// # Errors
///
/// [`LoadError`] if the directory cannot be read, or belongs to another user.
pub fn remove_abandoned() -> Result<(), LoadError> {
    let Some(root) = root(Lock::Alone)? else { return Ok(()) };
    for name in root.names()? {
        let abandoned = |directory: &Directory| directory.has(RUN) && directory.try_lock(Lock::Alone);
        if root.open(&name).ok().flatten().is_some_and(|directory| abandoned(&directory)) {
            remove(&root, &name);
        }
    }
    Ok(())
}

fn registered(name: &str) -> bool {
    fs::read_to_string(AVAILABLE).is_ok_and(|names| names.split_whitespace().any(|it| it == name))
}

/// Checks that the name is free.
pub(super) fn free(root: &Directory, name: &str) -> Result<(), LoadError> {
    let name = name.to_owned();
    match (root.has(&name), registered(&name)) {
        (true, true) => Err(LoadError::Loaded { name }),
        (true, false) => Err(LoadError::Leftover { name }),
        (false, true) => Err(LoadError::Taken { name }),
        (false, false) => Ok(()),
    }
}

/// Removes all pins of a name, the link first. Best effort: what cannot be removed stays visible in `list`.
/// An entry that is not a directory is removed, never followed.
pub(super) fn remove(root: &Directory, name: &str) {
    if let Ok(Some(directory)) = root.open(name) {
        directory.remove(LINK);
        directory.names().unwrap_or_default().iter().for_each(|pin| directory.remove(pin));
    }
    root.remove(name);
}

/// All loaded schemes, and the leftovers of interrupted loads.
///
/// # Errors
///
/// [`LoadError`] if the directory cannot be read, or belongs to another user.
pub fn list() -> Result<Vec<Entry>, LoadError> {
    let root = root(Lock::Shared).map_err(|error| match error {
        LoadError::Unreadable { .. } => super::privilege::privilege().err().unwrap_or(error),
        other => other,
    })?;
    root.map_or(Ok(Vec::new()), |root| entries(&root))
}

fn entries(root: &Directory) -> Result<Vec<Entry>, LoadError> {
    let names = root.names()?;
    let mut entries = names.iter().map(|name| entry(root, name)).collect::<Result<Vec<_>, _>>()?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn entry(root: &Directory, name: &str) -> Result<Entry, LoadError> {
    // An entry that is not a directory of ours is a leftover. Nothing more is known about it.
    let directory = root.open(name).ok().flatten();
    let Some(directory) = directory else {
        let nothing = Entry {
            name: name.to_owned(),
            scheme: None,
            registered: false,
            statistics: None,
            allow: Vec::new(),
            cgroup: None,
        };
        return Ok(nothing);
    };
    let scheme = crate::names().into_iter().find(|scheme| directory.has(scheme));
    let statistics = match MapHandle::from_pinned_path(directory.pin("statistics")) {
        Ok(map) => statistics(&map),
        Err(_) => {
            super::privilege::privilege()?;
            None
        }
    };
    let allowed = MapHandle::from_pinned_path(directory.pin("allowed")).ok();
    let allow = allowed.iter().flat_map(|map| map.keys().filter_map(|key| prefix::from_key(&key)));
    Ok(Entry {
        name: name.to_owned(),
        scheme: scheme.map(str::to_owned),
        registered: directory.has(LINK) && registered(name),
        statistics,
        allow: allow.collect(),
        cgroup: cgroup::path_of(&directory),
    })
}

/// Checks that no socket options reach into this control group: neither its own, nor those of a group above
/// it. And none of a group below it, which would have them twice.
pub(super) fn reached(root: &Directory, path: &Path) -> Result<(), LoadError> {
    let there = entries(root)?.into_iter().filter_map(|entry| Some((entry.name, entry.cgroup?)));
    match there.into_iter().find(|(_, other)| path.starts_with(other) || other.starts_with(path)) {
        Some((name, other)) => Err(LoadError::Reached { name, path: other.display().to_string() }),
        None => Ok(()),
    }
}

fn statistics(map: &MapHandle) -> Option<Statistics> {
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    bytemuck::try_pod_read_unaligned(&value).ok()
}

/// Lets connections of these network namespaces, by their cookies, use a scheme that is
/// [confined](super::Request::confined).
///
/// # Errors
/// If nothing of that name is loaded, or the kernel takes no more of them.
pub fn admit(name: &str, cookies: &[u64]) -> Result<(), LoadError> {
    let failed = |reason: String| LoadError::Kernel {
        name: name.to_owned(),
        what: "told of the hosts that may use it",
        reason,
    };
    let Some(directory) = root(Lock::Shared)?.map(|root| root.open(name)).transpose()?.flatten() else {
        return Err(failed("it is no longer loaded".to_owned()));
    };
    let map =
        MapHandle::from_pinned_path(directory.pin(NAMESPACES)).map_err(|error| failed(error.to_string()))?;
    for cookie in cookies {
        map.update(&cookie.to_ne_bytes(), &1u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| failed(error.to_string()))?;
    }
    Ok(())
}

/// Unloads a scheme, by its name or, if nothing has that name, by that of a scheme that was loaded without
/// one. Connections that use it keep it until they close. New connections cannot choose it.
///
/// # Errors
///
/// [`LoadError`] if nothing of that name is loaded, the process lacks the capabilities, or the kernel does
/// not release the name.
pub fn unload(name: &str) -> Result<Unloaded, LoadError> {
    super::privilege::privilege()?;
    let root = root(Lock::Alone)?;
    let known = root.as_ref().map_or(Ok(Vec::new()), entries)?;
    let (by_default, called) =
        (super::default_name(name), |name: &str| known.iter().find(|it| it.name == name));
    let (Some(root), Some(entry)) = (root, called(name).or_else(|| called(&by_default))) else {
        let names: Vec<&str> = known.iter().map(|entry| entry.name.as_str()).collect();
        let loaded = if names.is_empty() {
            "nothing is loaded".to_owned()
        } else {
            format!("loaded are {}", names.join(", "))
        };
        return Err(LoadError::Unknown { name: name.to_owned(), loaded });
    };
    let name = entry.name.clone();
    remove(&root, &name);
    // The kernel releases the link a moment after its pin is removed.
    for _ in 0..200 {
        if !registered(&name) {
            let sockets = entry.statistics.map_or(0, |statistics| statistics.sockets());
            return Ok(Unloaded { name, sockets, leftover: !entry.registered });
        }
        sleep(Duration::from_millis(10));
    }
    Err(LoadError::Held { name })
}
