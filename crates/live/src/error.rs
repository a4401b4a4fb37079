//! What can go wrong: what, why, and what helps.

use ackclock_scenario::ScenarioError;
use miette::Diagnostic;
use std::io;
use thiserror::Error;

/// Why a scenario cannot be emulated, or could not be to its end.
#[derive(Debug, Error, Diagnostic)]
pub enum LiveError {
    /// The scenario is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),
    /// Too few rights.
    #[error("emulation makes network namespaces and TUN devices, which needs {missing}")]
    #[diagnostic(help(
        "run it as root, for example with sudo; nothing outside its own namespaces is touched"
    ))]
    Privilege {
        /// The capabilities that are missing.
        missing: String,
    },
    /// No TUN devices.
    #[error("/dev/net/tun cannot be opened: {reason}")]
    #[diagnostic(help(
        "load the kernel's module (modprobe tun); in a container pass the device in: --device /dev/net/tun"
    ))]
    NoTun {
        /// What the kernel said.
        reason: io::Error,
    },
    /// The kernel refused something else.
    #[error("{what}: {reason}")]
    #[diagnostic(help("the kernel needs network namespaces (CONFIG_NET_NS) and TUN devices (CONFIG_TUN)"))]
    Kernel {
        /// What was tried.
        what: String,
        /// What the kernel said.
        reason: io::Error,
    },
    /// A packet size that real headers do not suit.
    #[error("{key}: packets of {bytes} B cannot be emulated")]
    #[diagnostic(help(
        "real packets have headers of 40 B, or 52 B with timestamps: segment.payload and segment.header together must be {least} B to 65535 B"
    ))]
    Segment {
        /// The key.
        key: &'static str,
        /// Bytes of a segment on the wire.
        bytes: u32,
        /// Least possible.
        least: u32,
    },
    /// A codepoint that the kernel's connections do not send.
    #[error("tcp.ecn = \"l4s\": the kernel's connections say ECT(0)")]
    #[diagnostic(help("say ecn = true, or simulate the scenario with ackclock run"))]
    Codepoint,
    /// Too many hosts.
    #[error("the scenario has {flows} flows, each between two hosts of its own")]
    #[diagnostic(help("at most {most} can be emulated at once"))]
    Flows {
        /// Flows.
        flows: usize,
        /// Most of them.
        most: usize,
    },
    /// A controller that the kernel does not have.
    #[error("the kernel has no controller {name}: {reason}")]
    #[diagnostic(help(
        "ackclock list controls shows what there is; sysctl net.ipv4.tcp_available_congestion_control shows what this kernel has"
    ))]
    Control {
        /// Its name there.
        name: String,
        /// What the kernel said.
        reason: io::Error,
    },
    /// A program could not be started.
    #[error("{program} cannot be started: {reason}")]
    #[diagnostic(help("check the spelling; the program runs on this machine, with its files"))]
    Program {
        /// The program.
        program: String,
        /// What the system said.
        reason: io::Error,
    },
    /// The capture's file.
    #[error("{file} cannot be written: {reason}")]
    #[diagnostic(help("check the directory's rights and the room there"))]
    Capture {
        /// The file.
        file: String,
        /// What the system said.
        reason: io::Error,
    },
    /// No such host.
    #[error("there is no host \"{name}\"")]
    #[diagnostic(help("{known}"))]
    NoHost {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A thread of the emulator panicked.
    #[error("the emulator has a defect: {what}")]
    #[diagnostic(help(
        "everything that it made is removed; please report the message above with the scenario"
    ))]
    Defect {
        /// Where.
        what: String,
    },
    /// Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
}

impl LiveError {
    /// The kernel refused `what`.
    pub(crate) fn kernel(what: impl Into<String>) -> impl FnOnce(io::Error) -> LiveError {
        let what = what.into();
        move |reason| LiveError::Kernel { what, reason }
    }
}
