//! The machine of the measurements, read from /proc. Missing values are zero or "unknown".

use serde::Serialize;
use std::fs;
use std::process::Command;

/// The machine and the software versions.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The model name of the processor.
    pub cpu: String,
    /// The number of logical processors.
    pub cpus: usize,
    /// The version of the operating system's kernel.
    pub kernel: String,
    /// The version and commit of ackclock.
    pub ackclock: String,
    /// The version of ns-2, and of its package.
    pub ns2: String,
    /// The version of htsim, if there is a copy.
    pub htsim: Option<String>,
    /// The version of the compiler.
    pub rustc: String,
}

impl Machine {
    /// The present machine, with these versions of ns-2 and htsim.
    pub fn here(ns2: &str, htsim: Option<&str>) -> Machine {
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
            htsim: htsim.map(str::to_owned),
            rustc: said("rustc", &["--version"]),
        }
    }
}

/// The output of a command; "unknown" if it cannot be run.
fn said(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().ok().filter(|output| output.status.success());
    output.map_or_else(
        || "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// The peak memory of this process, kB (VmHWM).
pub fn peak_rss_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The processor time that this process has used, s.
pub fn cpu_s() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos: Option<f64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanos.unwrap_or(0.0) * 1e-9
}
