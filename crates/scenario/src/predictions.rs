//! How well predictors predicted losses, as reported in results. The states are those of S. Bhandarkar
//! (dissertation, Texas A&M University, 2006), section IV.A, Figure 37.

use serde::{Deserialize, Serialize};

/// How well each predictor predicted the losses of a recorded flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predictions {
    /// The number of acknowledgements with a sample.
    pub samples: usize,
    /// The number of losses that the flow detected.
    pub flow_losses: usize,
    /// The packets of all flows that the bottleneck dropped, if known.
    pub queue_losses: Option<usize>,
    /// One entry per predictor.
    pub predictors: Vec<Predicted>,
}

/// The result of a predictor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// The name of the predictor.
    pub name: String,
    /// Compared with the losses that the flow detected.
    pub flow_losses: Outcome,
    /// Compared with the packets that the bottleneck dropped, if known.
    pub queue_losses: Option<Outcome>,
}

/// The number of bins: tenths of the queue's capacity.
pub const BINS: usize = 10;

/// How often a predictor was right.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The transitions of Figure 37.
    pub transitions: Counts,
    /// The share of the periods of high delay that ended with a loss.
    pub efficiency: Option<f64>,
    /// The share of the periods of high delay that ended without a loss.
    pub false_positives: Option<f64>,
    /// The share of the losses without high delay before them.
    pub false_negatives: Option<f64>,
    /// The queue at false positives: the share of them in each tenth of its capacity. `None` if there are
    /// none.
    pub queue_at_false_positives: Option<[f64; BINS]>,
}

/// How often the flow changed from one state to another. The numbers are those of Figure 37.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// 1: the delay becomes high.
    pub low_to_high: u64,
    /// 2: a loss while the delay is high.
    pub high_to_loss: u64,
    /// 3: the delay is low after a loss.
    pub loss_to_low: u64,
    /// 4: a loss while the delay is low.
    pub low_to_loss: u64,
    /// 5: the delay becomes low again without a loss.
    pub high_to_low: u64,
    /// 6: the delay is still high after a loss.
    pub loss_to_high: u64,
}

/// part / (part + other), or `None` if both are zero.
fn share(part: u64, other: u64) -> Option<f64> {
    (part + other > 0).then(|| part as f64 / (part + other) as f64)
}

impl Counts {
    /// The share of the periods of high delay that ended with a loss.
    pub fn efficiency(&self) -> Option<f64> {
        share(self.high_to_loss, self.high_to_low)
    }

    /// The share of the periods of high delay that ended without a loss.
    pub fn false_positives(&self) -> Option<f64> {
        share(self.high_to_low, self.high_to_loss)
    }

    /// The share of the losses without high delay before them.
    pub fn false_negatives(&self) -> Option<f64> {
        share(self.low_to_loss, self.high_to_loss)
    }
}
