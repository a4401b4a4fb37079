//! `ackclock show`.

use crate::args::Show;
use crate::commands::reproduce;
use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_cc::{Domain, Scheme, scheme, schemes};
use ackclock_study::reproduce::Library;
use miette::miette;
use serde_json::json;

pub(crate) fn run(command: &Show) -> Result<(), Failure> {
    let Some(scheme) = scheme(&command.name) else {
        if let Some(experiment) = Library::built_in()?.find(&command.name) {
            if command.json {
                say!("{}", experiment.to_json());
            } else {
                say!("{}", reproduce::describe(experiment).trim_end());
            }
            return Ok(());
        }
        let known: Vec<_> = schemes().iter().map(|scheme| scheme.name).collect();
        let help = format!("ackclock list says what there is; the controllers are {}", known.join(", "));
        return Err(Failure::Report(miette!(help = help, "there is nothing called \"{}\"", command.name)));
    };
    if command.json {
        let parameters: Vec<_> = scheme
            .parameters
            .iter()
            .map(|p| json!({"name": p.name, "default": p.default.to_string(), "unit": p.unit, "domain": p.domain_text(), "about": p.about}))
            .collect();
        say!(
            "{}",
            json!({"name": scheme.name, "title": scheme.title, "source": scheme.source, "summary": scheme.summary,
                   "equations": scheme.equations, "notes": scheme.notes, "parameters": parameters})
        );
        return Ok(());
    }
    say!("{}", describe(scheme).trim_end());
    Ok(())
}

fn describe(scheme: &Scheme) -> String {
    let mut text =
        format!("{} ({})\n{}\n\nSource: {}\n\n", scheme.title, scheme.name, scheme.summary, scheme.source);
    for equation in scheme.equations {
        text += &format!("    {equation}\n");
    }
    if !scheme.notes.is_empty() {
        text += "\n";
        for note in scheme.notes {
            text += &format!("  * {note}\n");
        }
    }
    if !scheme.parameters.is_empty() {
        let rows = scheme.parameters.iter().map(|p| {
            let about = match &p.domain {
                Domain::Words(words) => {
                    let words: Vec<_> =
                        words.iter().map(|(word, meaning)| format!("\"{word}\": {meaning}")).collect();
                    format!("{}. {}", p.about, words.join("; "))
                }
                _ => p.about.to_owned(),
            };
            vec![p.name.to_owned(), p.default.to_string(), p.unit.to_owned(), p.domain_text(), about]
        });
        text +=
            &format!("\n{}\n", plain_table(&["parameter", "default", "unit", "may be", "what it is"], rows));
    }
    text
}
