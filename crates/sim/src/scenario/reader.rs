//! Reading tables key by key; what was not asked for is an error.

use super::document::{Node, Value};
use super::error::{ScenarioError, Source, suggest};
use ackclock_units::QuantityError;
use std::cell::RefCell;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) type Result<T> = std::result::Result<T, ScenarioError>;

/// A node with the dotted path that leads to it.
#[derive(Clone)]
pub(crate) struct At<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: String,
    source: &'a Arc<Source>,
}

impl<'a> At<'a> {
    pub(crate) fn new(node: &'a Node, path: impl Into<String>, source: &'a Arc<Source>) -> At<'a> {
        At { node, path: path.into(), source }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ScenarioError {
        ScenarioError::new(self.source, &self.node.origin, &self.path, message)
    }

    fn wrong_kind(&self, wanted: &str, example: &str) -> ScenarioError {
        self.error(format!("{wanted} is wanted here, not {}", self.node.value.kind()))
            .help(format!("for example {example}"))
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong_kind("a text", "\"layered\"")),
        }
    }

    pub(crate) fn flag(&self) -> Result<bool> {
        match self.node.value {
            Value::Flag(flag) => Ok(flag),
            _ => Err(self.wrong_kind("true or false", "true")),
        }
    }

    /// A plain number within a range.
    pub(crate) fn number(&self, least: f64, most: f64) -> Result<f64> {
        let Value::Number(number) = self.node.value else {
            return Err(self.wrong_kind("a plain number", "10"));
        };
        if !(least..=most).contains(&number) {
            let given = self.node.value.plain();
            return Err(self
                .error(format!("{given} is out of range"))
                .help(format!("between {least} and {most}")));
        }
        Ok(number)
    }

    /// A whole number within a range.
    pub(crate) fn count(&self, least: u64, most: u64) -> Result<u64> {
        let number = self.number(least as f64, most as f64)?;
        if number.fract() != 0.0 {
            return Err(self.error(format!("{number} is not a whole number")));
        }
        Ok(number as u64)
    }

    /// A number with its unit.
    pub(crate) fn quantity<Q: FromStr<Err = QuantityError>>(&self) -> Result<Q> {
        match &self.node.value {
            Value::Text(text) => text
                .parse()
                .map_err(|error: QuantityError| self.error(error.to_string()).help(error.remedy())),
            Value::Number(number) => {
                let message = format!("{number} has no unit");
                Err(self
                    .error(message)
                    .help("write it as a text with its unit, for example \"40 ms\" or \"1 Gbit/s\""))
            }
            _ => Err(self.wrong_kind("a quantity", "\"40 ms\"")),
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<At<'a>>> {
        match &self.node.value {
            Value::List(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, node)| At::new(node, join(&self.path, &index.to_string()), self.source))
                .collect()),
            _ => Err(self.wrong_kind("a list", "[\"0 s\", \"50 s\"]")),
        }
    }

    pub(crate) fn table(&self) -> Result<Table<'a>> {
        match &self.node.value {
            Value::Table(entries) => Ok(Table { at: self.clone(), entries, asked: RefCell::default() }),
            _ => Err(self.wrong_kind("a table", "{ rate = \"1 Gbit/s\", delay = \"40 ms\" }")),
        }
    }

    /// A word, or a table with the word as its only key: `"layered"` or `{ layered = { ... } }`.
    pub(crate) fn choice(&self) -> Result<(&'a str, Option<At<'a>>)> {
        match &self.node.value {
            Value::Text(word) => Ok((word, None)),
            Value::Table(entries) if entries.len() == 1 => {
                let (word, node) = &entries[0];
                Ok((word, Some(At::new(node, join(&self.path, word), self.source))))
            }
            _ => Err(self.wrong_kind(
                "a name, or a table with one name in it",
                "\"layered\" or { layered = { beta = 0.2 } }",
            )),
        }
    }

    /// `word` is none of `known`.
    pub(crate) fn unknown(&self, what: &str, word: &str, known: &[&str]) -> ScenarioError {
        self.error(format!("there is no {what} called \"{word}\"")).help(suggest(word, known))
    }
}

/// A table that notes which of its keys were asked for.
pub(crate) struct Table<'a> {
    pub(crate) at: At<'a>,
    entries: &'a [(String, Node)],
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Table<'a> {
    pub(crate) fn get(&self, key: &'static str) -> Option<At<'a>> {
        self.asked.borrow_mut().push(key);
        let (_, node) = self.entries.iter().find(|(known, _)| known == key)?;
        Some(At::new(node, join(&self.at.path, key), self.at.source))
    }

    pub(crate) fn need(&self, key: &'static str, example: &str) -> Result<At<'a>> {
        self.get(key).ok_or_else(|| {
            self.at
                .error(format!("the key \"{key}\" is missing"))
                .help(format!("for example {key} = {example}"))
        })
    }

    pub(crate) fn quantity<Q: FromStr<Err = QuantityError>>(&self, key: &'static str) -> Result<Option<Q>> {
        self.get(key).map(|at| at.quantity()).transpose()
    }

    /// Every entry, for tables whose keys are free.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, At<'a>)> + '_ {
        self.entries
            .iter()
            .map(|(key, node)| (key.as_str(), At::new(node, join(&self.at.path, key), self.at.source)))
    }

    /// All keys must have been asked for.
    pub(crate) fn finish(&self) -> Result<()> {
        let asked = self.asked.borrow();
        for (key, at) in self.entries() {
            if !asked.contains(&key) {
                return Err(at.error(format!("unknown key \"{key}\"")).help(suggest(key, &asked)));
            }
        }
        Ok(())
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
