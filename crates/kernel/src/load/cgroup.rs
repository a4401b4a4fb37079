//! The socket options for the programs of a control group: from the object file to attached, pinned programs.

use super::directory::Directory;
use super::{LoadError, MAX_NAME, attach};
use libbpf_rs::{MapCore, MapFlags, MapHandle, OpenObject};
use rustix::fs::{CWD, Mode, OFlags, fstatfs, openat};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The object file of `src/bpf/cgroup/options.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/options.bpf.o"));
/// What messages call it.
const WHAT: &str = "the socket options";
/// Magic number of the file system of control groups of version 2 (CGROUP2_SUPER_MAGIC).
const MAGIC: u32 = 0x6367_7270;
/// The longest path that the program's data have room for, bytes, without the final zero.
const MAX_PATH: usize = 4095;
/// The pin of the program's data.
const PLACE: &str = "place";
/// The maps that it shares with the controller, which has pinned them under the same names.
const SHARED: [&str; 2] = ["allowed", "asked"];
/// The programs, and the pins of their links.
const PROGRAMS: [(&str, &str); 2] = [("ac_set_option", "set"), ("ac_get_option", "get")];

/// An open control group.
pub(super) struct Cgroup {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Cgroup {
    /// Opens the directory of a control group.
    ///
    /// # Errors
    ///
    /// [`LoadError::NoCgroup`] if it is none of version 2.
    pub(super) fn open(path: &Path) -> Result<Cgroup, LoadError> {
        let none = |reason: String| LoadError::NoCgroup { path: path.display().to_string(), reason };
        let whole = path.canonicalize().map_err(|error| none(error.to_string()))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor =
            openat(CWD, &whole, flags, Mode::empty()).map_err(|error| none(error.to_string()))?;
        let stat = fstatfs(&descriptor).map_err(|error| none(error.to_string()))?;
        if stat.f_type as u32 != MAGIC {
            return Err(none("it is on another file system".to_owned()));
        }
        if whole.as_os_str().len() > MAX_PATH {
            return Err(none(format!("its path is longer than {MAX_PATH} bytes")));
        }
        Ok(Cgroup { descriptor, path: whole })
    }

    /// Its path, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the programs, attaches them, and pins what keeps them attached. They switch to the controller
    /// `name`, whose maps are pinned in `directory`.
    pub(super) fn attach(&self, name: &str, directory: &Directory) -> Result<(), LoadError> {
        let failed = |what| {
            move |error: libbpf_rs::Error| LoadError::Kernel {
                name: name.to_owned(),
                what,
                reason: error.to_string(),
            }
        };
        let mut object = open(name, &self.path)?;
        for mut map in object.maps_mut() {
            if let Some(shared) = SHARED.iter().find(|shared| OsStr::new(shared) == map.name()) {
                map.reuse_pinned_map(directory.pin(shared)).map_err(failed("given its destinations"))?;
            }
        }
        let mut object = object.load().map_err(|error| attach::refused(WHAT, &error))?;
        let place = object.maps_mut().find(|map| map.name() == DATA);
        place.expect("our object has this map").pin(directory.pin(PLACE)).map_err(failed("pinned"))?;
        for program in object.progs_mut() {
            let pin = PROGRAMS.iter().find(|(known, _)| OsStr::new(known) == program.name());
            let (_, pin) = pin.expect("our object has no other programs");
            let mut link = program
                .attach_cgroup(self.descriptor.as_raw_fd())
                .map_err(failed("attached to the control group"))?;
            link.pin(directory.pin(pin)).map_err(failed("pinned"))?;
        }
        Ok(())
    }
}

/// The map with `struct ac_place`: the controller's name, and the path.
const DATA: &str = ".rodata.place";

/// Opens the object and sets its data.
fn open(name: &str, path: &Path) -> Result<OpenObject, LoadError> {
    let mut object = attach::open(WHAT, OBJECT)?;
    attach::set_data(&mut object, DATA, 0, name.as_bytes());
    attach::set_data(&mut object, DATA, MAX_NAME + 1, path.as_os_str().as_bytes());
    Ok(object)
}

/// Passes the programs through the verifier. Nothing stays loaded.
pub(super) fn verify() -> Result<(), LoadError> {
    let object = open("ac_trial", Path::new("/"))?;
    object.load().map(drop).map_err(|error| attach::refused(WHAT, &error))
}

/// The control group of what is pinned in this directory, if these are socket options.
pub(super) fn path_of(directory: &Directory) -> Option<PathBuf> {
    let place = MapHandle::from_pinned_path(directory.pin(PLACE)).ok()?;
    let data = place.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    let path = data.get(MAX_NAME + 1..)?.split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(OsString::from_vec(path.to_vec())))
}
