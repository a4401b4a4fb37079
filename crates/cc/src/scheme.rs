//! The registry of all schemes: source, parameters, and how to build each.
//!
//! A parameter is described once, as data. The scenario reader, `ackclock show` and the documentation pages
//! use that description.

use crate::Controller;
use crate::blueprint::Blueprint;
use ackclock_registry::{self as registry, Domain, Entry, Parameter, SettingsError, Value};
use std::fmt;
use std::sync::Arc;

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
    /// What the specification asks of the endpoint: keys of a scenario's `[tcp]` and their values. They hold
    /// where a scenario does not say otherwise. A controller around another one that leaves this empty has
    /// what that one asks for.
    pub endpoint: &'static [(&'static str, &'static str)],
    /// What the controller needs of its host beyond what all get.
    pub needs: fn(&Settings) -> Needs,
    /// Builds a controller from checked settings.
    pub build: fn(&Settings) -> Box<dyn Controller>,
    /// The average window in segments at loss probability `p` and round-trip time `rtt_s` seconds, if the
    /// source gives a response function.
    pub response: Option<fn(settings: &Settings, p: f64, rtt_s: f64) -> f64>,
}

impl Scheme {
    /// The description that the entries of all registries have.
    pub fn entry(&self) -> Entry {
        let &Scheme { name, title, source, summary, equations, notes, parameters, .. } = self;
        Entry { name, title, source, summary, equations, notes, parameters }
    }
}

/// What a controller needs of its host beyond what all get. Hosts keep none of it for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// [`Ack::draw`](crate::Ack::draw): a random number with every acknowledgement.
    pub draw: bool,
    /// [`Ack::forward`](crate::Ack::forward): the one-way delay. This needs the receiver's timestamps (RFC
    /// 7323).
    pub forward: bool,
    /// [`Ack::rate`](crate::Ack::rate): samples of the delivery rate; and calls of [`Controller::on_lost`].
    pub rate: bool,
    /// The number of marked segments, not only whether there were some. The host then uses ECN with the
    /// feedback of RFC 8257, and [`Ack::marked`](crate::Ack::marked) is the number of segments that were
    /// acknowledged with an echo.
    pub marks: bool,
    /// ECT(1) on segments instead of ECT(0): queues of L4S put them into their low-latency queue, and mark
    /// them early (RFC 9331 section 4.1). The controller also needs `marks`.
    pub l4s: bool,
    /// The window in every state: the controller sets it by itself. Linux calls this `cong_control`.
    ///
    /// The host then calls `on_sample` last, after losses are counted and episodes have begun or ended.
    /// `grow` has nothing to do. The host's recovery chooses what to send, but does not change the window.
    /// Idle times do not reduce the window. `cut` is called as usual. After
    /// [`Signal::Timeout`](crate::Signal::Timeout) the window is one segment, unless the answer is `None`.
    pub window: bool,
    /// The rate in [`Window::pacing`](crate::Window::pacing) is part of the scheme: a host that sends at
    /// another rate runs another scheme.
    pub pacing: bool,
}

impl Needs {
    /// Nothing more: what most controllers need.
    pub const NOTHING: Needs = Needs {
        draw: false,
        forward: false,
        rate: false,
        marks: false,
        l4s: false,
        window: false,
        pacing: false,
    };
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
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
    /// What a file says, read and checked.
    File(&'a Arc<dyn Blueprint>),
}

/// The settings of a scheme: a valid value for every parameter.
#[derive(Clone, Debug)]
pub struct Settings {
    scheme: &'static Scheme,
    values: registry::Settings,
    /// The settings of the controller underneath, if there is one.
    under: Option<Box<Settings>>,
    /// What the controller is built from, if that is not in the registry.
    blueprint: Option<Arc<dyn Blueprint>>,
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
        let under = scheme.parameters.iter().find_map(|p| match (&p.domain, p.default) {
            (Domain::Controller, Value::Choice(name)) => crate::scheme(name).map(Settings::defaults),
            _ => None,
        });
        Settings {
            scheme,
            values: registry::Settings::defaults(scheme.parameters),
            under: under.map(Box::new),
            blueprint: None,
        }
    }

    /// The settings of a controller that the program around brings along: `scheme` describes it, and has no
    /// parameters.
    pub fn brought(scheme: &'static Scheme, blueprint: Arc<dyn Blueprint>) -> Settings {
        Settings { blueprint: Some(blueprint), ..Settings::defaults(scheme) }
    }

    /// What the controller is built from, or the one underneath, if that is not in the registry.
    pub fn blueprint(&self) -> Option<&Arc<dyn Blueprint>> {
        let under = || self.under.as_ref().and_then(|under| under.blueprint());
        self.blueprint.as_ref().or_else(under)
    }

    /// The same for the connections of one flow: its number in the run, and the label of its group.
    #[must_use]
    pub fn of_flow(mut self, number: usize, label: &str) -> Settings {
        self.blueprint = self.blueprint.map(|blueprint| blueprint.of_flow(number, label));
        self.under = self.under.map(|under| Box::new(under.of_flow(number, label)));
        self
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
        let plain = match given {
            Given::Number(number) => registry::Given::Number(number),
            Given::Flag(on) => registry::Given::Flag(on),
            Given::Word(word) if self.takes_controller(name) => {
                let under = crate::scheme(word).map(Settings::defaults);
                return self.put_under(name, under);
            }
            Given::Word(word) => registry::Given::Word(word),
            Given::Control(settings) => return self.put_under(name, Some(settings.clone())),
            Given::File(blueprint) => return self.put_file(name, blueprint),
        };
        self.values.set(name, plain)
    }

    /// True if the parameter `name` is a file.
    pub fn takes_file(&self, name: &str) -> bool {
        self.values.parameter(name).is_some_and(|parameter| matches!(parameter.domain, Domain::File))
    }

    /// Sets what a file says.
    fn put_file(&mut self, name: &str, blueprint: &Arc<dyn Blueprint>) -> Result<(), SettingsError> {
        if !self.takes_file(name) {
            return self.values.set(name, registry::Given::Word("a file")); // says what there is
        }
        self.values.put(name, Value::File(blueprint.checksum()));
        self.blueprint = Some(Arc::clone(blueprint));
        Ok(())
    }

    /// True if the parameter `name` is a controller underneath.
    pub fn takes_controller(&self, name: &str) -> bool {
        self.values.parameter(name).is_some_and(|parameter| matches!(parameter.domain, Domain::Controller))
    }

    /// Sets the controller underneath. Refuses one that contains a controller itself.
    fn put_under(&mut self, name: &str, under: Option<Settings>) -> Result<(), SettingsError> {
        let Some(parameter) = self.values.parameter(name) else {
            return self.values.set(name, registry::Given::Flag(true)); // says what there is
        };
        let under = under.filter(|under| self.takes_controller(name) && under.under.is_none());
        let under = under.ok_or_else(|| SettingsError::Outside { domain: parameter.domain_text() })?;
        self.values.put(name, Value::Choice(under.scheme.name));
        self.under = Some(Box::new(under));
        Ok(())
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
        self.values.iter()
    }

    /// What the specification asks of the endpoint. See [`Scheme::endpoint`].
    pub fn endpoint(&self) -> &'static [(&'static str, &'static str)] {
        match &self.under {
            Some(under) if self.scheme.endpoint.is_empty() => under.endpoint(),
            _ => self.scheme.endpoint,
        }
    }

    /// What the controller with these settings needs of its host.
    pub fn needs(&self) -> Needs {
        (self.scheme.needs)(self)
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
        self.values.get(name)
    }

    /// The value of the switch `name`.
    ///
    /// # Panics
    ///
    /// If the scheme declares no such switch. That is a mistake in the scheme's own file, and a test finds
    /// it.
    pub fn flag(&self, name: &str) -> bool {
        self.values.get(name)
    }

    /// The word chosen for `name`.
    ///
    /// # Panics
    ///
    /// If the scheme declares no such choice. That is a mistake in the scheme's own file, and a test finds
    /// it.
    pub fn choice(&self, name: &str) -> &'static str {
        self.values.get(name)
    }
}

/// All schemes, in the order of the documentation.
pub const fn schemes() -> &'static [&'static Scheme] {
    &[
        &crate::reno::SCHEME,
        &crate::highspeed::SCHEME,
        &crate::scalable::SCHEME,
        &crate::bic::SCHEME,
        &crate::cubic::SCHEME,
        &crate::htcp::SCHEME,
        &crate::vegas::SCHEME,
        &crate::fast::SCHEME,
        &crate::ledbat::SCHEME,
        &crate::westwood::SCHEME,
        &crate::illinois::SCHEME,
        &crate::compound::SCHEME,
        &crate::layered::SCHEME,
        &crate::pert::SCHEME,
        &crate::dctcp::SCHEME,
        &crate::prague::SCHEME,
        &crate::copa::SCHEME,
        &crate::bbr::SCHEME,
        &crate::bbr3::SCHEME,
        &crate::policy::SCHEME,
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
            settings.needs();
            for parameter in scheme.parameters {
                let ok = match (&parameter.domain, parameter.default) {
                    (Domain::Controller, Value::Choice(name)) => settings.controller().scheme().name == name,
                    _ => parameter.default_is_allowed(),
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
