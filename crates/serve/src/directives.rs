//! The four directives that the thesis adds to Apache's httpd.conf (section 3.4):
//!
//! ```text
//! ExplicitRate On
//! NoCongestionCntrl On
//! ExplicitRateSize 128000
//! ExplicitRatePeriod 10000
//! ```
//!
//! The size is in bytes, the period in microseconds. Other directives and sections of such a file are
//! somebody else's, and are passed over. Names do not depend on case, and of several the last one holds, as
//! in Apache. The thesis leaves open what holds without them: nothing is on.

use crate::pacing::{Burst, BurstError, Pacing};

/// What a file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Directives {
    explicit_rate: bool,
    /// No congestion control.
    pub uncontrolled: bool,
    /// Bytes, and microseconds.
    size: Option<u64>,
    period: Option<u64>,
}

/// Why a file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DirectiveError {
    /// A line is wrong.
    #[error("line {line}: {name} takes {wanted}, not {found:?}")]
    Value {
        /// Its number, from 1.
        line: usize,
        /// The directive.
        name: &'static str,
        /// What it takes.
        wanted: &'static str,
        /// What stands there.
        found: String,
    },
    /// Size and period are no burst.
    #[error("ExplicitRateSize and ExplicitRatePeriod: {0}")]
    Burst(BurstError),
    /// One of both is missing.
    #[error("{0} is missing: ExplicitRateSize and ExplicitRatePeriod belong together")]
    Half(&'static str),
}

impl Directives {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If one of the four directives has no such value, or if the burst is out of range.
    pub fn read(text: &str) -> Result<Directives, DirectiveError> {
        let mut found = Directives::default();
        for (number, line) in text.lines().enumerate() {
            found.take(number + 1, line.trim())?;
        }
        found.burst()?;
        Ok(found)
    }

    fn take(&mut self, line: usize, text: &str) -> Result<(), DirectiveError> {
        let (name, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let value = value.trim().trim_matches('"');
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let wrong = |name, wanted| DirectiveError::Value { line, name, wanted, found: value.to_owned() };
        let switch = |name| match value {
            _ if value.eq_ignore_ascii_case("on") => Ok(true),
            _ if value.eq_ignore_ascii_case("off") => Ok(false),
            _ => Err(wrong(name, "On or Off")),
        };
        if is("ExplicitRate") {
            self.explicit_rate = switch("ExplicitRate")?;
        } else if is("NoCongestionCntrl") {
            self.uncontrolled = switch("NoCongestionCntrl")?;
        } else if is("ExplicitRateSize") {
            self.size = Some(number(value).ok_or_else(|| wrong("ExplicitRateSize", "a number of bytes"))?);
        } else if is("ExplicitRatePeriod") {
            let wanted = "a number of microseconds";
            self.period = Some(number(value).ok_or_else(|| wrong("ExplicitRatePeriod", wanted))?);
        }
        Ok(())
    }

    fn burst(&self) -> Result<Option<Burst>, DirectiveError> {
        match (self.size, self.period) {
            (None, None) => Ok(None),
            (Some(size), Some(period)) => {
                Burst::numbers(size, period).map(Some).map_err(DirectiveError::Burst)
            }
            (None, _) => Err(DirectiveError::Half("ExplicitRateSize")),
            (_, None) => Err(DirectiveError::Half("ExplicitRatePeriod")),
        }
    }

    /// What they mean for responses.
    pub fn pacing(&self) -> Pacing {
        match self.burst() {
            _ if !self.explicit_rate => Pacing::Off,
            Ok(Some(burst)) => Pacing::Always(burst),
            // `read` has refused everything else.
            _ => Pacing::OnRequest,
        }
    }
}

/// A number of decimal digits.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_directives() {
        let text = "# pacing\nServerName omega\nExplicitRate On\nNoCongestionCntrl On\n\
            ExplicitRateSize 128000\n  explicitrateperiod \"10000\"  \n<Directory />\n</Directory>\n";
        let found = Directives::read(text).expect("a good file");
        let burst = "128 kB/10 ms".parse().expect("a burst");
        assert_eq!((found.pacing(), found.uncontrolled), (Pacing::Always(burst), true));
    }

    #[test]
    fn without_them_nothing_is_on() {
        let pacing = |text| Directives::read(text).expect("a good file").pacing();
        assert_eq!(pacing(""), Pacing::Off);
        assert_eq!(pacing("ExplicitRateSize 128000\nExplicitRatePeriod 10000"), Pacing::Off);
        assert_eq!(pacing("ExplicitRate on"), Pacing::OnRequest);
        assert_eq!(pacing("ExplicitRate On\nExplicitRate Off"), Pacing::Off, "the last one holds");
        assert_eq!(pacing("#ExplicitRate On\nExplicitRates On"), Pacing::Off);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| Directives::read(text).expect_err(text).to_string();
        assert_eq!(wrong("\nExplicitRate yes"), "line 2: ExplicitRate takes On or Off, not \"yes\"");
        assert!(wrong("ExplicitRateSize 128 kB").contains("a number of bytes, not \"128 kB\""));
        assert!(wrong("ExplicitRatePeriod -1").contains("microseconds"));
        assert!(wrong("ExplicitRateSize").contains("not \"\""));
        assert!(wrong("ExplicitRateSize 128000").contains("ExplicitRatePeriod is missing"));
        assert!(wrong("ExplicitRateSize 128000\nExplicitRatePeriod 10").contains("1000 us"));
        assert!(
            wrong("ExplicitRateSize 128000\nExplicitRatePeriod 18446744073709551615").contains("refused")
        );
        assert!(wrong("ExplicitRateSize 99999999999999999999\nExplicitRatePeriod 10000").contains("line 1"));
    }
}
