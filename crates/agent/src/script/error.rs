//! Errors in scripts: the place, the problem, and the remedy.

use ackclock_scenario::Excerpt;
use miette::{Diagnostic, LabeledSpan, SourceCode};
use std::fmt;

/// A part of a script: the offsets of its first byte and of the byte after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset of the byte after the last one.
    pub end: usize,
}

/// What is wrong at a place, before the script's text is at hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: String,
}

impl Fault {
    pub(super) fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { span, message: message.into(), help: help.into() }
    }
}

/// An error in a script. It names the line and the column, both from 1.
#[derive(Debug)]
pub struct ScriptError(Box<Details>);

#[derive(Debug)]
struct Details {
    fault: Fault,
    line: usize,
    column: usize,
    shown: Excerpt,
}

impl ScriptError {
    pub(super) fn new(fault: Fault, name: &str, text: &str) -> ScriptError {
        let start = (0..=fault.span.start.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let before = &text[..start.unwrap_or(0)];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or("").chars().count();
        let shown = Excerpt { name: name.to_owned(), text: text.to_owned() };
        ScriptError(Box::new(Details { fault, line, column, shown }))
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters, from 1.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// What to do about it.
    pub fn remedy(&self) -> &str {
        &self.0.fault.help
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { fault, line, column, shown } = &*self.0;
        write!(f, "{}:{line}:{column}: {}", shown.name, fault.message)
    }
}

impl std::error::Error for ScriptError {}

impl Diagnostic for ScriptError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.0.fault.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.0.shown)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Details { fault, shown, .. } = &*self.0;
        let length = shown.text.len();
        let start = fault.span.start.min(length);
        let span = shown.clip(start, fault.span.end.clamp(start, length) - start);
        Some(Box::new(std::iter::once(LabeledSpan::new(Some("here".to_owned()), start, span))))
    }
}
