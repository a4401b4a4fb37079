//! Time, rate and size. Each type carries its unit, and only this crate reads a quantity from text.
//!
//! Inside the engine every quantity is an integer of one base unit: nanoseconds, bits per second, bytes.
//! Results therefore do not depend on the platform. [`Duration`], [`Rate`] and [`Bytes`] read text such as
//! `"40 ms"`, `"1 Gbit/s"` or `"64 kB"` through [`std::str::FromStr`]. A number without a unit is an error.

mod quantity;
mod rate;
mod time;

pub use quantity::{Bytes, QuantityError};
pub use rate::Rate;
pub use time::{Duration, Time};
