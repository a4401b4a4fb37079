//! How a response is paced: a burst every period. The words are those of scenarios (`size`, `every`).

use ackclock_scenario::writing::Bursts;
use ackclock_units::{Bytes, Duration};
use std::fmt;
use std::str::FromStr;

/// The smallest burst: one segment of Ethernet without options, bytes.
pub(crate) const LEAST_SIZE: u64 = 1460;
/// The largest burst, bytes.
pub(crate) const MOST_SIZE: u64 = 16 << 20;
/// The shortest period.
pub(crate) const LEAST_PERIOD: Duration = Duration::from_millis(1);
/// The longest period.
pub(crate) const MOST_PERIOD: Duration = Duration::from_secs(10);

/// A burst and its period: 1460 B to 16 MiB, 1 ms to 10 s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    size: u64,
    every: Duration,
}

/// Why a burst is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BurstError {
    /// The form is wrong.
    #[error("{0:?} is no burst: write a size and a period, such as \"128 kB/10 ms\"")]
    Form(String),
    /// A quantity cannot be read.
    #[error("{0}")]
    Quantity(String),
    /// The size is out of range, bytes.
    #[error("a burst of {0} B is refused: {LEAST_SIZE} to {MOST_SIZE} B are possible")]
    Size(u64),
    /// The period is out of range, microseconds.
    #[error("a period of {0} us is refused: 1000 us (1 ms) to 10000000 us (10 s) are possible")]
    Period(u64),
}

impl Burst {
    /// A burst of `size` bytes every `every`.
    ///
    /// # Errors
    ///
    /// If one of them is out of range.
    pub fn new(size: u64, every: Duration) -> Result<Burst, BurstError> {
        if !(LEAST_SIZE..=MOST_SIZE).contains(&size) {
            return Err(BurstError::Size(size));
        }
        if !(LEAST_PERIOD..=MOST_PERIOD).contains(&every) {
            return Err(BurstError::Period(every.as_nanos() / 1000));
        }
        Ok(Burst { size, every })
    }

    /// A burst of `size` bytes every `period` microseconds: the numbers of header fields and directives.
    ///
    /// # Errors
    ///
    /// If one of them is out of range.
    pub fn numbers(size: u64, period: u64) -> Result<Burst, BurstError> {
        // More nanoseconds than a duration has are out of range, too.
        let every = period.checked_mul(1000).map(Duration::from_nanos).ok_or(BurstError::Period(period))?;
        Burst::new(size, every)
    }

    /// Bytes.
    pub fn size(self) -> u64 {
        self.size
    }

    /// The period.
    pub fn every(self) -> Duration {
        self.every
    }

    /// The bursts of a response of so many bytes. The last one is what remains.
    pub(crate) fn bursts_of(self, bytes: u64) -> Bursts {
        Bursts { size: self.size, every: self.every, count: bytes.div_ceil(self.size), queued: false }
    }
}

impl FromStr for Burst {
    type Err = BurstError;

    fn from_str(text: &str) -> Result<Burst, BurstError> {
        let (size, every) = text.split_once('/').ok_or_else(|| BurstError::Form(text.to_owned()))?;
        let wrong = |error: ackclock_units::QuantityError| BurstError::Quantity(error.to_string());
        let size: Bytes = size.trim().parse().map_err(wrong)?;
        Burst::new(size.0, every.trim().parse().map_err(wrong)?)
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} every {}", Bytes(self.size), self.every)
    }
}

/// What a server does about bursts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// Nothing, whatever a request asks for.
    Off,
    /// What a request asks for; else nothing.
    OnRequest,
    /// What a request asks for; else this.
    Always(Burst),
}

/// What a request asks for: its header fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Asked {
    /// Bytes (`Rate`).
    pub(crate) size: Option<u64>,
    /// Microseconds (`Period`).
    pub(crate) period_us: Option<u64>,
}

impl Pacing {
    /// The pacing of one response.
    pub(crate) fn of(self, asked: Asked) -> Result<Option<Burst>, String> {
        let own = match self {
            Pacing::Off => return Ok(None),
            Pacing::OnRequest => None,
            Pacing::Always(burst) => Some(burst),
        };
        if asked == Asked::default() {
            return Ok(own);
        }
        let size = asked.size.or(own.map(Burst::size));
        let period = asked.period_us.or(own.map(|own| own.every().as_nanos() / 1000));
        match (size, period) {
            (Some(size), Some(period)) => {
                Burst::numbers(size, period).map(Some).map_err(|error| error.to_string())
            }
            (None, _) => Err("Period needs Rate: this server has no burst of its own".to_owned()),
            (_, None) => Err("Rate needs Period: this server has no burst of its own".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(text: &str) -> Burst {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn bursts_are_written_as_in_scenarios() {
        assert_eq!(burst("128 kB/10 ms"), burst("128kB / 0.01 s"));
        assert_eq!(burst("128 kB/10 ms").to_string(), "128000 B every 10 ms");
        for wrong in
            ["128 kB", "128/10 ms", "10 ms/128 kB", "1 kB/10 ms", "17 MiB/10 ms", "2 kB/900 us", "2 kB/11 s"]
        {
            assert!(wrong.parse::<Burst>().is_err(), "{wrong}");
        }
        for right in ["1460 B/1 ms", "16 MiB/10 s"] {
            burst(right);
        }
    }

    /// 422 kB (kB = 1000 B): the thesis's largest file, section 4.6.
    #[test]
    fn the_last_burst_is_what_remains() {
        let count = |text: &str, bytes| burst(text).bursts_of(bytes).count;
        assert_eq!([count("32 kB/10 ms", 422_000), count("64 kB/10 ms", 422_000)], [14, 7]);
        assert_eq!([count("128 kB/10 ms", 422_000), count("128 kB/10 ms", 0)], [4, 0]);
        assert_eq!([count("2 kB/10 ms", 4000), count("2 kB/10 ms", 4001)], [2, 3]);
    }

    #[test]
    fn a_request_goes_before_the_server() {
        let own = burst("128 kB/10 ms");
        let asked = |size, period_us| Asked { size, period_us };
        assert_eq!(Pacing::Always(own).of(asked(None, None)), Ok(Some(own)));
        assert_eq!(Pacing::Always(own).of(asked(Some(64_000), None)), Ok(Some(burst("64 kB/10 ms"))));
        assert_eq!(Pacing::Always(own).of(asked(None, Some(5000))), Ok(Some(burst("128 kB/5 ms"))));
        assert_eq!(Pacing::OnRequest.of(asked(Some(64_000), Some(5000))), Ok(Some(burst("64 kB/5 ms"))));
        assert_eq!(Pacing::OnRequest.of(asked(None, None)), Ok(None));
        assert_eq!(Pacing::Off.of(asked(Some(1), Some(1))), Ok(None));
        for half in [
            asked(Some(64_000), None),
            asked(None, Some(5000)),
            asked(Some(1), Some(5000)),
            asked(Some(64_000), Some(u64::MAX)),
        ] {
            assert!(Pacing::OnRequest.of(half).is_err(), "{half:?}");
        }
    }
}
