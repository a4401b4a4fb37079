//! Errors as exceptions: the command line's message, with the line and the remedy.

use ackclock_scenario::ScenarioError;
use miette::{GraphicalReportHandler, GraphicalTheme, Report, miette};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    ackclock,
    Error,
    PyException,
    "Bad input, or something that failed. Its text is what the command line prints.\n\n\
     `message` is the first line of it, `remedy` what to do, `line` the line of the scenario file (from 1) and \
     `key` the dotted key there; each is None where there is none."
);

/// The columns of a printed error.
const WIDTH: usize = 100;

/// A report as an exception.
pub(crate) fn raised(report: impl Into<Report>) -> PyErr {
    let report = report.into();
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH);
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text = report.to_string();
    }
    let scenario = report.downcast_ref::<ScenarioError>();
    Python::attach(|py| {
        let error = Error::new_err(text.trim_end().to_owned());
        let value = error.value(py);
        let told = value
            .setattr("message", report.to_string())
            .and_then(|()| value.setattr("remedy", report.help().map(|help| help.to_string())))
            .and_then(|()| value.setattr("line", scenario.and_then(ScenarioError::line)))
            .and_then(|()| value.setattr("key", scenario.map(|error| error.key().to_owned())));
        told.map_or_else(|wrong| wrong, |()| error)
    })
}

/// An exception with a message and a remedy.
pub(crate) fn wrong(message: impl std::fmt::Display, remedy: &str) -> PyErr {
    raised(miette!(help = remedy.to_owned(), "{message}"))
}
