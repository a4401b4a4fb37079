//! What came of a recording: every predictor against the flow's losses and against the bottleneck's.

use super::{Counts, Recording, Settle, Study, study};
use ackclock_cc::predictor::{Options, predictors};
use ackclock_units::Time;
use serde::{Deserialize, Serialize};

/// How well each predictor foresaw the losses of a recorded flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predictions {
    /// Acknowledgements with a sample.
    pub samples: usize,
    /// Losses that the flow found.
    pub flow_losses: usize,
    /// Packets of anyone that the bottleneck dropped, if that is known.
    pub queue_losses: Option<usize>,
    /// One entry per predictor.
    pub predictors: Vec<Predicted>,
}

/// A predictor and what came of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// Its word.
    pub name: String,
    /// Against the losses that the flow found.
    pub flow_losses: Outcome,
    /// Against the packets that the bottleneck dropped, if they are known.
    pub queue_losses: Option<Outcome>,
}

/// Tenths of the queue's room.
pub const BINS: usize = 10;

/// How often it was right.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The transitions of Figure 37.
    pub transitions: Counts,
    /// Share of the times of high delay that ended in a loss.
    pub efficiency: Option<f64>,
    /// Share of the times of high delay that ended without one.
    pub false_positives: Option<f64>,
    /// Share of the losses that no high delay announced.
    pub false_negatives: Option<f64>,
    /// Shares of the false positives at which the queue was in each tenth of its room; null without any.
    pub queue_at_false_positives: Option<[f64; BINS]>,
}

impl Predictions {
    /// Runs every predictor over `recording`.
    pub fn of(recording: &Recording, options: &Options, settle: Settle) -> Predictions {
        let judged = predictors().iter().map(|entry| {
            let outcome = |losses: &[Time]| {
                Outcome::of(&study(&mut *(entry.build)(options), recording, losses, settle))
            };
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
}

impl Outcome {
    fn of(study: &Study) -> Outcome {
        let counts = study.counts;
        Outcome {
            transitions: counts,
            efficiency: counts.efficiency(),
            false_positives: counts.false_positives(),
            false_negatives: counts.false_negatives(),
            queue_at_false_positives: histogram(&study.queue_at_false_positives),
        }
    }
}

/// Shares in each tenth; fuller than full counts as full.
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
