//! The states of Figure 37, applied to a recording.

use ackclock_cc::predictor::Predictor;
use ackclock_scenario::Settle;
use ackclock_scenario::predictions::Counts;
use ackclock_sim::observers::Recording;
use ackclock_units::Time;

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// The transitions.
    pub counts: Counts,
    /// The bottleneck's queue at each false positive, as a share of its capacity.
    pub queue_at_false_positives: Vec<f32>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Low,
    High,
    /// At least until this time.
    Loss(Time),
}

/// Runs `predictor` over the recording, with these losses.
pub fn study(predictor: &mut dyn Predictor, recording: &Recording, losses: &[Time], settle: Settle) -> Study {
    let mut study = Study::default();
    let counts = &mut study.counts;
    let mut state = State::Low;
    let mut losses = losses.iter().copied().peekable();
    for (number, reading) in recording.readings.iter().enumerate() {
        while let Some(at) = losses.next_if(|&at| at <= reading.now) {
            match state {
                State::Low => counts.low_to_loss += 1,
                State::High => counts.high_to_loss += 1,
                State::Loss(_) => {}
            }
            state = State::Loss(at + reading.rtt);
        }
        let high = predictor.sense(reading);
        state = match (state, high) {
            (State::Low, true) => {
                counts.low_to_high += 1;
                State::High
            }
            (State::High, false) => {
                counts.high_to_low += 1;
                study.queue_at_false_positives.extend(recording.queue.get(number));
                State::Low
            }
            (State::Loss(until), false) if reading.now >= until => {
                counts.loss_to_low += 1;
                State::Low
            }
            (State::Loss(until), true) if reading.now >= until && settle == Settle::RoundTrip => {
                counts.loss_to_high += 1;
                State::High
            }
            (state, _) => state,
        };
    }
    study
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_cc::predictor::{Options, Reading, predictor};
    use ackclock_units::Duration;
    use proptest::prelude::*;

    /// A recording with one reading every 10 ms and these round-trip times, in milliseconds.
    fn recording(rtts: &[u64]) -> Recording {
        let readings = rtts.iter().zip(0u64..).map(|(&ms, at)| Reading {
            now: Time::from_nanos(at * 10_000_000),
            rtt: Duration::from_millis(ms),
            una: at,
            nxt: at + 10,
            window: 10.0,
        });
        let queue = rtts.iter().map(|&ms| ms as f32 / 100.0).collect();
        Recording { readings: readings.collect(), queue, ..Recording::default() }
    }

    fn run(rtts: &[u64], losses_ms: &[u64], settle: Settle) -> Study {
        let losses: Vec<_> = losses_ms.iter().map(|ms| Time::from_nanos(ms * 1_000_000)).collect();
        let mut instant = (predictor("instant").expect("it is there").build)(&Options::default());
        study(&mut *instant, &recording(rtts), &losses, settle)
    }

    #[test]
    fn each_transition_of_figure_37() {
        // Low, high, low: a false positive. High, loss, low. A loss from low, high after it, low.
        let rtts = [20, 30, 20, 30, 30, 20, 20, 20, 20, 20, 30, 30, 30, 20];
        let study = run(&rtts, &[38, 75], Settle::RoundTrip);
        let counts = Counts {
            low_to_high: 2,
            high_to_loss: 1,
            loss_to_low: 1,
            low_to_loss: 1,
            high_to_low: 2,
            loss_to_high: 1,
        };
        assert_eq!(study.counts, counts);
        assert_eq!(study.queue_at_false_positives, [0.2, 0.2]);
        assert_eq!(study.counts.efficiency(), Some(1.0 / 3.0));
        assert_eq!(study.counts.false_negatives(), Some(0.5));
    }

    #[test]
    fn a_loss_may_last_until_delay_is_low() {
        let rtts = [20, 30, 30, 30, 30, 30, 30, 30, 20, 20];
        assert_eq!(run(&rtts, &[15], Settle::RoundTrip).counts.loss_to_high, 1);
        let low = run(&rtts, &[15], Settle::Low).counts;
        assert_eq!((low.loss_to_high, low.loss_to_low, low.high_to_low), (0, 1, 0));
    }

    #[test]
    fn without_anything_there_are_no_shares() {
        let study = run(&[20; 10], &[], Settle::RoundTrip);
        assert_eq!((study.counts.efficiency(), study.counts.false_negatives()), (None, None));
    }

    proptest! {
        /// The transitions into a state equal those out of it, except for the last one. Efficiency and false
        /// positives add up to one.
        #[test]
        fn transitions_balance(
            rtts in prop::collection::vec(20u64..35, 1..300),
            mut losses in prop::collection::vec(0u64..3000, 0..40),
            low: bool,
        ) {
            losses.sort_unstable();
            let counts = run(&rtts, &losses, if low { Settle::Low } else { Settle::RoundTrip }).counts;
            let high = (counts.low_to_high + counts.loss_to_high, counts.high_to_loss + counts.high_to_low);
            prop_assert!(high.0 - high.1 <= 1, "{counts:?}");
            let loss = (counts.high_to_loss + counts.low_to_loss, counts.loss_to_low + counts.loss_to_high);
            prop_assert!(loss.0 - loss.1 <= 1, "{counts:?}");
            if let (Some(efficiency), Some(false_positives)) = (counts.efficiency(), counts.false_positives()) {
                prop_assert!((efficiency + false_positives - 1.0).abs() < 1e-12);
            }
        }
    }
}
