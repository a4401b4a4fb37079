//! The limit of open files (RLIMIT_NOFILE). Each socket and each device is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files of this process as far as it may be raised, and returns it. Systems begin
/// with 1024 for the sake of programs that use select(2), which this one does not. Programs that it starts
/// inherit the limit.
pub fn raise_open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: maximum, maximum };
    let reached = if setrlimit(Resource::Nofile, wanted).is_ok() { maximum } else { current };
    reached.unwrap_or(u64::MAX)
}
