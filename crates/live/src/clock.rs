//! The clock of the run: nanoseconds of the kernel's monotonic clock since the start.

use ackclock_units::Time;
use std::time::Instant;

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

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
