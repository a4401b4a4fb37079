//! Whether this process may load, register and pin.

use super::error::LoadError;
use std::fs;

/// Capabilities by their bits in /proc/self/status (capability.h).
const NEEDED: &[(u32, &str)] =
    &[(12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// Checks that this process may load, register and pin.
pub(super) fn privilege() -> Result<(), LoadError> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(bit, _)| bits >> bit & 1 == 0).map(|&(_, name)| name).collect();
    if missing.is_empty() { Ok(()) } else { Err(LoadError::Privilege { missing: missing.join(", ") }) }
}
