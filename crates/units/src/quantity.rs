//! Reading a number with its unit from text, and [`Bytes`].

use std::fmt;
use std::str::FromStr;

/// The name of a unit, and its value in the base unit.
pub(crate) type Scale = (&'static str, f64);

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// The text is not a valid quantity. The error names the problem and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuantityError {
    text: String,
    wanted: &'static str,
    remedy: String,
}

impl QuantityError {
    pub(crate) fn new(text: &str, wanted: &'static str, remedy: impl Into<String>) -> QuantityError {
        QuantityError { text: text.to_owned(), wanted, remedy: remedy.into() }
    }

    /// The same with this remedy.
    pub(crate) fn or(self, remedy: impl Into<String>) -> QuantityError {
        QuantityError { remedy: remedy.into(), ..self }
    }

    /// What is wrong with the text, without the remedy.
    pub fn problem(&self) -> String {
        format!("\"{}\" is not {}", self.text, self.wanted)
    }

    /// What to write instead.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem(), self.remedy)
    }
}

impl std::error::Error for QuantityError {}

/// Reads `text` as a finite, non-negative number followed by one of `scales`.
///
/// Units match exactly. `Mb/s` could mean bits or bytes, so it is refused, not guessed.
pub(crate) fn read(
    text: &str,
    wanted: &'static str,
    example: &str,
    scales: &[Scale],
) -> Result<f64, QuantityError> {
    let trimmed = text.trim();
    let split = unit_starts_at(trimmed);
    let (number, unit) = (trimmed[..split].trim(), trimmed[split..].trim());
    let known = || scales.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    let value: f64 = number.parse().map_err(|_| {
        QuantityError::new(text, wanted, format!("write a number and a unit, for example {example}"))
    })?;
    if !value.is_finite() || value < 0.0 {
        return Err(QuantityError::new(text, wanted, "it must be finite and not negative"));
    }
    if unit.is_empty() {
        return Err(QuantityError::new(text, wanted, format!("add its unit, one of {}", known())));
    }
    let scale = scales.iter().find(|&&(name, _)| name == unit);
    match scale {
        Some(&(_, worth)) => Ok(value * worth),
        None => {
            let remedy = match meant(unit, scales) {
                Some(meant) => format!("there is no unit \"{unit}\" here; did you mean {meant}?"),
                None => format!("there is no unit \"{unit}\" here; the units are {}", known()),
            };
            Err(QuantityError::new(text, wanted, remedy))
        }
    }
}

/// The known unit that differs from `unit` in case only. A lone b is ambiguous, so both readings are named.
fn meant(unit: &str, scales: &[Scale]) -> Option<String> {
    let find =
        |wanted: &str| scales.iter().map(|&(name, _)| name).find(|name| name.eq_ignore_ascii_case(wanted));
    if let Some(prefix) = unit.strip_suffix("b/s").or_else(|| unit.strip_suffix("b"))
        && let (Some(bits), Some(bytes)) = (find(&format!("{prefix}bit/s")), find(&format!("{prefix}B/s")))
    {
        return Some(format!("\"{bits}\" (bits) or \"{bytes}\" (bytes)"));
    }
    find(unit).map(|name| format!("\"{name}\""))
}

/// The index at which the number ends. An exponent (`1e3`) belongs to the number.
fn unit_starts_at(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let exponent = matches!(byte, b'e' | b'E')
            && at > 0
            && matches!(bytes.get(at + 1), Some(b'0'..=b'9' | b'+' | b'-'));
        if exponent {
            at += 2;
        } else if byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-' | b'_') {
            at += 1;
        } else {
            break;
        }
    }
    at
}

const SCALES: &[Scale] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        let bytes = read(text, "a size", "\"64 kB\"", SCALES)?;
        if bytes > 1e18 {
            return Err(QuantityError::new(text, "a size", "at most 1e18 B"));
        }
        Ok(Bytes((bytes + 0.5) as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Duration, Rate};

    #[test]
    fn reads_numbers_with_units() {
        assert_eq!("40 ms".parse(), Ok(Duration::from_millis(40)));
        assert_eq!("1.5s".parse(), Ok(Duration::from_millis(1500)));
        assert_eq!("1e3 us".parse(), Ok(Duration::from_millis(1)));
        assert_eq!("1 Gbit/s".parse(), Ok(Rate::from_bps(1_000_000_000)));
        assert_eq!("1gbit".parse(), Ok(Rate::from_bps(1_000_000_000)));
        assert_eq!("2.4 Gbps".parse(), Ok(Rate::from_bps(2_400_000_000)));
        assert_eq!("64 kB".parse(), Ok(Bytes(64_000)));
        assert_eq!("2 GiB".parse(), Ok(Bytes(2 << 30)));
    }

    #[test]
    fn refuses_what_is_not_a_quantity() {
        for wrong in ["", "40", "ms", "-1 ms", "nan s", "inf s", "1 furlong", "1e400 s", "4 0 ms"] {
            assert!(wrong.parse::<Duration>().is_err(), "{wrong}");
        }
        for wrong in ["0 bit/s", "1 Mb/s", "1 mB/h", "1 GB", "1e30 bit/s"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missing_unit_names_the_units() {
        let error = "40".parse::<Duration>().expect_err("no unit");
        assert!(error.to_string().contains("ms"), "{error}");
    }

    #[test]
    fn time_for_is_exact_where_it_can_be() {
        assert_eq!(Rate::from_bps(1_000_000_000).time_for(1040), Duration::from_nanos(8320));
        assert_eq!(Rate::from_bps(700_000_000).time_for(1500).as_nanos(), 17142);
    }
}
