//! What can be chosen by name: lists, and what is known of one.

use crate::error::{raised, wrong};
use ackclock_scenario::nearest;
use ackclock_study::reproduce::Library;
use ackclock_view::catalogue::{Kind, Named, catalogue, json};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Everything that can be chosen by name, as JSON: the command line's list.
#[pyfunction]
pub(crate) fn list() -> PyResult<String> {
    let library = Library::built_in().map_err(raised)?;
    let mut entries: Vec<Value> = catalogue()
        .iter()
        .map(|Named { kind, entry, .. }| {
            json!({"kind": kind.word(), "name": entry.name, "what": entry.summary, "source": entry.source})
        })
        .collect();
    for (family, work, members) in library.families() {
        entries.extend(members.iter().map(|it| {
            json!({"kind": Kind::Experiments.word(), "name": it.id, "what": it.title,
                   "source": format!("{work}, {}", it.section), "family": family})
        }));
    }
    Ok(json!(entries).to_string())
}

/// What is known of a name, as JSON. `kind` says where it is looked for.
#[pyfunction]
pub(crate) fn show(name: &str, kind: Option<&str>) -> PyResult<String> {
    let asked = |word: &str| kind.is_none_or(|kind| kind == word);
    let all: Vec<Named> = catalogue().into_iter().filter(|named| asked(named.kind.word())).collect();
    if let Some(named) = all.iter().find(|named| named.entry.name == name) {
        return Ok(json(named).to_string());
    }
    let library = Library::built_in().map_err(raised)?;
    let experiments = asked(Kind::Experiments.word());
    if let Some(experiment) = library.find(name).filter(|_| experiments) {
        return Ok(experiment.to_json().to_string());
    }
    let names = all.iter().map(|named| named.entry.name);
    let ids = library.experiments().iter().filter(|_| experiments).map(|it| &*it.id);
    let remedy = match nearest(name, names.chain(ids)) {
        Some(near) => format!("did you mean \"{near}\"? ackclock.list() says what there is"),
        None => "ackclock.list() says what there is".to_owned(),
    };
    Err(wrong(format!("there is nothing called \"{name}\""), &remedy))
}
