//! What was expected, and the numbers that decided.

use serde::{Deserialize, Serialize};

/// An expectation and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expectation {
    /// The expression.
    pub that: String,
    /// True if it holds.
    pub holds: bool,
    /// The numbers that it used, if it does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Evidence>,
    /// The reason why it has no value, if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A number that an expression used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// The call, as it could be written: `goodput('reno', loss=1e-5)`.
    pub call: String,
    /// Its value. Null if there is none, "infinite" for an event that never happened.
    pub value: serde_json::Value,
    /// The standard deviation over seeds, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// The depth of the call within definitions. 0: in the text of the claim itself.
    pub depth: usize,
    /// True for a published number, false for a measured or computed one.
    pub published: bool,
}

impl Evidence {
    /// True if there was nothing to compute a value from, as for the mean of no samples.
    pub fn has_no_value(&self) -> bool {
        match &self.value {
            serde_json::Value::Null => true,
            serde_json::Value::Array(items) => items.iter().any(serde_json::Value::is_null),
            _ => false,
        }
    }
}
