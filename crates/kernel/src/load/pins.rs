//! What is loaded: the directories below `/sys/fs/bpf/ackclock`.

use super::directory::{Directory, is_file_system};
use super::{LoadError, Prefix};
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Where the eBPF file system belongs.
const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// Our part of it.
const ROOT: &str = "ackclock";
/// The pin that keeps a scheme registered.
pub(super) const LINK: &str = "link";
/// The kernel's controllers.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// `struct ac_statistics`: counted since the load, over all connections.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Statistics {
    /// Connections that took up the scheme.
    pub opened: u64,
    /// And that gave it up.
    pub closed: u64,
    /// Thresholds that the scheme set after losses, marks and timeouts.
    pub cuts: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions because of marks (ECN), or because the host's own queue was full.
    pub marks: u64,
    /// Responses before a loss.
    pub early: u64,
    /// Others that asked for it and were handed to reno, their destination not being allowed.
    pub refused: u64,
}

impl Statistics {
    /// Connections that use the scheme now.
    pub fn sockets(&self) -> u64 {
        self.opened.saturating_sub(self.closed)
    }
}

/// A loaded scheme, or what is left of one.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name for setsockopt(TCP_CONGESTION).
    pub name: String,
    /// The scheme, if the leftover tells.
    pub scheme: Option<String>,
    /// Can a socket choose it? If not, it is left over from a load that was interrupted.
    pub registered: bool,
    /// What it has done, if the leftover tells.
    pub statistics: Option<Statistics>,
    /// Destinations without control.
    pub allow: Vec<Prefix>,
}

/// What unloading found.
#[derive(Clone, Copy, Debug)]
pub struct Unloaded {
    /// Connections that keep the scheme until they close.
    pub sockets: u64,
    /// Was it a leftover?
    pub leftover: bool,
}

/// Is the eBPF file system where it belongs?
pub(super) fn mounted() -> bool {
    is_file_system(FILE_SYSTEM)
}

/// Our part of the eBPF file system, if there is one.
fn root() -> Result<Option<Directory>, LoadError> {
    Directory::of_file_system(FILE_SYSTEM)?.map_or(Ok(None), |it| it.open(ROOT))
}

/// The same, made where it is not. If nobody has mounted the file system, this does, for root alone, and it stays
/// mounted: others may have begun to use it.
pub(super) fn ready() -> Result<Directory, LoadError> {
    if !mounted() {
        mount("bpf", FILE_SYSTEM, "bpf", MountFlags::empty(), c"mode=0700").map_err(|error| {
            LoadError::FileSystem { path: FILE_SYSTEM.to_owned(), reason: error.to_string() }
        })?;
    }
    Directory::of_file_system(FILE_SYSTEM)?
        .ok_or_else(|| LoadError::FileSystem {
            path: FILE_SYSTEM.to_owned(),
            reason: "something else is mounted there".to_owned(),
        })?
        .make(ROOT)
}

fn registered(name: &str) -> bool {
    fs::read_to_string(AVAILABLE).is_ok_and(|names| names.split_whitespace().any(|it| it == name))
}

/// Is the name free?
pub(super) fn free(root: &Directory, name: &str) -> Result<(), LoadError> {
    let name = name.to_owned();
    match (root.has(&name), registered(&name)) {
        (true, true) => Err(LoadError::Loaded { name }),
        (true, false) => Err(LoadError::Leftover { name }),
        (false, true) => Err(LoadError::Taken { name }),
        (false, false) => Ok(()),
    }
}

/// Removes all pins of a name, the link first, and our directory with the last one. Best effort: what cannot be
/// removed stays visible in `list`. What is there in the place of a directory is removed, never followed.
pub(super) fn remove(root: &Directory, name: &str) {
    if let Ok(Some(directory)) = root.open(name) {
        directory.remove(LINK);
        directory.names().unwrap_or_default().iter().for_each(|pin| directory.remove(pin));
    }
    root.remove(name);
    if let Ok(Some(file_system)) = Directory::of_file_system(FILE_SYSTEM) {
        file_system.remove(ROOT); // unless others are there
    }
}

/// Everything that is loaded, and leftovers.
///
/// # Errors
/// If the directory cannot be read, or is somebody else's.
pub fn list() -> Result<Vec<Entry>, LoadError> {
    let root = root().map_err(|error| match error {
        LoadError::Unreadable { .. } => super::check::privilege().err().unwrap_or(error),
        other => other,
    })?;
    let Some(root) = root else { return Ok(Vec::new()) };
    let names = root.names()?;
    let mut entries = names.iter().map(|name| entry(&root, name)).collect::<Result<Vec<_>, _>>()?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn entry(root: &Directory, name: &str) -> Result<Entry, LoadError> {
    // What is no directory of ours is a leftover of which nothing more is known.
    let directory = root.open(name).ok().flatten();
    let Some(directory) = directory else {
        let nothing = Entry {
            name: name.to_owned(),
            scheme: None,
            registered: false,
            statistics: None,
            allow: Vec::new(),
        };
        return Ok(nothing);
    };
    let scheme = crate::schemes().iter().find(|scheme| directory.has(scheme));
    let statistics = match MapHandle::from_pinned_path(directory.pin("statistics")) {
        Ok(map) => statistics(&map),
        Err(_) => {
            super::check::privilege()?;
            None
        }
    };
    let allowed = MapHandle::from_pinned_path(directory.pin("allowed")).ok();
    let allow = allowed.iter().flat_map(|map| map.keys().filter_map(|key| Prefix::from_key(&key)));
    Ok(Entry {
        name: name.to_owned(),
        scheme: scheme.map(|&scheme| scheme.to_owned()),
        registered: directory.has(LINK) && registered(name),
        statistics,
        allow: allow.collect(),
    })
}

fn statistics(map: &MapHandle) -> Option<Statistics> {
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    bytemuck::try_pod_read_unaligned(&value).ok()
}

/// Takes a scheme out of the kernel. Connections that use it keep it until they close; new ones cannot choose it.
///
/// # Errors
/// If nothing of that name is loaded, or the kernel keeps it.
pub fn unload(name: &str) -> Result<Unloaded, LoadError> {
    super::check::privilege()?;
    let known = list()?;
    let Some(entry) = known.iter().find(|entry| entry.name == name) else {
        let names: Vec<&str> = known.iter().map(|entry| entry.name.as_str()).collect();
        let loaded = if names.is_empty() {
            "nothing is loaded".to_owned()
        } else {
            format!("loaded are {}", names.join(", "))
        };
        return Err(LoadError::Unknown { name: name.to_owned(), loaded });
    };
    if let Some(root) = root()? {
        remove(&root, name);
    }
    // The kernel drops the link a moment after its pin has gone.
    for _ in 0..200 {
        if !registered(name) {
            let sockets = entry.statistics.map_or(0, |statistics| statistics.sockets());
            return Ok(Unloaded { sockets, leftover: !entry.registered });
        }
        sleep(Duration::from_millis(10));
    }
    Err(LoadError::Held { name: name.to_owned() })
}
