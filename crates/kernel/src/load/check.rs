//! Checks whether the kernel and the user meet the requirements.

use super::privilege::privilege;
use super::{LoadError, Request, attach, cgroup, pins};
use crate::{Parameters, Program, programs};
use ackclock_cc::Settings;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use std::fs;
use std::path::Path;

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// A requirement for loading.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The name of the requirement.
    pub what: String,
    /// `None` if the requirement is met. Otherwise the reason and the remedy.
    pub lack: Option<String>,
}

/// Checks all requirements of loading for this kernel and this user. The programs also pass the verifier.
/// Nothing is registered, and nothing stays loaded.
pub fn check() -> Vec<Requirement> {
    let met = |what: &str, fine: bool, lack: &str| Requirement {
        what: what.to_owned(),
        lack: (!fine).then(|| lack.to_owned()),
    };
    let types = Btf::from_path(BTF).ok();
    let has_type = |what: &str, name: &str, lack: &str| match &types {
        Some(types) => met(what, types.type_by_name::<Struct<'_>>(name).is_some(), lack),
        None => met(what, false, "only the description of its types could tell"),
    };
    let mut all = vec![
        met(
            "the kernel describes its types (BTF)",
            types.is_some(),
            "/sys/kernel/btf/vmlinux cannot be read: use a kernel built with CONFIG_DEBUG_INFO_BTF=y",
        ),
        has_type(
            "TCP controllers may be eBPF programs, since Linux 5.6",
            "bpf_struct_ops_tcp_congestion_ops",
            "use a kernel built with CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y",
        ),
        has_type(
            "their registration can be pinned, since Linux 6.4",
            "bpf_struct_ops_link",
            "use Linux 6.4 or later: a scheme has to outlive the program that loads it",
        ),
        met(
            "eBPF programs are compiled (JIT)",
            fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").is_ok_and(|on| on.trim() != "0"),
            "switch it on: sysctl net.core.bpf_jit_enable=1",
        ),
        met(
            "there is an eBPF file system",
            pins::mounted()
                || fs::read_to_string("/proc/filesystems").is_ok_and(|all| all.contains("\tbpf\n")),
            "use a kernel built with CONFIG_BPF_SYSCALL=y",
        ),
        Requirement {
            what: "this user may load eBPF programs".to_owned(),
            lack: privilege().err().map(|error| format!("{error}: run it as root")),
        },
    ];
    if all.iter().all(|it| it.lack.is_none()) {
        all.extend(programs().iter().flat_map(|program| trials(program)));
        all.push(Requirement {
            what: "the verifier takes the socket options".to_owned(),
            lack: cgroup::verify().err().map(|error| error.to_string()),
        });
    }
    all
}

/// Loads a scheme through the verifier, which checks only the code paths that the settings enable.
fn trials(program: &'static Program) -> Vec<Requirement> {
    let variants = program.variants.iter().map(|(key, word)| format!("{} {key} {word}", program.name));
    let names = std::iter::once(program.name.to_owned()).chain(variants);
    names.zip(program.settings()).map(|(what, settings)| trial(&what, program, settings)).collect()
}

fn trial(what: &str, program: &Program, settings: Settings) -> Requirement {
    let request = Request {
        name: None,
        settings,
        allow: Vec::new(),
        initial_window: None,
        everyone: false,
        confined: true, // which is more for the verifier to look at
    };
    let verified = Parameters::new(&request.settings)
        .map_err(LoadError::from)
        .and_then(|parameters| attach::verify(program.object, &parameters, &request, "ac_trial"));
    let lack = verified.err().map(|error| error.to_string());
    Requirement { what: format!("the verifier takes {what}"), lack }
}

pub(super) fn btf() -> Result<(), LoadError> {
    if Path::new(BTF).exists() { Ok(()) } else { Err(LoadError::NoBtf { path: BTF.to_owned() }) }
}
