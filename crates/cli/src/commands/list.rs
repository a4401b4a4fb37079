//! `ackclock list`.

use crate::args::List;
use crate::failure::Failure;
use crate::view::matrix::Matrix;
use crate::view::table::plain_table;
use ackclock_study::reproduce::{Library, check};
use ackclock_view::catalogue::{Kind, catalogue};
use serde_json::{Value, json};

/// What is listed.
struct Entry {
    kind: Kind,
    name: String,
    what: String,
    source: String,
    /// The family of an experiment.
    family: Option<String>,
}

fn entries(library: &Library) -> Vec<Entry> {
    let entry = |kind, name: &str, what: &str, source: &str, family| {
        let [name, what, source] = [name, what, source].map(str::to_owned);
        Entry { kind, name, what, source, family }
    };
    let named = catalogue();
    let named = named.iter().map(|it| entry(it.kind, it.entry.name, it.entry.summary, it.entry.source, None));
    let families = library.families();
    let experiments = families.iter().flat_map(|(family, work, members)| {
        members.iter().map(move |e| {
            let source = format!("{work}, {}", e.section);
            entry(Kind::Experiments, &e.id, &e.title, &source, Some((*family).to_owned()))
        })
    });
    named.chain(experiments).collect()
}

pub(crate) fn run(command: &List) -> Result<(), Failure> {
    if command.hosts {
        let matrix = Matrix::new();
        if command.json {
            say!("{}", matrix.json());
        } else {
            say!("{}", plain_table(&matrix.header(), matrix.rows()));
            for line in matrix.remarks() {
                say!("{line}");
            }
        }
        return Ok(());
    }
    let library = Library::built_in()?;
    if command.what == Some(Kind::Experiments) {
        for experiment in library.experiments() {
            check(&library, experiment)?;
        }
    }
    let chosen: Vec<_> = entries(&library)
        .into_iter()
        .filter(|entry| command.what.is_none_or(|what| what == entry.kind))
        .collect();
    if command.json {
        let list: Vec<Value> = chosen
            .iter()
            .map(|Entry { kind, name, what, source, family }| {
                let mut entry = json!({"kind": kind.word(), "name": name, "what": what, "source": source});
                if let Some(family) = family {
                    entry["family"] = family.clone().into();
                }
                entry
            })
            .collect();
        say!("{}", json!(list));
        return Ok(());
    }
    let rows = chosen.iter().map(|Entry { kind, name, what, source, .. }| {
        vec![kind.word().to_owned(), name.clone(), what.clone(), source.clone()]
    });
    say!("{}", plain_table(&["kind", "name", "what it does", "source"], rows));
    if command.what == Some(Kind::Experiments) {
        let families = library.families();
        let families = families.iter().map(|(family, work, all)| format!("{family} ({}, {work})", all.len()));
        say!("families: {}", families.collect::<Vec<_>>().join(", "));
    }
    Ok(())
}
