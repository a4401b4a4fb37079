//! The common part of disciplines with a periodic update that drop or mark with a probability.

use super::{Backlog, Limit, Verdict};
use crate::Rng;
use ackclock_registry::Parameter;
use ackclock_units::{Duration, Time};

/// Marking instead of dropping.
pub(super) const MARK: Parameter =
    Parameter::flag("mark", false, "ECN-capable packets are marked where others are dropped early");
/// The least period of a clock.
pub(super) const MIN_PERIOD: Duration = Duration::from_micros(1);

/// A clock for the updates, a probability, and the drop or mark decision.
#[derive(Clone, Debug)]
pub struct Sampled {
    clock: Clock,
    stream: Rng,
    limit: Limit,
    mark: bool,
    /// The probability of dropping or marking an arriving packet.
    pub(super) probability: f64,
}

impl Sampled {
    /// Updates are one `period` apart. `mark`: true if ECN-capable packets are marked instead of dropped.
    pub(super) fn new(period: Duration, limit: Limit, mark: bool, stream: Rng) -> Sampled {
        Sampled { clock: Clock::new(period), stream, limit, mark, probability: 0.0 }
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// True with the present probability.
    pub(super) fn strikes(&mut self) -> bool {
        self.stream.uniform() < self.probability
    }

    /// Decides about an arriving packet. If there is room, the packet is dropped or marked with the
    /// probability.
    pub(super) fn judge(&mut self, bytes: u32, markable: bool, backlog: &Backlog) -> Verdict {
        if backlog.verdict(self.limit, bytes) == Verdict::Overflow {
            return Verdict::Overflow;
        }
        if self.strikes() { self.hit(markable) } else { Verdict::Enqueue }
    }

    /// The decision about a packet that is dropped or marked.
    pub(super) fn hit(&self, markable: bool) -> Verdict {
        if self.mark && markable { Verdict::Mark } else { Verdict::Early }
    }
}

/// A clock that ticks once per period.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    due: Time,
    period: Duration,
}

impl Clock {
    /// The first tick is one period after the start of the run.
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

    /// Advances to the first tick after `now`.
    pub(super) fn skip(&mut self, now: Time) {
        if self.due > now {
            return;
        }
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
        clock.skip(Time::from_nanos(69_000_000)); // a tick in the future is not skipped
        assert_eq!(clock.due().as_nanos(), 70_000_000);
    }

    #[test]
    fn packets_are_marked_or_dropped_with_the_probability() {
        let mut sampled = Sampled::new(Duration::ZERO, Limit::Packets(40), true, Rng::new(1, "sampled"));
        sampled.probability = 0.25;
        let backlog = |packets| Backlog {
            packets,
            bytes: u64::from(packets) * 1000,
            idle_since: None,
            transmission: Duration::from_millis(1),
        };
        let verdicts: Vec<_> = (0..40_000).map(|n| sampled.judge(1000, n % 2 == 0, &backlog(30))).collect();
        let share = |verdict| verdicts.iter().filter(|&&it| it == verdict).count() as f64 / 20_000.0;
        assert!((share(Verdict::Mark) - 0.25).abs() < 0.02);
        assert!((share(Verdict::Early) - 0.25).abs() < 0.02);
        assert_eq!(sampled.judge(1000, true, &backlog(40)), Verdict::Overflow);
        sampled.mark = false;
        sampled.probability = 1.0;
        assert_eq!(sampled.judge(1000, true, &backlog(30)), Verdict::Early);
    }
}
