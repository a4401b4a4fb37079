//! What the capture of a link tells of a flow's connection, as reported in results.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first connection of a flow in the capture of a link, if the scenario asks for it with `trace`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TracedFlow {
    /// The number of the flow.
    pub flow: usize,
    /// The direction of its data, by the names of `ackclock trace --json`: `rtt.mean_s` is a number within
    /// `rtt`. 1 is true. What the capture does not tell is absent.
    pub data: BTreeMap<String, f64>,
    /// The direction of its acknowledgements.
    pub acknowledgements: BTreeMap<String, f64>,
    /// When the first packets with data passed, s since the first packet of the connection.
    pub data_at_s: Vec<f64>,
    /// The first acknowledgements of data, in order.
    pub acks: Vec<TracedAck>,
}

/// An acknowledgement in a capture.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TracedAck {
    /// When it passed, s since the first packet of the connection.
    pub at_s: f64,
    /// The bytes that are acknowledged by then.
    pub acked_bytes: u64,
    /// The bytes that are outstanding behind it.
    pub outstanding_bytes: u64,
    /// The packets with data between it and the next one.
    pub sent: u64,
}
