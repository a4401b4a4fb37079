//! The clock of a session: nanoseconds of the monotonic clock since its start, and waits that end in time.

use ackclock_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::time::{Instant, SystemTime};

/// The last part of a wait is spent awake, because threads wake up late.
const AWAKE: Duration = Duration::from_micros(60);

/// The clock. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
}

impl Clock {
    /// A clock that shows zero now. The kernel is asked to end this thread's waits in time.
    pub(super) fn start() -> Clock {
        // Where that is refused, waits are 50 us less exact.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Clock { began: Instant::now() }
    }

    pub(super) fn now(self) -> Time {
        Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The time of a kernel's timestamp, which is of the wall clock. That clock may be set in between, so the
    /// result is never in the future, and not far in the past.
    pub(super) fn at(self, stamp: Option<std::time::Duration>, now: Time) -> Time {
        const MOST: u64 = 1_000_000_000;
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok();
        let age = stamp.zip(wall).and_then(|(stamp, wall)| wall.checked_sub(stamp));
        let age = age.and_then(|age| u64::try_from(age.as_nanos()).ok()).filter(|&age| age <= MOST);
        Time::from_nanos(now.as_nanos().saturating_sub(age.unwrap_or(0)))
    }

    /// Waits until `until`, or until `socket` can be read. Short waits are spent awake.
    pub(super) fn wait(self, socket: &impl AsFd, until: Time) {
        let left = until.since(self.now()).as_nanos().saturating_sub(AWAKE.as_nanos());
        if left == 0 {
            std::hint::spin_loop();
            return;
        }
        let wait = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
        // An interrupted wait is a short one.
        let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&wait));
    }

    /// Waits until `socket` takes more, but not long.
    pub(super) fn wait_to_send(self, socket: &impl AsFd) {
        let wait = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let _ = poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&wait));
    }
}
