//! Settings: the values of parameters, checked against their domains.

use crate::{Domain, Parameter, Value};
use ackclock_units::{Bytes, Duration, Room};
use std::fmt;
use std::sync::Arc;

/// A value that a user gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Given<'a> {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A word.
    Word(&'a str),
    /// A span of time.
    Time(Duration),
    /// A size.
    Size(Bytes),
    /// Room in a queue.
    Room(Room),
}

/// Why a setting was refused.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingsError {
    /// There is no parameter of this name.
    Unknown {
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The value is not in the parameter's domain.
    Outside {
        /// The allowed values.
        domain: String,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingsError::Unknown { known } if known.is_empty() => write!(f, "it has no parameters"),
            SettingsError::Unknown { known } => write!(f, "its parameters are {}", known.join(", ")),
            SettingsError::Outside { domain } => write!(f, "it must be {domain}"),
        }
    }
}

impl std::error::Error for SettingsError {}

/// The values of an entry's parameters. Each is valid, or missing if it has no default and was not given.
#[derive(Clone, Debug)]
pub struct Settings {
    parameters: &'static [Parameter],
    /// Shared: every connection of a run has a copy.
    values: Arc<[Value]>,
}

impl PartialEq for Settings {
    /// Equal if parameters and values are equal.
    fn eq(&self, other: &Settings) -> bool {
        let names = |settings: &Settings| settings.parameters.iter().map(|parameter| parameter.name);
        self.values == other.values && names(self).eq(names(other))
    }
}

/// A type as which a value can be read.
pub trait FromValue: Sized {
    /// The value as this type. `None` if it is of another kind.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $kind:ident),*) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Option<$type> {
                if let Value::$kind(inner) = value { Some(inner) } else { None }
            }
        }
    )*};
}

from_value!(f64: Number, u64: Count, bool: Flag, &'static str: Choice, Duration: Time, Bytes: Size, Room: Room);

impl Settings {
    /// The default of every parameter.
    pub fn defaults(parameters: &'static [Parameter]) -> Settings {
        Settings { parameters, values: parameters.iter().map(|parameter| parameter.default).collect() }
    }

    /// Sets a parameter, and checks its name and domain. The registry of controllers sets a controller
    /// underneath.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Unknown`] if there is no such parameter, [`SettingsError::Outside`] if it does not
    /// allow the value.
    pub fn set(&mut self, name: &str, given: Given<'_>) -> Result<(), SettingsError> {
        let known = || self.parameters.iter().map(|parameter| parameter.name).collect();
        let at = self.position(name).ok_or_else(|| SettingsError::Unknown { known: known() })?;
        let parameter = &self.parameters[at];
        let value = match (&parameter.domain, given) {
            (Domain::Range(range), Given::Number(number)) if range.contains(&number) => {
                Some(Value::Number(number))
            }
            (Domain::Count(range), Given::Number(number)) => {
                whole(number).filter(|count| range.contains(count)).map(Value::Count)
            }
            (Domain::OnOff, Given::Flag(on)) => Some(Value::Flag(on)),
            (Domain::Words(words), Given::Word(word)) => {
                words.iter().find(|&&(known, _)| known == word).map(|&(known, _)| Value::Choice(known))
            }
            (Domain::Time(least), Given::Time(time)) if *least <= time => Some(Value::Time(time)),
            (Domain::Size(range), Given::Size(size)) if range.contains(&size.0) => Some(Value::Size(size)),
            (Domain::Room, Given::Room(room)) => Some(Value::Room(room)),
            _ => None,
        };
        let value = value.ok_or_else(|| SettingsError::Outside { domain: parameter.domain_text() })?;
        Arc::make_mut(&mut self.values)[at] = value;
        Ok(())
    }

    /// Sets a parameter to a value that the caller has checked.
    ///
    /// # Panics
    ///
    /// If there is no such parameter. That is a mistake in the entry's own file, and a test finds it.
    pub fn put(&mut self, name: &str, value: Value) {
        match self.position(name) {
            Some(at) => Arc::make_mut(&mut self.values)[at] = value,
            None => panic!("no parameter {name} is declared"),
        }
    }

    /// The first parameter that needs a value and has none.
    pub fn missing(&self) -> Option<&'static Parameter> {
        self.iter().find(|(_, value)| *value == Value::Needed).map(|(parameter, _)| parameter)
    }

    /// All parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, Value)> + '_ {
        self.parameters.iter().zip(self.values.iter().copied())
    }

    /// The description of parameter `name`, if there is one.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.position(name).map(|at| &self.parameters[at])
    }

    /// The value of parameter `name`. `None` if it has no value, or one of another type.
    pub fn given<T: FromValue>(&self, name: &str) -> Option<T> {
        self.position(name).and_then(|at| T::from_value(self.values[at]))
    }

    /// The value of parameter `name`.
    ///
    /// # Panics
    ///
    /// If there is no such parameter, or it has no value of this type. That is a mistake in the entry's own
    /// file, and a test finds it.
    pub fn get<T: FromValue>(&self, name: &str) -> T {
        let value = self.position(name).map(|at| self.values[at]);
        match value.and_then(T::from_value) {
            Some(value) => value,
            None => panic!("no {} {name} is declared: {value:?}", std::any::type_name::<T>()),
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }
}

/// `number` as an integer. `None` if it is not whole, or negative.
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(53)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter::number("gain", 0.5, "1/s", 0.0..=1.0, "a gain"),
        Parameter::count("queues", 1024, "", 1..=65_535, "their number"),
        Parameter::flag("mark", false, "a switch"),
        Parameter::choice("order", "first", &[("first", "one"), ("last", "other")], "a choice"),
        Parameter::time("target", Duration::from_millis(5), Duration::from_micros(1), "a time"),
        Parameter::size("quantum", Bytes(1514), 1..=1 << 30, "a size"),
        Parameter::room("limit", Room::Bdp(1.0), "room").needed(),
        Parameter::time("period", Duration::ZERO, Duration::ZERO, "a time").otherwise("the target"),
    ];

    #[test]
    fn values_are_of_the_domain_or_refused() {
        let mut settings = Settings::defaults(PARAMETERS);
        for (name, right) in [
            ("gain", Given::Number(1.0)),
            ("queues", Given::Number(1.0)),
            ("mark", Given::Flag(true)),
            ("order", Given::Word("last")),
            ("target", Given::Time(Duration::from_micros(1))),
            ("quantum", Given::Size(Bytes(1))),
            ("limit", Given::Room(Room::Packets(5.0))),
            ("period", Given::Time(Duration::ZERO)),
        ] {
            settings.set(name, right).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let before = settings.clone();
        for (name, wrong, says) in [
            ("gain", Given::Number(1.5), "0 to 1"),
            ("gain", Given::Number(f64::NAN), "0 to 1"),
            ("queues", Given::Number(1.5), "a whole number, 1 to 65535"),
            ("queues", Given::Number(-1.0), "1 to 65535"),
            ("mark", Given::Number(1.0), "true or false"),
            ("order", Given::Word("middle"), "\"first\", \"last\""),
            ("target", Given::Time(Duration::ZERO), "at least 1 us"),
            ("quantum", Given::Size(Bytes(0)), "1 B to 1073741824 B"),
            ("limit", Given::Time(Duration::ZERO), "packets, bdp or a size"),
            ("order", Given::Flag(true), "\"first\""),
            ("limt", Given::Flag(true), "its parameters are gain"),
        ] {
            let error = settings.set(name, wrong).expect_err(name).to_string();
            assert!(error.contains(says), "{name}: {error}");
        }
        assert_eq!(settings, before);
    }

    #[test]
    fn what_is_not_given_has_its_default_or_no_value() {
        let settings = Settings::defaults(PARAMETERS);
        assert_eq!(settings.get::<u64>("queues"), 1024);
        assert_eq!(settings.given::<Duration>("period"), None);
        assert_eq!(settings.missing().map(|parameter| parameter.name), Some("limit"));
        assert!(PARAMETERS.iter().all(Parameter::default_is_allowed));
        let texts: Vec<_> = PARAMETERS.iter().map(|parameter| parameter.default.to_string()).collect();
        assert_eq!(texts[1], "1024");
        assert_eq!(texts[4..], ["\"5 ms\"", "\"1514 B\"", "(must be given)", "(the target)"]);
    }
}
