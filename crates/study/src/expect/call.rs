//! Function calls: their arguments, lists in place of arguments, and how a call is printed.

use super::trace::Trace;
use super::values::{number, shown_value};
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};

pub(crate) type Answer = Result<f64, Error>;

/// What belongs to an error beside its reason. It travels as the source of the language's error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{remedy}")]
pub(crate) struct Advice {
    /// What to do.
    pub(crate) remedy: String,
    /// True if no probe looked at the time that is meant. Made-up results prove nothing of such times.
    pub(crate) no_look: bool,
}

pub(crate) fn wrong(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason.into())
}

/// The same with a remedy.
pub(crate) fn refused(reason: impl Into<String>, remedy: impl Into<String>) -> Error {
    wrong(reason).with_source(Advice { remedy: remedy.into(), no_look: false })
}

/// No probe looked `when`.
pub(crate) fn no_look(when: impl std::fmt::Display, remedy: impl Into<String>) -> Error {
    wrong(format!("no probe looked {when}")).with_source(Advice { remedy: remedy.into(), no_look: true })
}

/// The positional and keyword arguments of a call.
#[derive(Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) given: Vec<Value>,
    pub(crate) named: Vec<(String, Value)>,
}

impl Arguments {
    pub(crate) fn new(given: &Rest<Value>, kwargs: &Kwargs) -> Result<Arguments, Error> {
        let named = kwargs
            .args()
            .map(|name| Ok((name.to_owned(), kwargs.get::<Value>(name)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Arguments { given: given.to_vec(), named })
    }

    pub(crate) fn text(&self, at: usize, what: &str) -> Result<String, Error> {
        let value = self.given.get(at).ok_or_else(|| wrong(format!("{what} is missing")))?;
        if value.is_undefined() {
            return Err(refused(format!("{what} must be a text"), "put it in quotes: goodput('reno')"));
        }
        value.as_str().map(str::to_owned).ok_or_else(|| wrong(format!("{what} must be a text, not {value}")))
    }

    pub(crate) fn number(&self, at: usize, what: &str) -> Answer {
        let value = self.given.get(at).ok_or_else(|| wrong(format!("{what} is missing")))?;
        number(value).ok_or_else(|| wrong(format!("{what} must be a number, not {value}")))
    }

    /// Refuses arguments that the function, `written` like this, does not have.
    pub(crate) fn no_more_than(&self, written: &str) -> Result<(), Error> {
        let (_, inside) = written.trim_end_matches(')').split_once('(').unwrap_or_default();
        let known = inside.split(", ").filter(|argument| !argument.is_empty()).count();
        match self.given.get(known) {
            Some(extra) if !inside.ends_with("...") => {
                let extra = shown_value(extra);
                Err(refused(
                    format!("the argument {extra} is one too many"),
                    format!("it is written {written}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Removes a keyword from the call and returns its value.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.named.iter().position(|(known, _)| known == name)?;
        Some(self.named.remove(at).1)
    }

    /// The call as it could be written.
    pub(crate) fn shown(&self, function: &str) -> String {
        let given = self.given.iter().map(shown_value);
        let named = self.named.iter().map(|(name, value)| format!("{name}={}", shown_value(value)));
        format!("{function}({})", given.chain(named).collect::<Vec<_>>().join(", "))
    }

    /// Calls `f` once. If arguments are lists: calls `f` once per entry, with all lists in step, and returns
    /// a list.
    pub(crate) fn each(&self, f: &mut dyn FnMut(&Arguments) -> Result<Value, Error>) -> Result<Value, Error> {
        let values = || self.given.iter().chain(self.named.iter().map(|(_, value)| value));
        let Some(length) = values().filter(|value| is_list(value)).filter_map(Value::len).max() else {
            return f(self);
        };
        if values().any(|value| is_list(value) && value.len() != Some(length)) {
            return Err(wrong("lists in one call must be equally long"));
        }
        let entry = |value: &Value, at: usize| {
            if is_list(value) { value.get_item_by_index(at) } else { Ok(value.clone()) }
        };
        let mut answers = Vec::with_capacity(length);
        for at in 0..length {
            let given = self.given.iter().map(|value| entry(value, at)).collect::<Result<_, _>>()?;
            let named = self.named.iter().map(|(name, value)| Ok((name.clone(), entry(value, at)?)));
            let named = named.collect::<Result<_, Error>>()?;
            answers.push(f(&Arguments { given, named })?);
        }
        Ok(Value::from(answers))
    }
}

fn is_list(value: &Value) -> bool {
    value.kind() == ValueKind::Seq
}

/// Adds a function. Lists in place of arguments give lists of answers.
pub(crate) fn add<F>(env: &mut Environment<'static>, name: &'static str, f: F)
where
    F: Fn(&Arguments) -> Result<Value, Error> + Send + Sync + 'static,
{
    env.add_function(name, move |given: Rest<Value>, kwargs: Kwargs| -> Result<Value, Error> {
        Arguments::new(&given, &kwargs)?.each(&mut |arguments| f(arguments))
    });
}

/// Adds a function of numbers. If there is a trace, it records each call.
pub(crate) fn add_numeric(
    env: &mut Environment<'static>,
    trace: Option<&Trace>,
    name: &'static str,
    parameters: &'static [&'static str],
    f: fn(&[f64]) -> f64,
) {
    let trace = trace.cloned();
    add(env, name, move |arguments| {
        if arguments.given.len() != parameters.len() || !arguments.named.is_empty() {
            return Err(wrong(format!("it is written {name}({})", parameters.join(", "))));
        }
        let numbers = (0..parameters.len())
            .map(|at| arguments.number(at, &format!("{name}: {}", parameters[at])))
            .collect::<Result<Vec<_>, _>>()?;
        let value = Value::from(f(&numbers));
        if let Some(trace) = &trace {
            trace.note(arguments.shown(name), &value, None);
        }
        Ok(value)
    });
}
