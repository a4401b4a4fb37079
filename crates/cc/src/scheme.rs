//! The registry of all schemes: source, parameters, and how to build each.
//!
//! A parameter is described once, as data. The scenario reader, `ackclock show` and the documentation pages
//! use that description.

use crate::Controller;
use std::fmt;
use std::ops::RangeInclusive;

/// A scheme's entry in the registry.
pub struct Scheme {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// The scheme's full name.
    pub title: &'static str,
    /// The document that defines the scheme.
    pub source: &'static str,
    /// What it does, in one or two sentences.
    pub summary: &'static str,
    /// The equations, one per line, in plain text.
    pub equations: &'static [&'static str],
    /// How this implementation differs from the source, and what it decides where the source leaves a choice.
    pub notes: &'static [&'static str],
    /// All parameters.
    pub parameters: &'static [Parameter],
    /// Builds a controller from checked settings.
    pub build: fn(&Settings) -> Box<dyn Controller>,
    /// The average window in segments at loss probability `p` and round-trip time `rtt_s` seconds, if the
    /// source gives a response function.
    pub response: Option<fn(settings: &Settings, p: f64, rtt_s: f64) -> f64>,
}

/// One parameter of a scheme.
pub struct Parameter {
    /// The key in files.
    pub name: &'static str,
    /// The unit in words; empty for a number without a unit.
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
    /// A switch that is on or off.
    Flag(bool),
    /// One of several words. For a controller underneath: its name.
    Choice(&'static str),
}

/// The values that a parameter may have.
pub enum Domain {
    /// A number in a closed range.
    Range(RangeInclusive<f64>),
    /// On or off.
    OnOff,
    /// One of these words, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// A controller, by name or with its own parameters. It must not itself contain another controller.
    Controller,
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

    /// The controller underneath. A scheme has at most one.
    pub const fn controller(name: &'static str, default: &'static str, about: &'static str) -> Parameter {
        Parameter { name, unit: "", about, default: Value::Choice(default), domain: Domain::Controller }
    }

    /// The allowed values, in words.
    pub fn domain_text(&self) -> String {
        match &self.domain {
            Domain::Range(range) => format!("{} to {}", range.start(), range.end()),
            Domain::OnOff => "true or false".to_owned(),
            Domain::Words(words) => {
                words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
            }
            Domain::Controller => "a controller that is not around another one".to_owned(),
        }
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Flag(on) => write!(f, "{on}"),
            Value::Choice(word) => write!(f, "\"{word}\""),
        }
    }
}

/// A value that a user gave.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A word.
    Word(&'a str),
    /// A controller with its parameters.
    Control(&'a Settings),
}

/// Why a setting was refused.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingsError {
    /// The scheme has no parameter of this name.
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

/// The settings of a scheme: a valid value for every parameter.
#[derive(Clone, Debug)]
pub struct Settings {
    scheme: &'static Scheme,
    values: Vec<Value>,
    /// The settings of the controller underneath, if there is one.
    under: Option<Box<Settings>>,
}

impl PartialEq for Settings {
    /// Equal if scheme and values are equal, including those of the controller underneath.
    fn eq(&self, other: &Settings) -> bool {
        self.scheme.name == other.scheme.name && self.values == other.values && self.under == other.under
    }
}

impl Settings {
    /// The default settings of `scheme`.
    pub fn defaults(scheme: &'static Scheme) -> Settings {
        let values = scheme.parameters.iter().map(|p| p.default).collect();
        let under = scheme.parameters.iter().find_map(|p| match (&p.domain, p.default) {
            (Domain::Controller, Value::Choice(name)) => crate::scheme(name).map(Settings::defaults),
            _ => None,
        });
        Settings { scheme, values, under: under.map(Box::new) }
    }

    /// The scheme of these settings.
    pub fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Sets a parameter, and checks its name and domain.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Unknown`] if the scheme has no such parameter, [`SettingsError::Outside`] if it does
    /// not allow the value.
    pub fn set(&mut self, name: &str, given: Given<'_>) -> Result<(), SettingsError> {
        let known = || self.scheme.parameters.iter().map(|p| p.name).collect();
        let at = self.position(name).ok_or_else(|| SettingsError::Unknown { known: known() })?;
        let parameter = &self.scheme.parameters[at];
        let value = match (&parameter.domain, given) {
            (Domain::Range(range), Given::Number(number)) if range.contains(&number) => {
                Some(Value::Number(number))
            }
            (Domain::OnOff, Given::Flag(on)) => Some(Value::Flag(on)),
            (Domain::Words(words), Given::Word(word)) => {
                words.iter().find(|&&(known, _)| known == word).map(|&(known, _)| Value::Choice(known))
            }
            (Domain::Controller, Given::Control(settings)) => self.put_under(settings.clone()),
            (Domain::Controller, Given::Word(word)) => {
                crate::scheme(word).and_then(|scheme| self.put_under(Settings::defaults(scheme)))
            }
            _ => None,
        };
        self.values[at] = value.ok_or_else(|| SettingsError::Outside { domain: parameter.domain_text() })?;
        Ok(())
    }

    /// True if the parameter `name` is a controller underneath.
    pub fn takes_controller(&self, name: &str) -> bool {
        self.position(name).is_some_and(|at| matches!(self.scheme.parameters[at].domain, Domain::Controller))
    }

    /// Sets the controller underneath. Returns `None` if it contains a controller itself.
    fn put_under(&mut self, settings: Settings) -> Option<Value> {
        let name = settings.scheme.name;
        settings.under.is_none().then(|| {
            self.under = Some(Box::new(settings));
            Value::Choice(name)
        })
    }

    /// The settings of the controller underneath.
    ///
    /// # Panics
    ///
    /// If the scheme declares none. That is a mistake in the scheme's own file, and a test finds it.
    pub fn controller(&self) -> &Settings {
        match &self.under {
            Some(settings) => settings,
            None => panic!("{} declares no controller underneath", self.scheme.name),
        }
    }

    /// All parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, Value)> + '_ {
        self.scheme.parameters.iter().zip(self.values.iter().copied())
    }

    /// Builds the controller.
    pub fn build(&self) -> Box<dyn Controller> {
        (self.scheme.build)(self)
    }

    /// The value of the numeric parameter `name`.
    ///
    /// # Panics
    ///
    /// If the scheme declares no such number. That is a mistake in the scheme's own file, and a test finds
    /// it.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(number)) => number,
            other => panic!("{} declares no number {name}: {other:?}", self.scheme.name),
        }
    }

    /// The value of the switch `name`.
    ///
    /// # Panics
    ///
    /// If the scheme declares no such switch. That is a mistake in the scheme's own file, and a test finds
    /// it.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Flag(on)) => on,
            other => panic!("{} declares no switch {name}: {other:?}", self.scheme.name),
        }
    }

    /// The word chosen for `name`.
    ///
    /// # Panics
    ///
    /// If the scheme declares no such choice. That is a mistake in the scheme's own file, and a test finds
    /// it.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Choice(word)) => word,
            other => panic!("{} declares no choice {name}: {other:?}", self.scheme.name),
        }
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.position(name).map(|at| self.values[at])
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.scheme.parameters.iter().position(|p| p.name == name)
    }
}

/// All schemes, in the order of the documentation.
pub fn schemes() -> &'static [&'static Scheme] {
    &[
        &crate::reno::SCHEME,
        &crate::highspeed::SCHEME,
        &crate::scalable::SCHEME,
        &crate::bic::SCHEME,
        &crate::cubic::SCHEME,
        &crate::htcp::SCHEME,
        &crate::vegas::SCHEME,
        &crate::fast::SCHEME,
        &crate::westwood::SCHEME,
        &crate::compound::SCHEME,
        &crate::layered::SCHEME,
        &crate::pert::SCHEME,
        &crate::dctcp::SCHEME,
        &crate::bbr::SCHEME,
        &crate::bbr3::SCHEME,
        &crate::none::SCHEME,
    ]
}

/// The scheme called `name`.
pub fn scheme(name: &str) -> Option<&'static Scheme> {
    schemes().iter().copied().find(|scheme| scheme.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_builds_from_its_defaults() {
        for scheme in schemes() {
            let settings = Settings::defaults(scheme);
            settings.build();
            for parameter in scheme.parameters {
                let ok = match (&parameter.domain, parameter.default) {
                    (Domain::Range(range), Value::Number(number)) => range.contains(&number),
                    (Domain::OnOff, Value::Flag(_)) => true,
                    (Domain::Words(words), Value::Choice(word)) => {
                        words.iter().any(|(known, _)| *known == word)
                    }
                    (Domain::Controller, Value::Choice(name)) => settings.controller().scheme().name == name,
                    _ => false,
                };
                assert!(ok, "{}.{}: the default is outside the domain", scheme.name, parameter.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        for (at, one) in schemes().iter().enumerate() {
            assert!(schemes()[..at].iter().all(|other| other.name != one.name), "{}", one.name);
        }
    }

    #[test]
    fn wrong_settings_say_what_would_be_right() {
        let mut settings = Settings::defaults(scheme("reno").expect("reno is there"));
        let unknown = settings.set("gain", Given::Number(1.0)).expect_err("no such parameter");
        assert!(unknown.to_string().contains("decrease"), "{unknown}");
        let outside = settings.set("decrease", Given::Number(f64::NAN)).expect_err("NaN is in no range");
        assert!(outside.to_string().contains("0.01 to 1"), "{outside}");
    }

    #[test]
    fn a_controller_underneath_has_settings_of_its_own_and_none_underneath() {
        let pert = scheme("pert").expect("pert is there");
        let mut under = Settings::defaults(scheme("layered").expect("layered is there"));
        under.set("decrease", Given::Word("variable")).expect("a known word");
        let mut settings = Settings::defaults(pert);
        settings.set("over", Given::Control(&under)).expect("a controller");
        assert_eq!(settings.controller().choice("decrease"), "variable");
        assert_eq!(settings.choice("over"), "layered");
        assert_ne!(settings, Settings::defaults(pert));
        let variable = settings.clone();
        settings.set("over", Given::Word("layered")).expect("a controller");
        assert_ne!(settings, variable);
        settings.set("over", Given::Control(&under)).expect("a controller");
        assert_eq!(settings, variable);
        settings.set("over", Given::Word("cubic")).expect("a controller");
        assert_eq!(settings.controller().scheme().name, "cubic");
        for wrong in [Given::Word("pert"), Given::Word("cubics"), Given::Number(1.0)] {
            assert!(settings.set("over", wrong).is_err());
        }
    }
}
