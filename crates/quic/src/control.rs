//! The choice of a controller: by name and parameters, as a scenario writes it.

use ackclock_cc::slow_start::{self, SlowStart};
use ackclock_cc::{Blueprint, Given, Host, Settings, SettingsError, scheme, schemes};
use ackclock_policy::MAX_FILE;
use ackclock_registry::Listed;
use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;
use toml::{Table, Value};

/// RFC 9002 section 7.2: the initial window, in packets.
const INITIAL_WINDOW: f64 = 10.0;
/// RFC 9002 section 7.2, kMinimumWindow: the least window, in packets.
pub(crate) const LEAST_WINDOW: f64 = 2.0;
/// No window is larger, in packets.
pub(crate) const MOST_WINDOW: f64 = u32::MAX as f64;

/// Why a controller cannot be had.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// There is no such controller.
    #[error("there is no controller \"{name}\"; there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// There is no such slow start.
    #[error("there is no slow start \"{name}\"; there are {known}")]
    SlowStart {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A parameter that the controller does not have, or a value that it does not allow.
    #[error("{controller}.{parameter}: {source}")]
    Parameter {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        parameter: String,
        /// What is wrong with it.
        source: SettingsError,
    },
    /// The text is not a controller as a scenario writes it.
    #[error("not a controller: {text}: write \"compound\" or {{ compound = {{ gamma = 30.0 }} }}")]
    Form {
        /// The text.
        text: String,
    },
    /// The file of a learned policy cannot be read, or is none.
    #[error("{file}:{problem}; {}", ackclock_policy::HELP)]
    File {
        /// The file.
        file: String,
        /// The place there, and what is wrong.
        problem: String,
    },
    /// The initial window is not between 2 and 2^32 - 1 packets.
    #[error("the initial window must be from 2 to {MOST_WINDOW} packets, not {packets}")]
    InitialWindow {
        /// What was asked for.
        packets: String,
    },
    /// The stack cannot give what the controller needs.
    #[error("{stack} cannot run {controller}: it does not give {missing}")]
    Missing {
        /// The stack.
        stack: &'static str,
        /// The controller.
        controller: &'static str,
        /// What the controller needs and the stack does not give.
        missing: String,
    },
    /// A sender without congestion control can harm a network, so it must be asked for.
    #[error("`{controller}` sends without congestion control: it must be asked for with `uncontrolled()`")]
    Uncontrolled {
        /// The controller.
        controller: &'static str,
    },
}

/// A controller with its parameters, to be built for each path of a connection.
///
/// ```
/// use ackclock_quic::controller;
///
/// let by_calls = controller("compound")?.set("gamma", 15.0)?;
/// let as_in_a_scenario = controller("{ compound = { gamma = 15.0 } }")?;
/// assert_eq!(by_calls, as_in_a_scenario);
/// assert!(controller("cubics").is_err());
/// # Ok::<(), ackclock_quic::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Control {
    settings: Settings,
    slow_start: slow_start::Settings,
    initial_window: f64,
    uncontrolled: bool,
}

/// The controller that `text` names: `compound`, or with parameters as in a scenario, `{ compound = { gamma =
/// 30.0 } }`. Its slow start is the one that its specification asks for. A file of a learned policy,
/// `{ policy = { file = "policy.json" } }`, is read at once.
///
/// # Errors
///
/// [`Error::Form`], [`Error::Unknown`], [`Error::Parameter`] and [`Error::File`].
pub fn controller(text: &str) -> Result<Control, Error> {
    let text = text.trim();
    let settings = if text.starts_with(['{', '"']) {
        let form = || Error::Form { text: text.to_owned() };
        let document: Table = format!("control = {text}").parse().map_err(|_| form())?;
        read(document.get("control").filter(|_| document.len() == 1).ok_or_else(form)?)?
    } else {
        named(text)?
    };
    let asked = settings.endpoint().iter().find(|(key, _)| *key == "slow_start");
    let slow_start = asked.map_or("standard", |(_, name)| name.trim_matches('"'));
    let slow_start = chosen_slow_start(slow_start)?;
    Ok(Control { settings, slow_start, initial_window: INITIAL_WINDOW, uncontrolled: false })
}

fn named(name: &str) -> Result<Settings, Error> {
    scheme(name).map(Settings::defaults).ok_or_else(|| {
        let known: Vec<_> = schemes().iter().map(|scheme| scheme.name).collect();
        Error::Unknown { name: name.to_owned(), known: known.join(", ") }
    })
}

fn chosen_slow_start(name: &str) -> Result<slow_start::Settings, Error> {
    let found = slow_start::scheme(name).map(slow_start::Settings::defaults);
    found.ok_or_else(|| Error::SlowStart {
        name: name.to_owned(),
        known: slow_start::Scheme::names().join(", "),
    })
}

/// A controller as a scenario writes it: its name, or a table with its name and its parameters.
fn read(value: &Value) -> Result<Settings, Error> {
    let form = || Error::Form { text: value.to_string() };
    match value {
        Value::String(name) => named(name),
        Value::Table(table) => {
            let mut entries = table.iter();
            let (Some((name, Value::Table(parameters))), None) = (entries.next(), entries.next()) else {
                return Err(form());
            };
            let mut settings = named(name)?;
            for (parameter, value) in parameters {
                put(&mut settings, parameter, value)?;
            }
            Ok(settings)
        }
        _ => Err(form()),
    }
}

fn put(settings: &mut Settings, parameter: &str, value: &Value) -> Result<(), Error> {
    let (under, file);
    let given = match value {
        Value::String(name) if settings.takes_file(parameter) => {
            file = policy(name)?;
            Given::File(&file)
        }
        Value::Float(number) => Given::Number(*number),
        Value::Integer(number) => Given::Number(*number as f64),
        Value::Boolean(on) => Given::Flag(*on),
        Value::String(word) => Given::Word(word),
        Value::Table(_) => {
            under = read(value)?;
            Given::Control(&under)
        }
        _ => return Err(Error::Form { text: value.to_string() }),
    };
    let controller = settings.scheme().name;
    let parameter_of = |source| Error::Parameter { controller, parameter: parameter.to_owned(), source };
    settings.set(parameter, given).map_err(parameter_of)
}

/// The learned policy in a file.
fn policy(name: &str) -> Result<Arc<dyn Blueprint>, Error> {
    let wrong = |problem| Error::File { file: name.to_owned(), problem };
    let unread = |error: io::Error| wrong(format!(" {error}"));
    // Reading something other than a plain file, for example a pipe, could block for ever.
    if !fs::metadata(name).map_err(unread)?.is_file() {
        return Err(wrong(" it is no file".to_owned()));
    }
    let mut text = String::new();
    let read = File::open(name).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
    if read.map_err(unread)? as u64 > MAX_FILE {
        return Err(wrong(format!(" it is larger than {} kB", MAX_FILE / 1024)));
    }
    Ok(Arc::new(ackclock_policy::parse(&text).map_err(wrong)?))
}

impl Control {
    /// Sets a parameter of the controller: a number, a switch, a word, or the name of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] if there is no such parameter, or if it does not allow the value.
    /// [`Error::File`] if a file cannot be read.
    pub fn set(mut self, parameter: &str, value: impl Into<Value>) -> Result<Control, Error> {
        put(&mut self.settings, parameter, &value.into())?;
        Ok(self)
    }

    /// The initial window in packets: 10 unless set (RFC 9002 section 7.2).
    ///
    /// # Errors
    ///
    /// [`Error::InitialWindow`] if it is not from 2 to 2^32 - 1.
    pub fn initial_window(mut self, packets: f64) -> Result<Control, Error> {
        if !(LEAST_WINDOW..=MOST_WINDOW).contains(&packets) {
            return Err(Error::InitialWindow { packets: packets.to_string() });
        }
        self.initial_window = packets;
        Ok(self)
    }

    /// When the first slow start ends before a loss ends it: `standard` (never), `hystart++` or `hystart`.
    ///
    /// # Errors
    ///
    /// [`Error::SlowStart`] if there is no such slow start.
    pub fn slow_start(mut self, name: &str) -> Result<Control, Error> {
        self.slow_start = chosen_slow_start(name)?;
        Ok(self)
    }

    /// Allows `none`: no congestion control. Only flow control then bounds what is in flight, the peer's and
    /// the stack's own. For a path that is yours alone.
    pub fn uncontrolled(mut self) -> Control {
        self.uncontrolled = true;
        self
    }

    /// The controller's name.
    pub fn name(&self) -> &'static str {
        self.settings.scheme().name
    }

    /// The controller's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The initial window, packets.
    pub(crate) fn first_window(&self) -> f64 {
        self.initial_window
    }

    /// A slow start, unless nothing but a reduction ends it or the controller has its own.
    pub(crate) fn build_slow_start(&self) -> Option<Box<dyn SlowStart>> {
        let built = (self.slow_start.scheme().build)(&self.slow_start);
        built.filter(|_| !self.settings.needs().window)
    }

    /// # Errors
    ///
    /// [`Error::Missing`] and [`Error::Uncontrolled`]: why `stack` must not run this controller.
    pub(crate) fn check(&self, stack: &Host) -> Result<(), Error> {
        let missing = stack.missing(&self.settings);
        if !missing.is_empty() {
            let missing = missing.join(", nor ");
            return Err(Error::Missing { stack: stack.name, controller: self.name(), missing });
        }
        let mut all = vec![&self.settings];
        if self.settings.iter().any(|(parameter, _)| self.settings.takes_controller(parameter.name)) {
            all.push(self.settings.controller());
        }
        match all.iter().find(|settings| settings.scheme().name == "none") {
            Some(_) if !self.uncontrolled => Err(Error::Uncontrolled { controller: self.name() }),
            _ => Ok(()),
        }
    }
}
