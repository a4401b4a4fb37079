//! Time, rate and size. Each type carries its unit, and only this crate reads a quantity from text.
//!
//! Inside the engine every quantity is an integer of one base unit: nanoseconds, bits per second, bytes.
//! Results therefore do not depend on the platform. [`Duration`], [`Rate`], [`Bytes`] and [`Room`] read text
//! such as `"40 ms"`, `"1 Gbit/s"`, `"64 kB"` or `"1 bdp"` through [`std::str::FromStr`]. A number without a
//! unit is an error.

mod quantity;
mod rate;
mod room;
mod time;

pub use quantity::{Bytes, QuantityError};
pub use rate::Rate;
pub use room::Room;
pub use time::{Duration, Time};
