//! Errors in scenarios: the place, the problem, and the remedy.

use super::excerpt::Excerpt;
use ackclock_cc::Settings;
use miette::{Diagnostic, LabeledSpan, SourceCode};
use std::fmt;
use std::sync::Arc;

/// The name that is shown for the command line.
const COMMAND_LINE: &str = "command line";

/// A scenario's text and the name of its file, and what the program around brings along.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's name.
    pub name: String,
    /// The file's contents.
    pub text: String,
    /// Controllers that are not in the registry, which flows may name like those that are.
    pub brought: Vec<Settings>,
    /// False if the scenario may name no other file.
    pub(crate) files: bool,
}

/// Where a value was written.
#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    /// In the file: the offsets of its first byte and of the byte after it.
    File(usize, usize),
    /// On the command line: its text there.
    CommandLine(String),
}

impl Origin {
    pub(crate) fn is_command_line(&self) -> bool {
        matches!(self, Origin::CommandLine(_))
    }
}

/// An error in a scenario.
#[derive(Debug)]
pub struct ScenarioError(Box<Details>);

#[derive(Debug)]
struct Details {
    message: String,
    key: String,
    origin: Origin,
    help: Option<String>,
    unknown_key: bool,
    file: Arc<Source>,
    shown: Excerpt,
}

impl ScenarioError {
    pub(crate) fn new(
        source: &Arc<Source>,
        origin: &Origin,
        key: &str,
        message: impl Into<String>,
    ) -> ScenarioError {
        let shown = match origin {
            Origin::File(..) => Excerpt { name: source.name.clone(), text: source.text.clone() },
            Origin::CommandLine(written) => Excerpt { name: COMMAND_LINE.to_owned(), text: written.clone() },
        };
        ScenarioError(Box::new(Details {
            message: message.into(),
            key: key.to_owned(),
            origin: origin.clone(),
            help: None,
            unknown_key: false,
            file: Arc::clone(source),
            shown,
        }))
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> ScenarioError {
        self.0.help = Some(help.into());
        self
    }

    /// Notes that the error is an unknown key.
    pub(crate) fn unknown_key(mut self) -> ScenarioError {
        self.0.unknown_key = true;
        self
    }

    pub(crate) fn is_unknown_key(&self) -> bool {
        self.0.unknown_key
    }

    /// The key with the error, dotted.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The line in the file, from 1, if the error is in the file.
    pub fn line(&self) -> Option<usize> {
        match self.0.origin {
            Origin::File(start, _) => {
                let before = &self.0.file.text.as_bytes()[..start.min(self.0.file.text.len())];
                Some(1 + before.iter().filter(|&&byte| byte == b'\n').count())
            }
            Origin::CommandLine(_) => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line() {
            Some(line) => write!(f, "{}:{line}: ", self.0.file.name)?,
            None => write!(f, "{COMMAND_LINE}: ")?,
        }
        if !self.0.key.is_empty() {
            write!(f, "{}: ", self.0.key)?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ScenarioError {}

impl Diagnostic for ScenarioError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.0.shown)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = match &self.0.origin {
            Origin::File(start, end) => {
                let length = self.0.file.text.len();
                let start = (*start).min(length);
                (start, end.saturating_sub(start).max(1).min(length - start))
            }
            Origin::CommandLine(written) => (0, written.len()),
        };
        let span = (span.0, self.0.shown.clip(span.0, span.1));
        Some(Box::new(std::iter::once(LabeledSpan::new(Some("here".to_owned()), span.0, span.1))))
    }
}

/// The known word that is most similar to `word`, if any is similar. Case decides only between words that are
/// equally similar.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance costs time and memory in proportion to both lengths. It is at least their difference.
    let comparable = known.into_iter().filter(|known| word.len() <= 2 * known.len() + 4);
    let distance = |known: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &known.to_lowercase());
    let alike = comparable.map(|known| (distance(known), known));
    let close = alike.filter(|(distance, known)| *distance <= known.len().max(3) / 3);
    close
        .min_by_key(|&(distance, known)| (distance, strsim::damerau_levenshtein(word, known), known))
        .map(|(_, known)| known)
}

/// The remedy for a misspelt word: "did you mean ...", or the list of known words.
pub fn suggest(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"? Known here: {}", some_of(known)),
        None => format!("known here: {}", some_of(known)),
    }
}

/// The words, separated by commas. If there are very many, only the first.
pub(crate) fn some_of(known: &[&str]) -> String {
    const SHOWN: usize = 30;
    match known.len() {
        0 => "nothing".to_owned(),
        1..=SHOWN => known.join(", "),
        more => format!("{}, and {} more", known[..SHOWN].join(", "), more - SHOWN),
    }
}
