//! Numbers that are drawn: laws, the functions of scripts that stand for them, and types of traffic.

mod law;
mod models;

pub use law::{Law, Numbers, Shape};
pub use models::{FUNCTIONS, Function, TYPES, TrafficType, function};

use serde::{Deserialize, Serialize};

/// A function of a script, with the arguments that it was given.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The name.
    pub function: String,
    /// The arguments, by name.
    pub arguments: Vec<(String, f64)>,
}

impl Draw {
    /// The law that it stands for. `None` if there is no such function, or if it has no values with these
    /// arguments.
    pub fn law(&self) -> Option<Law> {
        function(&self.function)?.law(&self.arguments)
    }
}
