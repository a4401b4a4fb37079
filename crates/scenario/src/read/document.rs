//! A scenario file as a tree of values. Each value knows where it was written.
//!
//! `--set` and sweeps replace values in the tree. An error about a replaced value points to the replacement.

use super::error::{Origin, ScenarioError, Source};
use ackclock_cc::Settings;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value, and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
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

/// Integers below this are exact as floats.
const EXACT: f64 = (1_u64 << 53) as f64;
/// The deepest nesting of values. Scenarios need about eight levels.
const DEEPEST: usize = 32;

impl Value {
    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Number(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value as in a file. Texts have no quotes.
    pub fn plain(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            // Avoids hundreds of zeros, and loses no digit.
            Value::Number(number) if *number != 0.0 && !(1e-6..1e17).contains(&number.abs()) => {
                format!("{number:e}")
            }
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
            Value::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => (*number as i64).into(),
            Value::Number(number) if number.fract() == 0.0 && number.abs() < MAX_EXACT => {
                (*number as i64).into()
            }
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

/// Integers below this are exact in a double (2^53).
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The tree of a scenario.
#[derive(Clone, Debug)]
pub struct Document {
    /// The table at the root.
    pub root: Node,
    /// The text of the file.
    pub source: Arc<Source>,
}

impl Node {
    /// A value from the command line. `written` is its text there, for messages.
    pub fn given(value: Value, written: &str) -> Node {
        let origin = Origin::CommandLine(written.to_owned());
        Node { value: value.with_origin(&origin), origin }
    }

    /// A list whose entries were given one by one on the command line.
    pub fn given_list(entries: Vec<Node>, written: &str) -> Node {
        Node { value: Value::List(entries), origin: Origin::CommandLine(written.to_owned()) }
    }

    /// The entry of a table or list.
    fn inner(&self, part: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(key, _)| key == part).map(|(_, node)| node),
            Value::List(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Where the command line set this value, or a value inside it.
    pub(crate) fn given_within(&self) -> Option<&Origin> {
        if self.origin.is_command_line() {
            return Some(&self.origin);
        }
        match &self.value {
            Value::List(items) => items.iter().find_map(Node::given_within),
            Value::Table(entries) => entries.iter().find_map(|(_, node)| node.given_within()),
            _ => None,
        }
    }
}

impl Document {
    /// Parses TOML. `name` is the name of the file, for messages.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the text is not TOML, or is nested too deeply.
    pub fn parse(name: &str, text: &str) -> Result<Document, ScenarioError> {
        let source = Arc::new(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            brought: Vec::new(),
            files: true,
        });
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            ScenarioError::new(&source, &Origin::File(at.start, at.end), "", error.message())
                .help("the file must be valid TOML: key = value, texts in quotes, [tables] in brackets")
        })?;
        let span = table.span();
        let value = table_of(table.into_inner(), 0).map_err(|deep| {
            ScenarioError::new(&source, &deep, "", format!("nested more than {DEEPEST} levels deep"))
                .help("no scenario needs that; look for a stray bracket or dot")
        })?;
        Ok(Document { root: Node { value, origin: Origin::File(span.start, span.end) }, source })
    }

    /// Lets flows name these controllers, which are not in the registry.
    pub fn bring(&mut self, brought: Vec<Settings>) {
        Arc::make_mut(&mut self.source).brought = brought;
    }

    /// The same for a text that may be anybody's: an entry that names a file is an error at its place.
    #[must_use]
    pub fn without_files(mut self) -> Document {
        Arc::make_mut(&mut self.source).files = false;
        self
    }

    /// The document as TOML, without comments.
    pub fn to_toml(&self) -> String {
        // Only a null has no TOML form, and a document contains none.
        toml::to_string_pretty(&self.root.value.to_json()).unwrap_or_default()
    }

    /// Applies one `--set key=value`. The value is parsed as TOML. If that fails, it is text.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if there is no equals sign, or [`Document::set`] fails.
    pub fn set_from_text(&mut self, setting: &str) -> Result<(), ScenarioError> {
        let written = format!("--set {setting}");
        let Some((key, text)) = split_setting(setting) else {
            let origin = Origin::CommandLine(written);
            return Err(ScenarioError::new(&self.source, &origin, "", "a setting has the form key=value")
                .help("for example --set seed=2 or --set flows.0.control=cubic"));
        };
        self.set(key.trim(), Node::given(value_of(text.trim()), &written))
    }

    /// Replaces or adds the value at a dotted path. A number in the path is an index into a list. A part in
    /// quotes may contain dots.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the path is empty or malformed, or leads through a value that is not a table or
    /// list.
    pub fn set(&mut self, path: &str, node: Node) -> Result<(), ScenarioError> {
        let source = Arc::clone(&self.source);
        let wrong = |message: String, help: &str| {
            Err(ScenarioError::new(&source, &node.origin, path, message).help(help))
        };
        let parts = match path_parts(path) {
            Some(parts) if parts.len() <= DEEPEST => parts,
            _ => {
                return wrong(
                    format!("\"{path}\" is not a key"),
                    "write it as a.b.c, with 0, 1, ... for list entries and quotes around parts with dots",
                );
            }
        };
        let mut at = &mut self.root;
        for part in parts {
            at = match &mut at.value {
                Value::Table(entries) => {
                    let position = entries.iter().position(|(key, _)| *key == part).unwrap_or_else(|| {
                        let empty = Node { value: Value::Table(Vec::new()), origin: node.origin.clone() };
                        entries.push((part, empty));
                        entries.len() - 1
                    });
                    &mut entries[position].1
                }
                Value::List(items) => {
                    let count = items.len();
                    match part.parse::<usize>().ok().filter(|&index| index < count) {
                        Some(index) => &mut items[index],
                        None => {
                            let help = match count {
                                0 => "the list is empty; set it as a whole: key=[...]".to_owned(),
                                1 => "the list has one entry, 0".to_owned(),
                                _ => format!("the list has entries 0 to {}", count - 1),
                            };
                            return wrong(format!("there is no entry \"{part}\" in this list"), &help);
                        }
                    }
                }
                // A plain value becomes a table: control = "reno" becomes control = { layered = ... }.
                other => {
                    *other = Value::Table(vec![(
                        part,
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

    /// The entry at this path.
    pub(crate) fn at(&self, parts: &[String]) -> Option<&Node> {
        parts.iter().try_fold(&self.root, |node, part| node.inner(part))
    }

    /// The entry at this path, or the last one on the way that exists.
    pub(crate) fn closest(&self, parts: &[String]) -> &Node {
        let mut node = &self.root;
        for part in parts {
            let Some(inner) = node.inner(part) else { break };
            node = inner;
        }
        node
    }

    /// Removes and returns a top-level entry.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Value::Table(entries) = &mut self.root.value else { return None };
        let position = entries.iter().position(|(known, _)| known == key)?;
        Some(entries.remove(position).1)
    }

    /// True if there is a top-level entry of this name.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// A top-level entry.
    pub(crate) fn entry(&self, key: &str) -> Option<&Node> {
        let Value::Table(entries) = &self.root.value else { return None };
        entries.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }
}

/// Splits `key=value` at the first equals sign outside quotes.
fn split_setting(setting: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = setting.find(|c: char| {
        quoted ^= c == '"';
        c == '=' && !quoted
    })?;
    Some((&setting[..at], &setting[at + 1..]))
}

/// The parts of a dotted path; `None` if a part is empty or a quote is not closed.
pub(crate) fn path_parts(path: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            other => parts.last_mut()?.push(other),
        }
    }
    (!quoted && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

/// A TOML value, or the text itself if it is not TOML.
fn value_of(text: &str) -> Value {
    let line = format!("value = {text}");
    let parsed = DeTable::parse(&line).ok().map(|table| table.into_inner()).filter(|table| table.len() == 1);
    parsed
        .and_then(|table| table.into_iter().next())
        .and_then(|(_, value)| node_of(value, 0).ok())
        .map_or_else(|| Value::Text(text.to_owned()), |node| node.value)
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

    /// The number of values in this tree, itself included.
    pub(crate) fn size(&self) -> usize {
        match self {
            Value::List(items) => 1 + items.iter().map(|item| item.value.size()).sum::<usize>(),
            Value::Table(entries) => 1 + entries.iter().map(|(_, node)| node.value.size()).sum::<usize>(),
            _ => 1,
        }
    }
}

/// Converts a table. The error is the place of a value that is nested too deeply.
fn table_of(table: DeTable<'_>, depth: usize) -> Result<Value, Origin> {
    let mut entries: Vec<_> = table.into_iter().map(|(key, value)| (key.span().start, key, value)).collect();
    entries.sort_by_key(|&(start, ..)| start);
    let entries = entries
        .into_iter()
        .map(|(_, key, value)| Ok((key.into_inner().into_owned(), node_of(value, depth)?)))
        .collect::<Result<_, _>>()?;
    Ok(Value::Table(entries))
}

fn node_of(value: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Origin> {
    let span = value.span();
    let origin = Origin::File(span.start, span.end);
    if depth >= DEEPEST {
        return Err(origin);
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        // An integer that is too large for i64 is never valid, but messages should show it.
        DeValue::Integer(number) => {
            Value::Number(match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => number as f64,
                Err(_) => number.as_str().parse().unwrap_or(f64::INFINITY),
            })
        }
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(moment) => Value::Text(moment.to_string()),
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| node_of(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => table_of(table, depth + 1)?,
    };
    Ok(Node { value, origin })
}
