//! Reads tables key by key. A key that nobody asked for is an error.

use super::document::{Node, Value};
use super::error::{ScenarioError, Source, nearest, suggest};
use ackclock_cc::Settings;
use ackclock_units::QuantityError;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// The result of reading.
pub type Result<T> = std::result::Result<T, ScenarioError>;

/// A node, and the dotted path to it.
#[derive(Clone)]
pub struct At<'a> {
    /// The node.
    pub node: &'a Node,
    /// The dotted path.
    pub path: String,
    source: &'a Arc<Source>,
}

impl<'a> At<'a> {
    /// A node of the document `source`, and the path to it.
    pub fn new(node: &'a Node, path: impl Into<String>, source: &'a Arc<Source>) -> At<'a> {
        At { node, path: path.into(), source }
    }

    /// An error at this place.
    pub fn error(&self, message: impl Into<String>) -> ScenarioError {
        ScenarioError::new(self.source, &self.node.origin, &self.path, message)
    }

    /// The controller of this name that the program around brings along.
    pub(crate) fn brought(&self, name: &str) -> Option<&'a Settings> {
        self.source.brought.iter().find(|settings| settings.scheme().name == name)
    }

    /// May this document name files?
    pub(crate) fn may_name_files(&self) -> bool {
        self.source.files
    }

    /// The path of a file that is named relative to the scenario's.
    pub(crate) fn beside(&self, file: &str) -> PathBuf {
        Path::new(&self.source.name).parent().unwrap_or(Path::new("")).join(file)
    }

    fn wrong_kind(&self, wanted: &str, help: impl Into<String>) -> ScenarioError {
        self.error(format!("{wanted} is wanted here, not {}", self.node.value.kind())).help(help)
    }

    /// The node as a text.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn text(&self) -> Result<&'a str> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            Value::Number(_) | Value::Flag(_) => {
                Err(self.wrong_kind("a text", format!("put it in quotes: \"{}\"", self.node.value.plain())))
            }
            _ => Err(self.wrong_kind("a text", "for example \"some words\"")),
        }
    }

    /// The node as a switch.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn flag(&self) -> Result<bool> {
        match &self.node.value {
            Value::Flag(flag) => Ok(*flag),
            Value::Text(text) if text == "true" || text == "false" => {
                Err(self.wrong_kind("true or false", format!("leave the quotes out: {text}")))
            }
            _ => Err(self.wrong_kind("true or false", "write true or false, without quotes")),
        }
    }

    /// The node as a number from `least` to `most`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn number(&self, least: f64, most: f64) -> Result<f64> {
        let number = match &self.node.value {
            Value::Number(number) => *number,
            Value::Text(text) if text.trim().parse::<f64>().is_ok() => {
                return Err(
                    self.wrong_kind("a plain number", format!("leave the quotes out: {}", text.trim()))
                );
            }
            _ => {
                return Err(self.wrong_kind("a plain number", format!("a number {}", between(least, most))));
            }
        };
        if !(least..=most).contains(&number) {
            let given = self.node.value.plain();
            return Err(self
                .error(format!("{given} is out of range"))
                .help(format!("it must be {}", between(least, most))));
        }
        Ok(number)
    }

    /// The node as a whole number from `least` to `most`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn count(&self, least: u64, most: u64) -> Result<u64> {
        let number = self.number(least as f64, most as f64)?;
        if number.fract() != 0.0 {
            return Err(self
                .error(format!("{number} is not a whole number"))
                .help(format!("a whole number {}", between(least as f64, most as f64))));
        }
        Ok(number as u64)
    }

    /// The node as a number with its unit.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn quantity<Q: FromStr<Err = QuantityError>>(&self) -> Result<Q> {
        match &self.node.value {
            Value::Text(text) => {
                text.parse().map_err(|error: QuantityError| self.error(error.problem()).help(error.remedy()))
            }
            Value::Number(_) => {
                let number = self.node.value.plain();
                // The error for the number as a text lists the units.
                let remedy = number.parse::<Q>().err().map(|error| error.remedy().to_owned());
                let help = format!("put it in quotes and {}", remedy.unwrap_or_default());
                Err(self.error(format!("{number} has no unit")).help(help))
            }
            _ => Err(self.wrong_kind("a quantity", "a number and its unit in quotes, for example \"40 ms\"")),
        }
    }

    /// The node as a list.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn list(&self) -> Result<Vec<At<'a>>> {
        match &self.node.value {
            Value::List(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, node)| At::new(node, join(&self.path, &index.to_string()), self.source))
                .collect()),
            Value::Table(_) if !self.path.is_empty() && !self.path.contains('.') => {
                let help = format!("double the brackets: [[{}]], once for each entry", self.path);
                Err(self.wrong_kind("a list", help))
            }
            _ => Err(self.wrong_kind("a list", "values in brackets, for example [\"0 s\", \"50 s\"]")),
        }
    }

    /// The node as a table.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn table(&self) -> Result<Table<'a>> {
        self.table_like("{ key = value }")
    }

    /// The node as a table. `example` is a table for the error message.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn table_like(&self, example: &str) -> Result<Table<'a>> {
        match &self.node.value {
            Value::Table(entries) => Ok(Table { at: self.clone(), entries, asked: RefCell::default() }),
            _ => Err(self.wrong_kind("a table", format!("for example {example}"))),
        }
    }

    /// The node as a choice: a word, or a table with the word as its only key: `"layered"` or `{ layered = {
    /// ... } }`.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn choice(&self) -> Result<(&'a str, Option<At<'a>>)> {
        self.choice_like("\"layered\" or { layered = { beta = 0.2 } }")
    }

    /// Like [`At::choice`]. `example` is a value for the error message.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] for any other value.
    pub fn choice_like(&self, example: &str) -> Result<(&'a str, Option<At<'a>>)> {
        match &self.node.value {
            Value::Text(word) => Ok((word, None)),
            Value::Table(entries) => {
                // After --set control.layered.decrease=variable the control in the file does not count.
                let given: Vec<_> =
                    entries.iter().filter(|(_, node)| node.given_within().is_some()).collect();
                let (word, node) = match (&entries[..], &given[..]) {
                    ([one], _) => one,
                    (_, &[one]) => one,
                    _ => {
                        return Err(self
                            .error(format!("one name is wanted in this table, not {}", entries.len()))
                            .help(format!("for example {example}")));
                    }
                };
                Ok((word, Some(At::new(node, join(&self.path, word), self.source))))
            }
            _ => {
                Err(self
                    .wrong_kind("a name, or a table with one name in it", format!("for example {example}")))
            }
        }
    }

    /// The error for a `word` that is not in `known`, takes no table, or needs one.
    pub fn unknown(&self, what: &str, word: &str, known: &[&str]) -> ScenarioError {
        if known.contains(&word) {
            let message = match self.node.value {
                Value::Table(_) => format!("the {what} \"{word}\" has no settings of this kind"),
                _ => format!("the {what} \"{word}\" needs settings"),
            };
            let help = match self.node.value {
                Value::Table(_) => format!("write just \"{word}\""),
                _ => format!("write {{ {word} = ... }}"),
            };
            return self.error(message).help(help);
        }
        self.error(format!("there is no {what} called \"{word}\"")).help(suggest(word, known))
    }
}

fn between(least: f64, most: f64) -> String {
    format!("from {} to {}", Value::Number(least).plain(), Value::Number(most).plain())
}

/// A table that records which of its keys were asked for.
pub struct Table<'a> {
    /// The place of the table.
    pub at: At<'a>,
    entries: &'a [(String, Node)],
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Table<'a> {
    /// The entry of this key, if there is one.
    pub fn get(&self, key: &'static str) -> Option<At<'a>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
        let (_, node) = self.entries.iter().find(|(known, _)| known == key)?;
        Some(At::new(node, join(&self.at.path, key), self.at.source))
    }

    /// The entry of a required key. `example` is a value for the error message.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the key is missing.
    pub fn need(&self, key: &'static str, example: &str) -> Result<At<'a>> {
        self.need_as(key, &format!("for example {key} = {example}"))
    }

    /// The entry of a required key. `help` is the remedy in the error message.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the key is missing.
    pub fn need_as(&self, key: &'static str, help: &str) -> Result<At<'a>> {
        if let Some(at) = self.get(key) {
            return Ok(at);
        }
        // If the table has a similar key that nobody asked for, the user meant that one.
        let alike = |name: &str| !self.asked.borrow().contains(&name) && nearest(name, [key]).is_some();
        if let Some((_, at)) = self.entries().find(|(name, _)| alike(name)) {
            return Err(at
                .error(format!("unknown key; the key \"{key}\" is missing"))
                .help(format!("did you mean \"{key}\"?")));
        }
        Err(self.at.error(format!("the key \"{key}\" is missing")).help(help))
    }

    /// The quantity of this key, if there is one.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the value is not such a quantity.
    pub fn quantity<Q: FromStr<Err = QuantityError>>(&self, key: &'static str) -> Result<Option<Q>> {
        self.get(key).map(|at| at.quantity()).transpose()
    }

    /// All entries, for tables with free keys.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, At<'a>)> + '_ {
        self.entries
            .iter()
            .map(|(key, node)| (key.as_str(), At::new(node, join(&self.at.path, key), self.at.source)))
    }

    /// Checks that all keys were asked for.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] at the first key that nobody asked for.
    pub fn finish(&self) -> Result<()> {
        let asked = self.asked.borrow();
        for (key, at) in self.entries() {
            if !asked.contains(&key) {
                return Err(at.error("unknown key").unknown_key().help(suggest(key, &asked)));
            }
        }
        Ok(())
    }
}

/// The dotted path of an entry.
pub fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && !key.contains(|c: char| c == '.' || c.is_whitespace() || c == '"');
    let key = if bare { key.to_owned() } else { format!("\"{key}\"") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
