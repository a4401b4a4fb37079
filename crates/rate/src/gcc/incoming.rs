//! R, the rate at which packets arrive.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.5, the window T.
//!
//! What differs: the window moves in steps of a 25th, so that nothing is kept per packet. A window with few
//! packets says nothing.

use ackclock_units::{Duration, Time};

/// Steps of a window.
const STEPS: usize = 25;

/// Packets that are too few for a rate.
const FEW: u64 = 4;

/// The rate of what arrived in the last window.
#[derive(Clone, Debug)]
pub struct Incoming {
    step: Duration,
    /// Packets and bytes of the last steps, each in the place of its number; the newest is not over yet.
    steps: [(u64, u64); STEPS + 1],
    /// The number of the first step with a packet, and of the newest one.
    range: Option<(u64, u64)>,
}

impl Incoming {
    /// The rate over `window`.
    pub fn new(window: Duration) -> Incoming {
        let step = Duration::from_nanos((window.as_nanos() / STEPS as u64).max(1));
        Incoming { step, steps: [(0, 0); STEPS + 1], range: None }
    }

    /// `bytes` arrived at `now`.
    pub fn add(&mut self, now: Time, bytes: u32) {
        let number = now.as_nanos() / self.step.as_nanos();
        let (first, newest) = self.range.unwrap_or((number, number));
        if number > newest {
            let skipped = (number - newest).min(self.steps.len() as u64);
            for step in number - skipped + 1..=number {
                self.steps[place(step)] = (0, 0);
            }
        }
        let newest = newest.max(number);
        // What is reported late counts as arrived in its step, if that is not too long ago.
        if newest - number < self.steps.len() as u64 {
            let step = &mut self.steps[place(number)];
            *step = (step.0 + 1, step.1 + u64::from(bytes));
        }
        self.range = Some((first, newest));
    }

    /// The rate of the steps that are over, bit/s. `None` if they have too few packets.
    pub fn rate(&self) -> Option<f64> {
        let (first, newest) = self.range?;
        let over = (newest - first.min(newest)).min(STEPS as u64);
        let all = (1..=over).map(|back| self.steps[place(newest - back)]);
        let (packets, bytes) = all.fold((0, 0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
        (packets >= FEW).then(|| bytes as f64 * 8.0 / (over as f64 * self.step.as_secs_f64()))
    }
}

fn place(number: u64) -> usize {
    (number % (STEPS as u64 + 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_window() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut incoming = Incoming::new(Duration::from_millis(500));
        assert_eq!(incoming.rate(), None);
        (0..100).for_each(|ms| incoming.add(at(ms * 4), 1000)); // 2 Mbit/s
        assert!((incoming.rate().expect("steps are over") - 2e6).abs() < 1.0);
        (100..500).for_each(|ms| incoming.add(at(ms * 4), 500));
        assert!((incoming.rate().expect("steps are over") - 1e6).abs() < 1.0);
        (0..4).for_each(|_| incoming.add(at(10_000), 1000));
        assert_eq!(incoming.rate(), None); // a pause empties the window
        (0..3).for_each(|_| incoming.add(at(9_990), 1000));
        assert_eq!(incoming.rate(), None); // late ones count in their step, but three are few
        incoming.add(at(9_990), 1000);
        assert_eq!(incoming.rate(), Some(64_000.0));
        incoming.add(at(1), 1000);
        assert_eq!(incoming.rate(), Some(64_000.0));
        incoming.add(Time::NEVER, 1000);
        assert_eq!(incoming.rate(), None);
    }
}
