//! Sees to it that what is asked for fits into memory: an allocation that fails would end the interpreter.

use crate::error::wrong;
use ackclock_study::run::MemoryEstimate;
use pyo3::prelude::*;

/// The number of points that run at once: at most one per core and point.
pub(crate) fn at_once(threads: Option<usize>, points: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    threads.unwrap_or(cores).min(cores).min(points).max(1)
}

/// The memory that processes may still take, bytes, if the system tells it.
fn available() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}

/// Refuses a run for which the memory is too small with this number of points at once.
pub(crate) fn check(need: MemoryEstimate, at_once: usize) -> PyResult<()> {
    let total = need.running * at_once as f64 + need.kept;
    match available() {
        Some(free) if total > free => Err(wrong(
            format!("this can take {:.1} GB of memory, and {:.1} GB are available", total / 1e9, free / 1e9),
            "give a limit to the longest queue, probe less often, or run fewer points or flows at once",
        )),
        _ => Ok(()),
    }
}
