//! Errors: the problem, the reason, and the remedy.

use ackclock_scenario::ScenarioError;
use miette::Diagnostic;
use std::io;
use thiserror::Error;

/// Why a scenario cannot be emulated, or was not emulated to its end.
#[derive(Debug, Error, Diagnostic)]
pub enum LiveError {
    /// The scenario is not valid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),
    /// The process lacks capabilities.
    #[error("emulation makes network namespaces and TUN devices, which needs {missing}")]
    #[diagnostic(help(
        "run it as root, for example with sudo; nothing outside its own namespaces is touched"
    ))]
    Privilege {
        /// The capabilities that are missing.
        missing: String,
    },
    /// TUN devices are not available.
    #[error("/dev/net/tun cannot be opened: {reason}")]
    #[diagnostic(help(
        "load the kernel's module (modprobe tun); in a container pass the device in: --device /dev/net/tun"
    ))]
    NoTun {
        /// The kernel's error.
        reason: io::Error,
    },
    /// The kernel refused another operation.
    #[error("{what}: {reason}")]
    #[diagnostic(help("{}", remedy(reason)))]
    Kernel {
        /// The operation.
        what: String,
        /// The kernel's error.
        reason: io::Error,
    },
    /// Real headers do not fit the packet size.
    #[error("{key}: packets of {bytes} B cannot be emulated")]
    #[diagnostic(help(
        "real packets have headers of 40 B, or 52 B with timestamps: segment.payload and segment.header together must be {least} B to 65535 B"
    ))]
    Segment {
        /// The key.
        key: &'static str,
        /// The size of a segment on the wire, bytes.
        bytes: u32,
        /// The smallest possible size, bytes.
        least: u32,
    },
    /// The scenario wants an ECN codepoint that the kernel's connections do not send.
    #[error("tcp.ecn = \"l4s\", or a controller of L4S such as prague: the kernel's connections say ECT(0)")]
    #[diagnostic(help("say ecn = true, or simulate the scenario with ackclock run"))]
    Codepoint,
    /// The scenario wants senders that see the first queue of their path.
    #[error("tcp.local_congestion: the queues of an emulated path are not those of a host")]
    #[diagnostic(help("remove local_congestion, or simulate the scenario with ackclock run"))]
    LocalCongestion,
    /// Our own TCP cannot send what a group of flows asks for.
    #[error("the flows \"{label}\" cannot send from our own TCP: it has neither bursts nor requests")]
    #[diagnostic(help("remove bursts and http from these flows, or host = \"own\" and --own-host"))]
    OwnHost {
        /// The label of the group.
        label: String,
    },
    /// A rate-based flow has packets that its sessions cannot have.
    #[error("segment: packets of {bytes} B cannot be emulated with a rate-based transport")]
    #[diagnostic(help("segment.payload and segment.header together must be {least} B to {most} B"))]
    Packets {
        /// The size of a packet on the wire, bytes.
        bytes: u32,
        /// The smallest possible size, bytes.
        least: u32,
        /// The largest possible size, bytes.
        most: u32,
    },
    /// The session of a rate-based flow failed.
    #[error("{host}: {reason}")]
    #[diagnostic(help("simulate the scenario with ackclock run: there no sender gives up"))]
    Session {
        /// The sending host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The scenario has too many flows.
    #[error("the scenario has {flows} flows, each between two hosts of its own")]
    #[diagnostic(help("at most {most} can be emulated at once"))]
    Flows {
        /// The number of flows.
        flows: usize,
        /// The largest number of flows.
        most: usize,
    },
    /// The kernel does not have this controller.
    #[error("the kernel has no controller {name}: {reason}")]
    #[diagnostic(help(
        "ackclock list controls shows what there is; sysctl net.ipv4.tcp_available_congestion_control shows what this kernel has"
    ))]
    Control {
        /// The kernel's name of the controller.
        name: String,
        /// The kernel's error.
        reason: io::Error,
    },
    /// A program could not be started.
    #[error("{program} cannot be started: {reason}")]
    #[diagnostic(help("check the spelling; the program runs on this machine, with its files"))]
    Program {
        /// The program.
        program: String,
        /// The system's error.
        reason: io::Error,
    },
    /// The capture file cannot be written.
    #[error("{file} cannot be written: {reason}")]
    #[diagnostic(help("check the directory's rights and the room there"))]
    Capture {
        /// The file.
        file: String,
        /// The system's error.
        reason: io::Error,
    },
    /// There is no such host.
    #[error("there is no host \"{name}\"")]
    #[diagnostic(help("{known}"))]
    NoHost {
        /// The name that was given.
        name: String,
        /// The known names.
        known: String,
    },
    /// More packets than the machine can carry.
    #[error("the emulator cannot keep up: it was {behind_s:.1} s late and gave up")]
    #[diagnostic(help(
        "the path carries more packets per second than this machine can: lower its rates, or simulate it with ackclock run"
    ))]
    Overloaded {
        /// How late it was, s.
        behind_s: f64,
    },
    /// A thread of the emulator panicked.
    #[error("the emulator has a defect: {what}")]
    #[diagnostic(help(
        "everything that it made is removed; please report the message above with the scenario"
    ))]
    Defect {
        /// The thread.
        what: String,
    },
    /// Interrupted by Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
}

impl LiveError {
    /// The error for an operation that the kernel refused.
    pub(crate) fn kernel(what: impl Into<String>) -> impl FnOnce(io::Error) -> LiveError {
        let what = what.into();
        move |reason| LiveError::Kernel { what, reason }
    }
}

/// What helps if the kernel refuses an operation.
fn remedy(reason: &io::Error) -> &'static str {
    match reason.raw_os_error() {
        Some(libc::EMFILE) => {
            "each flow needs some thirty open files: raise their limit (ulimit -Hn), or emulate fewer flows"
        }
        _ => "the kernel needs network namespaces (CONFIG_NET_NS) and TUN devices (CONFIG_TUN)",
    }
}
