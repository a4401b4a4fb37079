//! A scenario file as a tree of values that remember where they stand.
//!
//! `--set` and sweeps replace values in the tree; an error about a replaced value points at where the
//! replacement was written.

use super::error::{Origin, ScenarioError, Source};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number without a unit.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file.
    Table(Vec<(String, Node)>),
}

impl Value {
    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Number(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value as it is written in a file; texts without their quotes.
    pub fn plain(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::List(items) => {
                format!("[{}]", items.iter().map(|item| item.value.plain()).collect::<Vec<_>>().join(", "))
            }
            Value::Table(entries) => {
                let entries = entries.iter().map(|(key, node)| format!("{key} = {}", node.value.plain()));
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Text(text) => text.clone().into(),
            Value::Number(number) => (*number).into(),
            Value::Flag(flag) => (*flag).into(),
            Value::List(items) => items.iter().map(|item| item.value.to_json()).collect(),
            Value::Table(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.clone(), node.value.to_json()));
                serde_json::Value::Object(entries.collect())
            }
        }
    }
}

/// A scenario's tree.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) root: Node,
    pub(crate) source: Arc<Source>,
}

impl Document {
    /// Reads TOML; `name` is the file's, for messages.
    pub fn parse(name: &str, text: &str) -> Result<Document, ScenarioError> {
        let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            ScenarioError::new(&source, &Origin::File(at.start, at.end), "", error.message())
                .help("the file must be valid TOML 1.0")
        })?;
        let span = table.span();
        let root = Node { value: table_of(table.into_inner()), origin: Origin::File(span.start, span.end) };
        Ok(Document { root, source })
    }

    /// Applies one `--set key=value`. The value is read as TOML, or taken as text where it is none.
    pub fn set_from_text(&mut self, setting: &str) -> Result<(), ScenarioError> {
        let origin = Origin::Setting(setting.to_owned());
        let Some((key, text)) = setting.split_once('=') else {
            return Err(ScenarioError::new(&self.source, &origin, "", "a setting has the form key=value")
                .help("for example --set seed=2 or --set flows.0.control=cubic"));
        };
        let (key, text) = (key.trim(), text.trim());
        let line = format!("value = {text}");
        let parsed = DeTable::parse(&line)
            .ok()
            .and_then(|table| table.into_inner().into_iter().next().map(|(_, value)| node_of(value).value));
        let value = parsed.unwrap_or_else(|| Value::Text(text.to_owned()));
        self.set(key, Node { value: value.with_origin(&origin), origin })
    }

    /// Replaces or adds the value at a dotted path; a number in the path is an index into a list.
    pub fn set(&mut self, path: &str, node: Node) -> Result<(), ScenarioError> {
        let source = Arc::clone(&self.source);
        let wrong = |message: String, help: &str| {
            Err(ScenarioError::new(&source, &node.origin, path, message).help(help))
        };
        let mut at = &mut self.root;
        for part in path.split('.') {
            if part.is_empty() {
                return wrong(
                    format!("\"{path}\" is not a key"),
                    "write it as a.b.c, with 0, 1, ... for list entries",
                );
            }
            at = match &mut at.value {
                Value::Table(entries) => {
                    let position = entries.iter().position(|(key, _)| key == part).unwrap_or_else(|| {
                        let empty = Node { value: Value::Table(Vec::new()), origin: node.origin.clone() };
                        entries.push((part.to_owned(), empty));
                        entries.len() - 1
                    });
                    &mut entries[position].1
                }
                Value::List(items) => {
                    let count = items.len();
                    match part.parse::<usize>().ok().filter(|&index| index < count) {
                        Some(index) => &mut items[index],
                        None => {
                            return wrong(
                                format!("there is no entry {part}"),
                                &format!("the list has entries 0 to {}", count.saturating_sub(1)),
                            );
                        }
                    }
                }
                // A plain value gives way to a table: control = "reno" to control = { layered = ... }.
                other => {
                    *other = Value::Table(vec![(
                        part.to_owned(),
                        Node { value: Value::Table(Vec::new()), origin: node.origin.clone() },
                    )]);
                    let Value::Table(entries) = other else { unreachable!("just made") };
                    &mut entries[0].1
                }
            };
        }
        *at = node;
        Ok(())
    }

    /// Removes and returns a top-level entry.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Value::Table(entries) = &mut self.root.value else { return None };
        let position = entries.iter().position(|(known, _)| known == key)?;
        Some(entries.remove(position).1)
    }
}

impl Value {
    fn with_origin(self, origin: &Origin) -> Value {
        let renew = |node: Node| Node { value: node.value.with_origin(origin), origin: origin.clone() };
        match self {
            Value::List(items) => Value::List(items.into_iter().map(renew).collect()),
            Value::Table(entries) => {
                Value::Table(entries.into_iter().map(|(key, node)| (key, renew(node))).collect())
            }
            plain => plain,
        }
    }
}

fn table_of(table: DeTable<'_>) -> Value {
    let mut entries: Vec<_> = table.into_iter().map(|(key, value)| (key.span().start, key, value)).collect();
    entries.sort_by_key(|&(start, ..)| start);
    Value::Table(
        entries.into_iter().map(|(_, key, value)| (key.into_inner().into_owned(), node_of(value))).collect(),
    )
}

fn node_of(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            let digits = i64::from_str_radix(number.as_str(), number.radix());
            Value::Number(digits.map_or(f64::NAN, |number| number as f64))
        }
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(moment) => Value::Text(moment.to_string()),
        DeValue::Array(items) => Value::List(items.into_iter().map(node_of).collect()),
        DeValue::Table(table) => table_of(table),
    };
    Node { value, origin: Origin::File(span.start, span.end) }
}
