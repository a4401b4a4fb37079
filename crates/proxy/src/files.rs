//! The limit of open files, and what it allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no connections: the device, sockets of netlink, standard output, and room to spare.
const OTHERS: u64 = 64;

/// Raises the limit of open files as far as it may be raised, and returns it.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: maximum, maximum };
    let reached = if setrlimit(Resource::Nofile, wanted).is_ok() { maximum } else { current };
    reached.unwrap_or(u64::MAX)
}

/// Connections that are possible with so many files, at most `wanted`. Towards a server a connection has a
/// second file, for its port.
pub(crate) fn connections(files: u64, wanted: usize, towards_server: bool) -> Option<usize> {
    let each = if towards_server { 2 } else { 1 };
    let most = usize::try_from(files.saturating_sub(OTHERS) / each).unwrap_or(usize::MAX).min(wanted);
    (most > 0).then_some(most)
}

/// Connections in TIME-WAIT for whose ports files are left, at most `wanted`.
pub(crate) fn waiting(files: u64, connections: usize, wanted: usize) -> usize {
    let left = files.saturating_sub(OTHERS).saturating_sub(2 * connections as u64);
    usize::try_from(left).unwrap_or(usize::MAX).clamp(1, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_are_few_connections() {
        assert_eq!(connections(1_000_000, 1000, true), Some(1000));
        assert_eq!(connections(1064, 1000, true), Some(500));
        assert_eq!(connections(1064, 1000, false), Some(1000));
        assert_eq!(connections(65, 1000, true), None);
        assert_eq!(waiting(1064, 400, 4096), 200);
        assert_eq!(waiting(1064, 500, 4096), 1);
    }
}
