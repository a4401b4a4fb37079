//! The time since the agent began.

use ackclock_sockets::Alarm;
use ackclock_units::Time;
use std::io;
use std::time::Instant;

/// A clock that shows zero when it is made. Copies show the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// An alarm clock that shows the same time.
    ///
    /// # Errors
    ///
    /// If the kernel gives no timer.
    pub(crate) fn alarm(self) -> io::Result<Alarm> {
        Alarm::since(self.0)
    }
}
