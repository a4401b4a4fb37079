//! Checks that this process may make devices and rules.

use crate::error::ProxyError;
use rustix::thread::{CapabilitySet, capabilities};

/// Checks for CAP_NET_ADMIN in the effective set.
///
/// # Errors
///
/// [`ProxyError::Privilege`] if it is missing.
pub(crate) fn check() -> Result<(), ProxyError> {
    let has = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::NET_ADMIN));
    if has { Ok(()) } else { Err(ProxyError::Privilege) }
}
