//! The scheduling of the thread that carries packets.

use ackclock_units::Duration;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};
use std::num::NonZeroU64;

/// The lowest real-time priority: ahead of every ordinary program, behind all other real-time threads.
const PRIORITY: i32 = 1;

/// Asks the kernel to wake the calling thread at once when it is due. True if it now has real-time priority.
pub(crate) fn real_time() -> bool {
    // By default the kernel may wake a thread 50 us late, to save power.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    scheduled(libc::SCHED_FIFO, PRIORITY)
}

/// Asks the kernel to wake the calling thread when it is due, and not 50 us later.
pub(crate) fn sharp() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Takes the real-time priority away from the calling thread. True if it has none now.
pub(crate) fn ordinary() -> bool {
    scheduled(libc::SCHED_OTHER, 0)
}

#[allow(unsafe_code, reason = "rustix has no wrapper for sched_setscheduler")]
fn scheduled(policy: i32, priority: i32) -> bool {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread, and the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &parameter) == 0 }
}

/// Asks for a high priority among ordinary programs for the calling thread, which plays a program of a host.
/// A real host has its processor for itself.
pub(crate) fn ahead() {
    const FIRST: i32 = -20;
    // Without the right to do so the thread keeps its normal priority.
    let _ = rustix::process::setpriority_process(None, FIRST);
}

/// Does this work as far ahead as programs of hosts are: what leads them must not wait for all of them.
pub(crate) fn among_hosts<T>(work: impl FnOnce() -> T) -> T {
    let before = rustix::process::getpriority_process(None).unwrap_or(0);
    ahead();
    let done = work();
    let _ = rustix::process::setpriority_process(None, before);
    done
}

/// The processor time of the calling thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec as u64) + Duration::from_nanos(time.tv_nsec as u64)
}
