//! The clock of the run: nanoseconds of the kernel's monotonic clock since the start.

use ackclock_sockets::Alarm;
use ackclock_units::Time;
use std::time::Duration;
use std::time::Instant;

/// The longest time until a sleeping thread notices the end of the run.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// The clock. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
}

impl Clock {
    /// A clock that shows zero now.
    pub(crate) fn start() -> Clock {
        Clock { began: Instant::now() }
    }

    /// Sleeps until then, or until it is `over`, which is noticed within 50 ms.
    pub(crate) fn sleep_until(self, at: Time, over: impl Fn() -> bool) {
        while !over() {
            let left = at.since(self.now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left.as_nanos()).min(PATIENCE));
        }
    }

    /// An alarm clock that shows the same time.
    pub(crate) fn alarm(self) -> std::io::Result<Alarm> {
        Alarm::since(self.began)
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
