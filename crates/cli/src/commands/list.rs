//! `ackclock list`.

use crate::args::{List, Listed};
use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_study::reproduce::{Library, check};
use serde_json::{Value, json};

/// (kind, name, what, source) of everything.
fn entries(library: &Library) -> Vec<(Listed, String, String, String)> {
    let entry = |kind, name: &str, what: &str, source: &str| {
        (kind, name.to_owned(), what.to_owned(), source.to_owned())
    };
    let named = catalogue();
    let named = named.iter().map(|it| entry(it.kind, it.entry.name, it.entry.summary, it.entry.source));
    let experiments = library
        .experiments()
        .iter()
        .map(|e| entry(Listed::Experiments, &e.id, &e.title, &format!("{}, {}", e.work, e.section)));
    named.chain(experiments).collect()
}

pub(crate) fn run(command: &List) -> Result<(), Failure> {
    let library = Library::built_in()?;
    if command.what == Some(Listed::Experiments) {
        for experiment in library.experiments() {
            check(&library, experiment)?;
        }
    }
    let chosen: Vec<_> = entries(&library)
        .into_iter()
        .filter(|entry| command.what.is_none_or(|what| what == entry.0))
        .collect();
    if command.json {
        let list: Vec<Value> = chosen
            .iter()
            .map(|(kind, name, what, source)| json!({"kind": kind.word(), "name": name, "what": what, "source": source}))
            .collect();
        say!("{}", json!(list));
        return Ok(());
    }
    let rows = chosen.iter().map(|(kind, name, what, source)| {
        vec![kind.word().to_owned(), name.clone(), what.clone(), source.clone()]
    });
    say!("{}", plain_table(&["kind", "name", "what it does", "source"], rows));
    Ok(())
}
