//! Time, rate and size, each with its unit in the type, and the one place where a human writes them.
//!
//! Everything inside the engine is an integer of one base unit (nanoseconds, bits per second, bytes), so
//! that results do not depend on the platform. Text such as `"40 ms"`, `"1 Gbit/s"` or `"64 kB"` is read by
//! [`Duration`], [`Rate`] and [`Bytes`] through [`std::str::FromStr`]; a number without a unit is an error.

mod quantity;
mod rate;
mod time;

pub use quantity::{Bytes, QuantityError};
pub use rate::Rate;
pub use time::{Duration, Time};
