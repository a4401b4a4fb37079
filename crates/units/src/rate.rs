//! Data rates in bits per second.

use crate::quantity::{QuantityError, Scale, read};
use crate::time::Duration;
use std::fmt;
use std::str::FromStr;

/// A rate in bits per second. A rate that was read from text is between 1 bit/s and 100 Tbit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// The rate in bits per second.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// The rate in bits per second, as a float.
    #[inline]
    pub fn bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// The transmission time of `bytes` at this rate, rounded down to whole nanoseconds.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(self.0.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The number of bytes that pass in `span`. If `span` is a round-trip time, this is the bandwidth-delay
    /// product.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> f64 {
        self.0 as f64 * span.as_secs_f64() / 8.0
    }
}

const SCALES: &[Scale] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        let bps = read(text, "a rate", "\"1 Gbit/s\"", SCALES)?;
        if !(1.0..=1e14).contains(&bps) {
            return Err(QuantityError::new(text, "a rate", "between 1 bit/s and 100 Tbit/s"));
        }
        Ok(Rate((bps + 0.5) as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{bps} bit/s"),
            1_000..1_000_000 => write!(f, "{} kbit/s", bps / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{} Mbit/s", bps / 1e6),
            _ => write!(f, "{} Gbit/s", bps / 1e9),
        }
    }
}
