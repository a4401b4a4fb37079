//! The result of a recording: every predictor, compared with the losses of the flow and those of the
//! bottleneck.

use super::machine::{Study, study};
use ackclock_cc::predictor::{Options, predictors};
use ackclock_scenario::Settle;
use ackclock_scenario::predictions::{BINS, Outcome, Predicted, Predictions};
use ackclock_sim::observers::Recording;
use ackclock_units::Time;

/// Runs every predictor over `recording`.
pub fn predictions(recording: &Recording, options: &Options, settle: Settle) -> Predictions {
    let judged = predictors().iter().map(|entry| {
        let outcome =
            |losses: &[Time]| outcome(&study(&mut *(entry.build)(options), recording, losses, settle));
        Predicted {
            name: entry.name.to_owned(),
            flow_losses: outcome(&recording.flow_losses),
            queue_losses: recording.queue_losses.as_deref().map(outcome),
        }
    });
    Predictions {
        samples: recording.readings.len(),
        flow_losses: recording.flow_losses.len(),
        queue_losses: recording.queue_losses.as_ref().map(Vec::len),
        predictors: judged.collect(),
    }
}

fn outcome(study: &Study) -> Outcome {
    let counts = study.counts;
    Outcome {
        transitions: counts,
        efficiency: counts.efficiency(),
        false_positives: counts.false_positives(),
        false_negatives: counts.false_negatives(),
        queue_at_false_positives: histogram(&study.queue_at_false_positives),
    }
}

/// The share in each tenth. Values above 1 count as 1.
fn histogram(queue: &[f32]) -> Option<[f64; BINS]> {
    if queue.is_empty() {
        return None;
    }
    let mut bins = [0.0; BINS];
    for &filled in queue {
        bins[((filled.max(0.0) * BINS as f32) as usize).min(BINS - 1)] += 1.0 / queue.len() as f64;
    }
    Some(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_of_the_queue() {
        assert_eq!(histogram(&[]), None);
        let bins = histogram(&[0.0, 0.05, 0.95, 1.2]).expect("there are some");
        assert_eq!((bins[0], bins[9]), (0.5, 0.5));
    }
}
