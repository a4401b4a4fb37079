//! A local web page over the simulator: change a number of a scenario, and look.
//!
//! The server has no state but what is being computed: a request carries its scenarios, and the answer is a
//! stream of pictures that ends when the run does. Whoever hangs up, or asks again, ends the run before.
//!
//! Nothing outside is read or written. A scenario that names a file is refused at the place where it does.

mod answer;
mod edit;
mod fields;
mod gallery;
mod guard;
mod limits;
mod pages;
mod pictures;
mod problem;
mod running;
mod server;
mod stream;
#[cfg(test)]
mod tests;

pub use guard::Token;
pub use limits::Limits;
pub use problem::Problem;
pub use server::{Lab, LabError, Settings};

use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::Glimpse;
use serde_json::Value;

/// What emulates a scenario, for a lab that may. One run at a time asks it.
pub trait Emulator: Send + Sync {
    /// Emulates a scenario. Calls `go_on` from time to time with the share of the time that has passed, and
    /// stops if it returns false. Shows every sample to `see`. Returns the result, and what the emulator says
    /// of its own error.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the scenario cannot be emulated.
    fn emulate(
        &self,
        point: &Point,
        go_on: &dyn Fn(f64) -> bool,
        see: &(dyn Fn(Glimpse) + Sync),
    ) -> Result<(PointResult, Value), Problem>;
}
