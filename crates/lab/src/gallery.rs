//! What there is to look at: the scenarios that come with the program, and every published experiment.

use crate::problem::Problem;
use ackclock_scenario::{Document, Value};
use ackclock_study::reproduce::{Asserted, Experiment, Library, LibraryError};
use serde_json::{Value as Json, json};

/// Name and text of every scenario file at the time of the build.
const SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// Scenarios and experiments.
pub(crate) struct Gallery(Library);

impl Gallery {
    pub(crate) fn new() -> Result<Gallery, LibraryError> {
        Ok(Gallery(Library::built_in()?))
    }

    /// All of it, without the texts.
    pub(crate) fn list(&self) -> Json {
        let scenarios: Vec<Json> = SCENARIOS
            .iter()
            .map(|(name, text)| {
                let about: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
                json!({"id": name, "title": title(text).unwrap_or((*name).to_owned()), "about": about.join(" ")})
            })
            .collect();
        let experiments: Vec<Json> = self.0.experiments().iter().map(described).collect();
        json!({"scenarios": scenarios, "experiments": experiments})
    }

    /// The text of a scenario, or of a scenario of an experiment.
    pub(crate) fn text(&self, id: &str, name: &str) -> Result<String, Problem> {
        if let Some((_, text)) = SCENARIOS.iter().find(|(known, _)| *known == id) {
            return Ok((*text).to_owned());
        }
        let unknown = || Problem::new(format!("there is nothing called \"{id}\""), "choose from the gallery");
        let experiment = self.0.find(id).ok_or_else(unknown)?;
        let texts = self.0.texts(experiment)?;
        let (_, text) = texts.into_iter().find(|(known, _)| known == name).ok_or_else(unknown)?;
        // The title of the experiment is the name of its scenario, unless that has one.
        let titled = title(&text).is_none();
        let head = format!("# {} ({}, {})\n", experiment.title, experiment.work, experiment.section);
        let line = if titled { format!("name = {}\n", json!(experiment.id)) } else { String::new() };
        Ok(format!("{head}{line}{text}"))
    }
}

fn title(text: &str) -> Option<String> {
    let name = Document::parse("", text).ok()?.take("name")?;
    match name.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

fn described(experiment: &Experiment) -> Json {
    let claims: Vec<Json> = experiment
        .claims
        .iter()
        .map(|claim| match &claim.asserted {
            Asserted::That(that) => json!({"text": claim.text, "that": that}),
            Asserted::Untestable(why) => json!({"text": claim.text, "untestable": why}),
        })
        .collect();
    let names: Vec<&str> = experiment.scenarios.iter().map(|(name, _)| name.as_str()).collect();
    json!({
        "id": experiment.id, "work": experiment.work, "section": experiment.section, "title": experiment.title,
        "about": experiment.summary, "scenarios": names, "claims": claims,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    /// What the gallery offers can be run, but for what reads a file, and that is said.
    #[test]
    fn every_scenario_of_the_gallery_is_read() {
        let gallery = Gallery::new().expect("the experiments are valid");
        let list = gallery.list();
        let mut files = 0;
        let (limits, many) = (Limits::default(), 100_000);
        let texts = |what: &str| list[what].as_array().expect("a list").clone();
        for it in texts("scenarios") {
            let text = gallery.text(it["id"].as_str().expect("an id"), "").expect("a text");
            assert!(it["about"].as_str().is_some_and(|about| !about.is_empty()), "{it}");
            match limits.read("scenario.toml", &text, many) {
                Ok(_) => {}
                Err(problem) => {
                    assert!(problem.message.contains("no file is read here"), "{it}: {problem:?}");
                    files += 1;
                }
            }
        }
        assert!(files < 6, "{files} scenarios of the gallery need files");
        let mut claims = 0;
        for it in texts("experiments") {
            claims += it["claims"].as_array().map_or(0, Vec::len);
            for name in it["scenarios"].as_array().expect("a list") {
                let (id, name) = (it["id"].as_str().expect("an id"), name.as_str().expect("a name"));
                let text = gallery.text(id, name).expect("a text");
                if let Err(problem) = limits.read("scenario.toml", &text, many) {
                    panic!("{id} {name}: {problem:?}\n{text}");
                }
            }
        }
        assert!(claims > 100, "{claims} claims");
        assert!(gallery.text("../etc/passwd", "").is_err());
    }
}
