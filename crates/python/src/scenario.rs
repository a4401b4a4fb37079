//! Scenarios: from a file, from text, or from a dictionary, with values set before they are read.

use crate::error::{raised, wrong};
use crate::sweep::Sweep;
use ackclock_scenario::{Document, Expansion, Node, Value};
use ackclock_study::comparison::Comparison;
use ackclock_study::input;
use pyo3::prelude::*;
use std::path::Path;

/// A scenario before it is expanded.
#[pyclass(frozen, module = "ackclock._native")]
pub(crate) struct Scenario {
    pub(crate) document: Document,
}

#[pymethods]
impl Scenario {
    /// Reads the file at `path`.
    #[staticmethod]
    fn of_file(path: &str) -> PyResult<Scenario> {
        let text = input::read(Path::new(path)).map_err(raised)?;
        Scenario::of_text(path, &text)
    }

    /// Reads TOML. `name` stands for the file in messages; other files are looked for beside it.
    #[staticmethod]
    fn of_text(name: &str, text: &str) -> PyResult<Scenario> {
        Ok(Scenario { document: Document::parse(name, text).map_err(raised)? })
    }

    /// Reads a dictionary, as JSON.
    #[staticmethod]
    fn of_json(name: &str, json: &str) -> PyResult<Scenario> {
        let help = "a scenario has texts, numbers, true and false, lists and tables";
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| wrong(error, help))?;
        if self::value(&value).is_none() {
            return Err(wrong("a null cannot be a value of a scenario", help));
        }
        let text = toml::to_string(&value).map_err(|error| wrong(error, help))?;
        Scenario::of_text(name, &text)
    }

    /// The scenario of a comparison: one point per controller and seed, each alone at the bottleneck. Texts
    /// are quantities as in a scenario.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "they are the options of a command")]
    fn of_comparison(
        controls: Vec<String>,
        path: (String, String, String, f64, String),
        duration: String,
        flows: u32,
        seed: u64,
        seeds: Option<u32>,
        tcp: (Option<String>, Option<String>, Option<String>),
    ) -> PyResult<Scenario> {
        let (rate, rtt, buffer, loss, queue) = path;
        let (stack, detection, recovery) = tcp;
        let comparison = Comparison {
            controls,
            rate,
            rtt,
            buffer,
            loss,
            duration,
            queue,
            stack,
            detection,
            recovery,
            flows,
            seed,
            seeds,
        };
        Ok(Scenario { document: comparison.document().map_err(raised)? })
    }

    /// A copy with these values set: pairs of a dotted key and a value as JSON.
    fn with_values(&self, settings: Vec<(String, String)>) -> PyResult<Scenario> {
        let mut document = self.document.clone();
        for (key, json) in settings {
            set(&mut document, &key, &json)?;
        }
        Ok(Scenario { document })
    }

    /// The text of the file from which it was read.
    #[getter]
    fn text(&self) -> String {
        self.document.source.text.clone()
    }

    /// The name of the file from which it was read.
    #[getter]
    fn name(&self) -> String {
        self.document.source.name.clone()
    }

    /// The scenario as TOML, with what was set, without comments.
    fn to_toml(&self) -> String {
        self.document.to_toml()
    }

    /// The scenario as JSON.
    fn to_json(&self) -> String {
        self.document.root.value.to_json().to_string()
    }

    /// Its points.
    fn sweep(&self) -> PyResult<Sweep> {
        Ok(Sweep::new(Expansion::of(self.document.clone()).map_err(raised)?))
    }
}

/// Sets the value at a dotted key to one that is given as JSON.
pub(crate) fn set(document: &mut Document, key: &str, json: &str) -> PyResult<()> {
    let help = "it may be a text, a number, true or false, a list or a dictionary of these";
    let parsed: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let Some(value) = parsed.as_ref().and_then(value) else {
        return Err(wrong(format!("{key}: {json} cannot be a value of a scenario"), help));
    };
    document.set(key, Node::given(value, &format!("{key} = {json}"))).map_err(raised)
}

/// A value of a scenario. `None` for what has no form there: nulls.
fn value(json: &serde_json::Value) -> Option<Value> {
    let node = |json| value(json).map(|value| Node::given(value, ""));
    Some(match json {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(flag) => Value::Flag(*flag),
        serde_json::Value::Number(number) => Value::Number(number.as_f64()?),
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Array(items) => Value::List(items.iter().map(node).collect::<Option<_>>()?),
        serde_json::Value::Object(entries) => {
            let entries = entries.iter().map(|(key, json)| Some((key.clone(), node(json)?)));
            Value::Table(entries.collect::<Option<_>>()?)
        }
    })
}
