//! What the measurements were made on, read from /proc; absent figures are zero or "unknown".

use serde::Serialize;
use std::fs;
use std::process::Command;

/// Where and with what it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's model name.
    pub cpu: String,
    /// Its logical processors.
    pub cpus: usize,
    /// The operating system's kernel.
    pub kernel: String,
    /// ackclock's version and commit.
    pub ackclock: String,
    /// ns-2's version, and the package's.
    pub ns2: String,
    /// The compiler.
    pub rustc: String,
}

impl Machine {
    /// This one, with this version of ns-2.
    pub fn here(ns2: &str) -> Machine {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
        let commit = said("git", &["describe", "--always", "--dirty"]);
        let package = said("dpkg-query", &["-W", "-f=${Version}", "ns2"]);
        Machine {
            cpu: model.unwrap_or("unknown").to_owned(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: said("uname", &["-sr"]),
            ackclock: format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
            ns2: format!("{ns2} (package {package})"),
            rustc: said("rustc", &["--version"]),
        }
    }
}

/// What a command prints; "unknown" if it cannot be run.
fn said(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().ok().filter(|output| output.status.success());
    output.map_or_else(
        || "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Most memory that this process ever held, kB.
pub fn peak_rss_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Processor time that this process has used, s.
pub fn cpu_s() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos: Option<f64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanos.unwrap_or(0.0) * 1e-9
}
