//! Errors of loading: the problem, the reason, and the remedy.

use crate::NoTwin;
use miette::Diagnostic;
use thiserror::Error;

/// Why the kernel did not load, list or unload a scheme.
#[derive(Debug, Error, Diagnostic)]
pub enum LoadError {
    /// The kernel does not accept the name.
    #[error("{name:?} cannot be the name of a controller in the kernel")]
    #[diagnostic(help("take 1 to 15 of a-z, 0-9, _ and -, beginning with a letter"))]
    Name {
        /// The name.
        name: String,
    },
    /// There is no eBPF program for these settings.
    #[error(transparent)]
    #[diagnostic(transparent)]
    NoTwin(#[from] NoTwin),
    /// The process lacks capabilities.
    #[error("this needs the right to load eBPF programs ({missing})")]
    #[diagnostic(help("run it as root, for example with sudo"))]
    Privilege {
        /// The capabilities that are missing.
        missing: String,
    },
    /// The kernel has no BTF.
    #[error("this kernel does not describe its types: {path} is not there")]
    #[diagnostic(help(
        "use a kernel built with CONFIG_DEBUG_INFO_BTF=y; those of all large distributions are"
    ))]
    NoBtf {
        /// The path where the kernel would provide it.
        path: String,
    },
    /// The eBPF file system is not mounted and cannot be mounted.
    #[error("the eBPF file system cannot be mounted at {path}: {reason}")]
    #[diagnostic(help("mount it yourself: mount -t bpf bpf {path}"))]
    FileSystem {
        /// The mount point.
        path: String,
        /// The kernel's error.
        reason: String,
    },
    /// A directory in the eBPF file system cannot be read or created.
    #[error("{path} cannot be used: {reason}")]
    #[diagnostic(help("run it as root, for example with sudo"))]
    Unreadable {
        /// The path of the directory.
        path: String,
        /// The kernel's error.
        reason: String,
    },
    /// Another load or unload does not end.
    #[error("{path} has been locked for half a minute by another ackclock")]
    #[diagnostic(help("wait for it, or find it with lslocks and end it"))]
    Busy {
        /// The locked directory.
        path: String,
    },
    /// An entry with the name of one of our directories is not ours.
    #[error("{path} {why}: ackclock did not make it, and touches nothing there")]
    #[diagnostic(help(
        "it could lead anywhere: look at it, then remove it as root (rm -r {path}); chmod 0700 /sys/fs/bpf keeps others out"
    ))]
    Foreign {
        /// The path of the entry.
        path: String,
        /// Why it is not ours.
        why: String,
    },
    /// We have loaded this name before.
    #[error("{name} is loaded already")]
    #[diagnostic(help(
        "unload it first (ackclock kernel unload {name}), or load under another name with --as"
    ))]
    Loaded {
        /// The name.
        name: String,
    },
    /// A loader that was killed left this name behind.
    #[error("{name} is left over from a load that was interrupted")]
    #[diagnostic(help("remove it: ackclock kernel unload {name}"))]
    Leftover {
        /// The name.
        name: String,
    },
    /// The kernel has a controller of that name that is not ours.
    #[error("the kernel has a controller {name} that ackclock did not load")]
    #[diagnostic(help("load under another name with --as"))]
    Taken {
        /// The name.
        name: String,
    },
    /// The verifier, or libbpf before it, refused the program.
    #[error("the kernel refused the program of {scheme}: {reason}\n{log}")]
    #[diagnostic(help(
        "ackclock kernel check says what this kernel lacks; if nothing, please report the lines above"
    ))]
    Refused {
        /// The scheme.
        scheme: String,
        /// The kernel's error.
        reason: String,
        /// The end of the verifier's log.
        log: String,
    },
    /// The program is loaded, but cannot be registered or pinned.
    #[error("{name} cannot be {what}: {reason}")]
    #[diagnostic(help("ackclock kernel check says what this kernel lacks"))]
    Kernel {
        /// The name.
        name: String,
        /// The step that failed.
        what: &'static str,
        /// The kernel's error.
        reason: String,
    },
    /// Nothing of that name is loaded.
    #[error("{name} is not loaded by ackclock")]
    #[diagnostic(help("{loaded}"))]
    Unknown {
        /// The name.
        name: String,
        /// The names that are loaded.
        loaded: String,
    },
    /// The kernel still holds the name, although the pins are removed.
    #[error("{name} is still registered although its pins are gone: something else holds its link")]
    #[diagnostic(help("find who holds it (bpftool link show) and end that program"))]
    Held {
        /// The name.
        name: String,
    },
    /// The path is not a control group of version 2.
    #[error("{path} is no control group of version 2: {reason}")]
    #[diagnostic(help(
        "make one where they are mounted (mkdir /sys/fs/cgroup/NAME), and put a shell into it: \
         echo $$ > /sys/fs/cgroup/NAME/cgroup.procs"
    ))]
    NoCgroup {
        /// The path.
        path: String,
        /// Why it is none.
        reason: String,
    },
    /// The programs of the control group have the socket options already.
    #[error("{name} has given the socket options to {path} already")]
    #[diagnostic(help(
        "a group has them with all groups below it; unload them first (ackclock kernel unload {name})"
    ))]
    Reached {
        /// The name under which they are loaded.
        name: String,
        /// The control group: the same, one above it, or one below it.
        path: String,
    },
    /// The text is not a prefix.
    #[error(transparent)]
    Prefix(#[from] ackclock_sockets::PrefixError),
}

impl LoadError {
    /// The error for a `path` that cannot be read.
    pub(super) fn unreadable(path: &str, error: rustix::io::Errno) -> LoadError {
        LoadError::Unreadable { path: path.to_owned(), reason: error.to_string() }
    }
}
