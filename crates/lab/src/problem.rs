//! What is wrong with a request, in the words of the command line.

use ackclock_scenario::ScenarioError;
use ackclock_study::run::RunError;
use miette::Diagnostic;
use serde::Serialize;

/// What is wrong, where, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Problem {
    /// What is wrong: the command line's own message.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The key that it concerns, dotted; empty: all of the scenario.
    pub key: String,
    /// The line of the text, from 1.
    pub line: Option<usize>,
}

impl Problem {
    /// A problem of the whole scenario.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem { message: message.into(), help: Some(help.into()), key: String::new(), line: None }
    }
}

impl From<ScenarioError> for Problem {
    fn from(error: ScenarioError) -> Problem {
        Problem {
            message: error.to_string(),
            help: Diagnostic::help(&error).map(|help| help.to_string()),
            key: error.key().to_owned(),
            line: error.line(),
        }
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Problem {
        match error {
            RunError::Scenario(error) => error.into(),
            other => Problem { message: other.to_string(), help: None, key: String::new(), line: None },
        }
    }
}
