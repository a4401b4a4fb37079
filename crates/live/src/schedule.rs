//! How the kernel schedules the thread that carries packets.

use ackclock_units::Duration;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};
use std::num::NonZeroU64;

/// Lowest real-time priority: ahead of every ordinary program, behind whatever the machine has more urgent.
const PRIORITY: i32 = 1;

/// Asks that the calling thread be woken at once when it is due; whether it is ahead of other programs now.
#[allow(unsafe_code, reason = "rustix has no wrapper for sched_setscheduler")]
pub(crate) fn real_time() -> bool {
    // By default the kernel may wake a thread 50 us late to save power.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let parameter = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: 0 is the calling thread, and the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter) == 0 }
}

/// Asks that the calling thread, which plays a host's program, be ahead of other ordinary programs: a host of a network
/// has its processor for itself.
pub(crate) fn ahead() {
    const FIRST: i32 = -20;
    // Without the right to it the thread takes its turn.
    let _ = rustix::process::setpriority_process(None, FIRST);
}

/// Processor time of the calling thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec as u64) + Duration::from_nanos(time.tv_nsec as u64)
}
