//! A feed-forward network that decides: the last intervals in, one action out.

use super::interval::FEATURES;
use super::{Mind, Policy, Start};
use crate::blueprint::{Blueprint, checksum};
use crate::{Controller, Needs};
use std::fmt;
use std::sync::Arc;

/// What a layer does with the sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// The hyperbolic tangent.
    Tanh,
    /// Zero below zero.
    Relu,
    /// Nothing.
    Identity,
}

impl Activation {
    /// All of them, with their names in files.
    pub const ALL: [(&'static str, Activation); 3] =
        [("tanh", Activation::Tanh), ("relu", Activation::Relu), ("identity", Activation::Identity)];

    fn of(self, sum: f64) -> f64 {
        match self {
            Activation::Tanh => libm::tanh(sum),
            Activation::Relu => sum.max(0.0),
            Activation::Identity => sum,
        }
    }
}

/// A layer: `outputs = activation(weights inputs + biases)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// One row for each output, with one weight for each input.
    pub weights: Vec<Vec<f64>>,
    /// One for each output.
    pub biases: Vec<f64>,
    /// What is done with the sums.
    pub activation: Activation,
}

/// The network of a policy, and how it is asked.
#[derive(PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
    pub(super) history: usize,
    pub(super) interval: f64,
    pub(super) scale: f64,
    checksum: u64,
}

/// The most layers, outputs of one, and weights of all.
pub const MOST_LAYERS: usize = 16;
/// The most outputs of a layer.
pub const MOST_OUTPUTS: usize = 1024;
/// The most intervals of the history.
pub const MOST_HISTORY: usize = 100;
/// The most weights of all layers together: a decision takes well below a millisecond.
pub const MOST_WEIGHTS: usize = 1 << 18;
/// The largest absolute value of a weight or a bias, so that no sum is infinite.
const MOST_WEIGHT: f64 = 1e9;

/// Why numbers are no policy: the place as a dotted path, and the problem.
#[derive(Clone, PartialEq, Debug)]
pub struct NetworkError {
    /// The place.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for NetworkError {}

fn wrong<T>(place: impl Into<String>, problem: impl Into<String>) -> Result<T, NetworkError> {
    Err(NetworkError { place: place.into(), problem: problem.into() })
}

impl Network {
    /// A network of `layers` over the features of the last `history` intervals, the oldest first. An interval
    /// lasts `interval` round-trip times. An action of 1 changes the rate by `scale`.
    ///
    /// # Errors
    ///
    /// [`NetworkError`] if the layers do not fit together, are too large, or have numbers that are none.
    pub fn new(
        layers: Vec<Layer>,
        history: usize,
        interval: f64,
        scale: f64,
    ) -> Result<Network, NetworkError> {
        if !(1..=MOST_HISTORY).contains(&history) {
            return wrong("history", format!("{history} is not from 1 to {MOST_HISTORY}"));
        }
        if !(0.1..=10.0).contains(&interval) {
            return wrong("interval", format!("{interval} is not from 0.1 to 10 round-trip times"));
        }
        if !(1e-6..=1.0).contains(&scale) {
            return wrong("scale", format!("{scale} is not from 0.000001 to 1"));
        }
        if layers.is_empty() || layers.len() > MOST_LAYERS {
            return wrong("layers", format!("there are {}, not from 1 to {MOST_LAYERS}", layers.len()));
        }
        let mut inputs = history * FEATURES.len();
        let mut weights = 0;
        for (number, layer) in layers.iter().enumerate() {
            check(&format!("layers.{number}"), layer, inputs)?;
            weights += inputs * layer.biases.len();
            inputs = layer.biases.len();
        }
        if inputs != 1 {
            return wrong(
                format!("layers.{}", layers.len() - 1),
                format!("the last layer has {inputs} outputs, and a policy has one: the action"),
            );
        }
        if weights > MOST_WEIGHTS {
            return wrong("layers", format!("they have {weights} weights; at most {MOST_WEIGHTS}"));
        }
        let numbers = layers.iter().flat_map(|layer| {
            let weights = layer.weights.iter().flatten().chain(&layer.biases).map(|weight| weight.to_bits());
            weights.chain([layer.activation as u64, layer.biases.len() as u64])
        });
        let checksum = checksum(numbers.chain([history as u64, interval.to_bits(), scale.to_bits()]));
        Ok(Network { layers, history, interval, scale, checksum })
    }

    /// The rule that stands where no file is given: three numbers, set by hand.
    pub(super) fn by_hand() -> Network {
        let layer = Layer {
            weights: vec![vec![-40.0, -4.0, 0.0]],
            biases: vec![5.0],
            activation: Activation::Identity,
        };
        let checksum = 0;
        Network { layers: vec![layer], history: 1, interval: 1.0, scale: 0.025, checksum }
    }

    /// The largest number of outputs of a layer.
    pub(super) fn width(&self) -> usize {
        self.layers.iter().map(|layer| layer.biases.len()).max().unwrap_or(0)
    }

    /// The action for these features. `room` has twice the [width](Network::width).
    pub(super) fn decide(&self, features: &[f64], room: &mut [f64]) -> f64 {
        let (mut inputs, mut outputs) = room.split_at_mut(room.len() / 2);
        for (number, layer) in self.layers.iter().enumerate() {
            let before = if number == 0 { features } else { &*inputs };
            for ((row, bias), output) in layer.weights.iter().zip(&layer.biases).zip(outputs.iter_mut()) {
                let sum: f64 = row.iter().zip(before).map(|(weight, input)| weight * input).sum();
                *output = layer.activation.of(sum + bias);
            }
            std::mem::swap(&mut inputs, &mut outputs);
        }
        inputs.first().copied().unwrap_or(0.0)
    }
}

/// Checks the shape of a layer with so many inputs, and its numbers.
fn check(place: &str, layer: &Layer, inputs: usize) -> Result<(), NetworkError> {
    let outputs = layer.biases.len();
    if !(1..=MOST_OUTPUTS).contains(&outputs) {
        return wrong(
            format!("{place}.biases"),
            format!("there are {outputs}, not from 1 to {MOST_OUTPUTS}"),
        );
    }
    if layer.weights.len() != outputs {
        return wrong(
            format!("{place}.weights"),
            format!(
                "there are {} rows, and {outputs} biases: a row and a bias for each output",
                layer.weights.len()
            ),
        );
    }
    for (number, row) in layer.weights.iter().enumerate() {
        let place = format!("{place}.weights.{number}");
        if row.len() != inputs {
            return wrong(place, format!("there are {} weights, and {inputs} inputs", row.len()));
        }
        numbers(&place, row)?;
    }
    numbers(&format!("{place}.biases"), &layer.biases)
}

fn numbers(place: &str, numbers: &[f64]) -> Result<(), NetworkError> {
    match numbers.iter().position(|number| number.is_nan() || number.abs() > MOST_WEIGHT) {
        Some(at) => wrong(format!("{place}.{at}"), format!("{} is not from -1e9 to 1e9", numbers[at])),
        None => Ok(()),
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {:016x}", self.checksum)
    }
}

impl Blueprint for Network {
    fn needs(&self) -> Needs {
        Policy::NEEDS
    }

    fn build(self: Arc<Self>) -> Box<dyn Controller> {
        Box::new(Policy::new(Mind::Network(self), Start::Doubling))
    }

    fn checksum(&self) -> u64 {
        self.checksum
    }

    fn of_flow(self: Arc<Self>, _number: usize, _label: &str) -> Arc<dyn Blueprint> {
        self
    }
}
