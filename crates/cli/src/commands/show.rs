//! `ackclock show`.

use crate::args::Show;
use crate::commands::reproduce;
use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_registry::Entry;
use ackclock_scenario::nearest;
use ackclock_study::reproduce::Library;
use ackclock_view::catalogue::{Kind, Named, catalogue, json};
use miette::miette;

pub(crate) fn run(command: &Show) -> Result<(), Failure> {
    let asked = |kind: Kind| command.kind.is_none_or(|wanted| wanted == kind);
    let all: Vec<Named> = catalogue().into_iter().filter(|named| asked(named.kind)).collect();
    let found: Vec<&Named> = all.iter().filter(|named| named.entry.name == command.name).collect();
    if let Some(first) = found.first() {
        if command.json {
            say!("{}", json(first));
            return Ok(());
        }
        // A controller and a recovery may have the same name.
        let texts: Vec<String> = found.iter().map(|named| describe(named)).collect();
        say!("{}", texts.join("\n\n"));
        return Ok(());
    }
    let library = Library::built_in()?;
    if let Some(experiment) = library.find(&command.name).filter(|_| asked(Kind::Experiments)) {
        if command.json {
            say!("{}", experiment.to_json());
        } else {
            say!("{}", reproduce::describe(experiment).trim_end());
        }
        return Ok(());
    }
    let names = all.iter().map(|named| named.entry.name);
    let ids = library.experiments().iter().filter(|_| asked(Kind::Experiments)).map(|it| &*it.id);
    let help = match nearest(&command.name, names.chain(ids)) {
        Some(name) => format!("did you mean \"{name}\"? `ackclock list` says what there is"),
        None => "`ackclock list` says what there is".to_owned(),
    };
    Err(Failure::Report(miette!(help = help, "there is nothing called \"{}\"", command.name)))
}

fn describe(named: &Named) -> String {
    let Entry { name, title, source, summary, equations, notes, parameters } = named.entry;
    let mut text = format!("{title} ({name})\n{summary}\n\nIn a scenario: {}\n", named.usage);
    if let Some(kernel) = &named.kernel {
        text += &format!("In the kernel: {kernel}\n");
    }
    if !source.is_empty() {
        text += &format!("Source: {source}\n");
    }
    if !named.sets.is_empty() {
        text += match named.kind {
            Kind::Stacks => "\nIt sets:\n",
            _ => "\nWhere a scenario says nothing:\n",
        };
    }
    for line in &named.sets {
        text += &format!("    {line}\n");
    }
    if !equations.is_empty() {
        text += "\n";
    }
    for equation in equations {
        text += &format!("    {equation}\n");
    }
    if !notes.is_empty() {
        text += "\n";
        for note in notes {
            text += &format!("  * {note}\n");
        }
    }
    if !parameters.is_empty() {
        let rows = parameters.iter().map(|p| {
            let words: Vec<_> =
                p.words().iter().map(|(word, meaning)| format!("\"{word}\": {meaning}")).collect();
            let about = match words.is_empty() {
                true => p.about.to_owned(),
                false => format!("{}. {}", p.about, words.join("; ")),
            };
            vec![p.name.to_owned(), p.default.to_string(), p.unit.to_owned(), p.domain_text(), about]
        });
        text +=
            &format!("\n{}\n", plain_table(&["parameter", "default", "unit", "may be", "what it is"], rows));
    }
    text.trim_end().to_owned()
}
