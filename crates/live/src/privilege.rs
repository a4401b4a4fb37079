//! Checks that this process may create namespaces and devices.

use crate::error::LiveError;
use std::fs;

/// Capabilities by their bits in /proc/self/status (linux/capability.h).
const NEEDED: [(u32, &str); 2] = [(12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN")];

/// Checks the capabilities of this process.
///
/// # Errors
///
/// [`LiveError::Privilege`] if some are missing.
pub fn check() -> Result<(), LiveError> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let lacks = NEEDED.iter().filter(|(bit, _)| bits >> bit & 1 == 0);
    let missing: Vec<&str> = lacks.map(|&(_, name)| name).collect();
    if missing.is_empty() { Ok(()) } else { Err(LiveError::Privilege { missing: missing.join(" and ") }) }
}
