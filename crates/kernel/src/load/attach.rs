//! From an object file to a registered, pinned scheme.

use super::directory::Directory;
use super::{LoadError, Request, pins, prefix};
use crate::Parameters;
use bytemuck::{Pod, Zeroable};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Composite, MemberAttr, Struct};
use libbpf_rs::{MapCore, MapFlags, ObjectBuilder, OpenObject, PrintLevel};
use std::ffi::OsStr;
use std::sync::Mutex;

/// TCP_CONG_NON_RESTRICTED: users without CAP_NET_ADMIN may choose it.
const NON_RESTRICTED: u32 = 1;
/// The number of lines of the verifier's log in an error message. The reason is at the end of the log.
const SHOWN: usize = 12;

/// libbpf's messages since the last load began.
static SAID: Mutex<String> = Mutex::new(String::new());

/// `struct ac_host_parameters`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Host {
    initial_window: u32,
    confined: u32,
}

fn listen(_level: PrintLevel, message: String) {
    SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push_str(&message);
}

/// Opens an object file. From now on libbpf's messages are kept for [`refused`].
pub(super) fn open(what: &str, program: &'static [u8]) -> Result<OpenObject, LoadError> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
    SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    ObjectBuilder::default().open_memory(program).map_err(|error| refused(what, &error))
}

/// The error for a program that libbpf or the verifier refuses, with their last words.
pub(super) fn refused(what: &str, error: &libbpf_rs::Error) -> LoadError {
    LoadError::Refused {
        scheme: what.to_owned(),
        reason: error.to_string(),
        log: last_lines(&SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner())),
    }
}

/// Sets the data of the object and loads it through the verifier. Does not register it.
pub(super) fn verify(
    program: &'static [u8],
    parameters: &Parameters,
    request: &Request,
    name: &str,
) -> Result<libbpf_rs::Object, LoadError> {
    let scheme = request.settings.scheme().name;
    let refused = |error| refused(scheme, &error);
    let mut object = open(scheme, program)?;
    set_data(&mut object, ".rodata.scheme", 0, parameters.bytes());
    let host =
        Host { initial_window: request.initial_window.unwrap_or(0), confined: u32::from(request.confined) };
    set_data(&mut object, ".rodata.host", 0, bytemuck::bytes_of(&host));
    let btf = Btf::from_raw(scheme, program).map_err(refused)?.expect("the build leaves BTF in the object");
    let mut padded = [0; super::MAX_NAME + 1];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    set_data(&mut object, "scheme", place(&btf, "name"), &padded);
    let flags = if request.everyone { NON_RESTRICTED } else { 0 };
    set_data(&mut object, "scheme", place(&btf, "flags"), &flags.to_ne_bytes());
    object.load().map_err(refused)
}

/// The offset of a member of `struct tcp_congestion_ops` in the object file, bytes.
fn place(btf: &Btf<'_>, member: &str) -> usize {
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops").expect("the object defines one");
    let composite = Composite::from(ops);
    let found =
        composite.iter().find(|it| it.name == Some(OsStr::new(member))).expect("it has such a member");
    match found.attr {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => offset as usize / 8,
    }
}

/// Writes load-time data. Panics if the map is missing or too small. That is a mistake in our own object
/// files, and every test that loads one finds it.
pub(super) fn set_data(object: &mut OpenObject, map: &str, at: usize, bytes: &[u8]) {
    let mut map = object.maps_mut().find(|it| it.name() == map).expect("our object has this map");
    let data = map.initial_value_mut().expect("this map has initial data");
    data[at..at + bytes.len()].copy_from_slice(bytes);
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

/// Loads, registers and pins. When all is pinned but the registration, `before` is called. On an error the
/// caller removes the directory.
pub(super) fn attach(
    program: &'static [u8],
    parameters: &Parameters,
    request: &Request,
    (root, name): (&Directory, &str),
    before: &dyn Fn(&Directory) -> Result<(), LoadError>,
) -> Result<Directory, LoadError> {
    let mut object = verify(program, parameters, request, name)?;
    let failed = |what| {
        move |error: libbpf_rs::Error| LoadError::Kernel {
            name: name.to_owned(),
            what,
            reason: error.to_string(),
        }
    };
    if let Some(allowed) = object.maps().find(|it| it.name() == "allowed") {
        for &allow in &request.allow {
            allowed
                .update(&prefix::key(allow), &1u32.to_ne_bytes(), MapFlags::ANY)
                .map_err(failed("given its prefixes"))?;
        }
    }
    let directory = root.make(name)?;
    for mut map in object.maps_mut() {
        let file = match map.name().to_str() {
            Some("statistics") => "statistics",
            Some("allowed") => "allowed",
            Some(pins::NAMESPACES) => pins::NAMESPACES,
            Some("asked") => "asked",
            Some(".rodata.scheme") => request.settings.scheme().name,
            _ => continue,
        };
        map.pin(directory.pin(file)).map_err(failed("pinned"))?;
    }
    before(&directory)?;
    let mut ops = object.maps_mut().find(|it| it.name() == "scheme").expect("our object has this map");
    let mut link = ops.attach_struct_ops().map_err(failed("registered"))?;
    link.pin(directory.pin(pins::LINK)).map_err(failed("pinned"))?;
    Ok(directory)
}
