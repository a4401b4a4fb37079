//! What is loaded: the directories below `/sys/fs/bpf/ackclock`.

use super::{LoadError, Prefix};
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Where the eBPF file system belongs.
const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// Its magic number (BPF_FS_MAGIC).
const MAGIC: u32 = 0xcafe_4a11;
/// Our part of it.
const ROOT: &str = "/sys/fs/bpf/ackclock";
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

fn directory(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

/// Is the eBPF file system where it belongs?
pub(super) fn mounted() -> bool {
    statfs(FILE_SYSTEM).is_ok_and(|stat| stat.f_type as u32 == MAGIC)
}

/// Mounts the eBPF file system if nobody has. It stays mounted: others may have begun to use it.
pub(super) fn ready_file_system() -> Result<(), LoadError> {
    if mounted() {
        return Ok(());
    }
    mount("bpf", FILE_SYSTEM, "bpf", MountFlags::empty(), None)
        .map_err(|error| LoadError::FileSystem { path: FILE_SYSTEM.to_owned(), reason: error.to_string() })
}

fn registered(name: &str) -> bool {
    fs::read_to_string(AVAILABLE).is_ok_and(|names| names.split_whitespace().any(|it| it == name))
}

/// Is the name free?
pub(super) fn free(name: &str) -> Result<(), LoadError> {
    let name = name.to_owned();
    match (directory(&name).exists(), registered(&name)) {
        (true, true) => Err(LoadError::Loaded { name }),
        (true, false) => Err(LoadError::Leftover { name }),
        (false, true) => Err(LoadError::Taken { name }),
        (false, false) => Ok(()),
    }
}

pub(super) fn make_directory(name: &str) -> Result<PathBuf, LoadError> {
    let directory = directory(name);
    fs::create_dir_all(&directory).map_err(|error| LoadError::Kernel {
        name: name.to_owned(),
        what: "pinned",
        reason: error.to_string(),
    })?;
    Ok(directory)
}

/// Removes all pins of a name, the link first, and our directory with the last one. Best effort: what cannot be
/// removed stays visible in `list`.
pub(super) fn remove_directory(name: &str) {
    let directory = directory(name);
    let _ = fs::remove_file(directory.join(LINK));
    for pin in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let _ = fs::remove_file(pin.path());
    }
    let _ = fs::remove_dir(&directory);
    let _ = fs::remove_dir(ROOT); // unless others are there
}

/// Everything that is loaded, and leftovers.
pub fn list() -> Result<Vec<Entry>, LoadError> {
    let mut entries = Vec::new();
    let directories = match fs::read_dir(ROOT) {
        Ok(directories) => directories,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(entries),
        Err(_) => return Err(super::check::privilege().err().unwrap_or_else(unreadable)),
    };
    for directory in directories.flatten() {
        entries.push(entry(&directory.file_name().to_string_lossy())?);
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn unreadable() -> LoadError {
    LoadError::FileSystem { path: ROOT.to_owned(), reason: "it cannot be read".to_owned() }
}

fn entry(name: &str) -> Result<Entry, LoadError> {
    let directory = directory(name);
    let scheme = crate::schemes().iter().find(|scheme| directory.join(scheme).exists());
    let statistics = match MapHandle::from_pinned_path(directory.join("statistics")) {
        Ok(map) => statistics(&map),
        Err(_) => {
            super::check::privilege()?;
            None
        }
    };
    let allowed = MapHandle::from_pinned_path(directory.join("allowed")).ok();
    let allow = allowed.iter().flat_map(|map| map.keys().filter_map(|key| Prefix::from_key(&key)));
    Ok(Entry {
        name: name.to_owned(),
        scheme: scheme.map(|&scheme| scheme.to_owned()),
        registered: directory.join(LINK).exists() && registered(name),
        statistics,
        allow: allow.collect(),
    })
}

fn statistics(map: &MapHandle) -> Option<Statistics> {
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    bytemuck::try_pod_read_unaligned(&value).ok()
}

/// Takes a scheme out of the kernel. Connections that use it keep it until they close; new ones cannot choose it.
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
    remove_directory(name);
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
