//! Parameters: name, unit, default and allowed values.

use ackclock_units::{Bytes, Duration, Room};
use std::fmt;
use std::ops::RangeInclusive;

/// One parameter of an entry.
#[derive(Debug)]
pub struct Parameter {
    /// The key in files.
    pub name: &'static str,
    /// The unit in words. Empty for a number without a unit, and for a quantity that is written with its
    /// unit.
    pub unit: &'static str,
    /// The meaning of the parameter, and the origin of its default.
    pub about: &'static str,
    /// The default.
    pub default: Value,
    /// The values that are allowed.
    pub domain: Domain,
}

/// A parameter's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A number in the parameter's unit.
    Number(f64),
    /// A whole number in the parameter's unit.
    Count(u64),
    /// A switch that is on or off.
    Flag(bool),
    /// One of several words. For a controller underneath: its name.
    Choice(&'static str),
    /// A span of time.
    Time(Duration),
    /// A size.
    Size(Bytes),
    /// Room in a queue.
    Room(Room),
    /// A file that was read: a checksum of what it says.
    File(u64),
    /// No value: the entry then chooses one from something else, which these words name.
    Otherwise(&'static str),
    /// No value, and one must be given.
    Needed,
}

/// The values that a parameter may have.
#[derive(Debug)]
pub enum Domain {
    /// A number in a closed range.
    Range(RangeInclusive<f64>),
    /// A whole number in a closed range.
    Count(RangeInclusive<u64>),
    /// On or off.
    OnOff,
    /// One of these words, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// A time of at least this.
    Time(Duration),
    /// A size in a closed range, bytes.
    Size(RangeInclusive<u64>),
    /// Packets, bytes or multiples of the bandwidth-delay product.
    Room,
    /// A controller, by name or with its own parameters. It must not itself contain another controller.
    Controller,
    /// A file. Who reads the settings reads it, because the entry itself has no I/O.
    File,
}

impl Parameter {
    /// A number with its unit, default and range.
    pub const fn number(
        name: &'static str,
        default: f64,
        unit: &'static str,
        range: RangeInclusive<f64>,
        about: &'static str,
    ) -> Parameter {
        Parameter { name, unit, about, default: Value::Number(default), domain: Domain::Range(range) }
    }

    /// A whole number with its unit, default and range.
    pub const fn count(
        name: &'static str,
        default: u64,
        unit: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
    ) -> Parameter {
        Parameter { name, unit, about, default: Value::Count(default), domain: Domain::Count(range) }
    }

    /// A switch.
    pub const fn flag(name: &'static str, default: bool, about: &'static str) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Flag(default), domain: Domain::OnOff }
    }

    /// One of several words.
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        words: &'static [(&'static str, &'static str)],
        about: &'static str,
    ) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Choice(default), domain: Domain::Words(words) }
    }

    /// A time of at least `least`.
    pub const fn time(
        name: &'static str,
        default: Duration,
        least: Duration,
        about: &'static str,
    ) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Time(default), domain: Domain::Time(least) }
    }

    /// A size in a range of bytes.
    pub const fn size(
        name: &'static str,
        default: Bytes,
        range: RangeInclusive<u64>,
        about: &'static str,
    ) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Size(default), domain: Domain::Size(range) }
    }

    /// Room in a queue.
    pub const fn room(name: &'static str, default: Room, about: &'static str) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Room(default), domain: Domain::Room }
    }

    /// The controller underneath. An entry has at most one.
    pub const fn controller(name: &'static str, default: &'static str, about: &'static str) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Choice(default), domain: Domain::Controller }
    }

    /// A file. It has no default: make it [needed](Parameter::needed), or say what holds
    /// [otherwise](Parameter::otherwise).
    pub const fn file(name: &'static str, about: &'static str) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Needed, domain: Domain::File }
    }

    /// The same parameter without a default: a value must be given.
    #[must_use]
    pub const fn needed(self) -> Parameter {
        Parameter { default: Value::Needed, ..self }
    }

    /// The same parameter without a fixed default. `words` say what decides where no value is given.
    #[must_use]
    pub const fn otherwise(self, words: &'static str) -> Parameter {
        Parameter { default: Value::Otherwise(words), ..self }
    }

    /// The allowed values, in words.
    pub fn domain_text(&self) -> String {
        match &self.domain {
            Domain::Range(range) => format!("{} to {}", range.start(), range.end()),
            Domain::Count(range) => format!("a whole number, {} to {}", range.start(), range.end()),
            Domain::OnOff => "true or false".to_owned(),
            Domain::Words(words) => {
                words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
            }
            Domain::Time(least) if least.is_zero() => "a time".to_owned(),
            Domain::Time(least) => format!("a time, at least {least}"),
            Domain::Size(range) => format!("a size, {} to {}", Bytes(*range.start()), Bytes(*range.end())),
            Domain::Room => "packets, bdp or a size".to_owned(),
            Domain::Controller => "a controller that is not around another one".to_owned(),
            Domain::File => "the name of a file".to_owned(),
        }
    }

    /// The allowed words, each with its meaning. Empty if the parameter is not a choice.
    pub fn words(&self) -> &'static [(&'static str, &'static str)] {
        if let Domain::Words(words) = self.domain { words } else { &[] }
    }

    /// True if the domain allows the default, or if there is none.
    pub fn default_is_allowed(&self) -> bool {
        match (&self.domain, self.default) {
            (_, Value::Otherwise(_) | Value::Needed) | (Domain::Room, Value::Room(_)) => true,
            (Domain::Range(range), Value::Number(number)) => range.contains(&number),
            (Domain::Count(range), Value::Count(count)) => range.contains(&count),
            (Domain::OnOff, Value::Flag(_)) => true,
            (Domain::Words(words), Value::Choice(word)) => words.iter().any(|(known, _)| *known == word),
            (Domain::Time(least), Value::Time(time)) => *least <= time,
            (Domain::Size(range), Value::Size(Bytes(bytes))) => range.contains(&bytes),
            (Domain::Controller, Value::Choice(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Value {
    /// The text of a scenario file. A missing value is said in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Count(count) => write!(f, "{count}"),
            Value::Flag(on) => write!(f, "{on}"),
            Value::Choice(word) => write!(f, "\"{word}\""),
            Value::Time(time) => write!(f, "\"{time}\""),
            Value::Size(bytes) => write!(f, "\"{bytes}\""),
            Value::Room(room) => write!(f, "\"{room}\""),
            Value::File(checksum) => write!(f, "(a file of {checksum:016x})"),
            Value::Otherwise(words) => write!(f, "({words})"),
            Value::Needed => write!(f, "(must be given)"),
        }
    }
}
