//! The clock of a discipline that looks at its queue at regular times.

use ackclock_units::{Duration, Time};

/// Instants that are one period apart.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    due: Time,
    period: Duration,
}

impl Clock {
    /// The first instant is one period after the run's start.
    pub(super) fn new(period: Duration) -> Clock {
        let period = period.max(Duration::from_nanos(1));
        Clock { due: Time::ZERO + period, period }
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn advance(&mut self) {
        self.due += self.period;
    }

    /// To the first instant after `now`.
    pub(super) fn skip(&mut self, now: Time) {
        let passed = now.since(self.due).as_nanos() / self.period.as_nanos();
        self.due += self.period.saturating_mul(passed + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_keeps_the_beat() {
        let mut clock = Clock::new(Duration::from_millis(10));
        clock.advance();
        assert_eq!(clock.due().as_nanos(), 20_000_000);
        clock.skip(Time::from_nanos(57_000_000));
        assert_eq!(clock.due().as_nanos(), 60_000_000);
        clock.skip(Time::from_nanos(60_000_000));
        assert_eq!(clock.due().as_nanos(), 70_000_000);
    }
}
