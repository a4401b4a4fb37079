//! How well predictors foresaw losses, as results tell it. The states are those of S. Bhandarkar (dissertation, Texas A&M
//! University, 2006), section IV.A, Figure 37.

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

/// How often the flow went from one state to another; the numbers are those of Figure 37.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// 1: delay becomes high.
    pub low_to_high: u64,
    /// 2: a loss while delay is high.
    pub high_to_loss: u64,
    /// 3: low delay after a loss.
    pub loss_to_low: u64,
    /// 4: a loss while delay is low.
    pub low_to_loss: u64,
    /// 5: delay becomes low again without a loss.
    pub high_to_low: u64,
    /// 6: delay still high after a loss.
    pub loss_to_high: u64,
}

/// A share, unless there is nothing to take it of.
fn share(part: u64, other: u64) -> Option<f64> {
    (part + other > 0).then(|| part as f64 / (part + other) as f64)
}

impl Counts {
    /// Share of the times of high delay that ended in a loss.
    pub fn efficiency(&self) -> Option<f64> {
        share(self.high_to_loss, self.high_to_low)
    }

    /// Share of the times of high delay that ended without one.
    pub fn false_positives(&self) -> Option<f64> {
        share(self.high_to_low, self.high_to_loss)
    }

    /// Share of the losses that no high delay announced.
    pub fn false_negatives(&self) -> Option<f64> {
        share(self.low_to_loss, self.high_to_loss)
    }
}
