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

    /// Experiments that have more points than the lab computes at once.
    const LARGE: [&str; 7] = [
        "rr-table-5",
        "xrtp-fig-3.4",
        "xrtp-fig-4.1",
        "xrtp-fig-4.4",
        "xrtp-fig-4.5",
        "xrtp-table-4.1",
        "xrtp-table-4.2",
    ];

    /// What the page of the book says of the lab.
    const PAGE: &str = include_str!("../../../docs/src/lab.md");

    /// What the gallery offers can be run, but for what reads a file, and for what the page names.
    #[test]
    fn every_scenario_of_the_gallery_is_read() {
        let gallery = Gallery::new().expect("the experiments are valid");
        let list = gallery.list();
        let limits = Limits::default();
        let texts = |what: &str| list[what].as_array().expect("a list").clone();
        let (mut files, mut large) = (0, Vec::new());
        let mut read = |id: &str, text: &str| match limits.read("scenario.toml", text, limits.points) {
            Ok(_) => {}
            Err(problem) if problem.message.contains("no file is read here") => files += 1,
            Err(problem) if problem.message.contains("points are more than") => large.push(id.to_owned()),
            Err(problem) => panic!("{id}: {problem:?}\n{text}"),
        };
        assert_eq!(texts("scenarios").len(), SCENARIOS.len());
        for it in texts("scenarios") {
            let id = it["id"].as_str().expect("an id");
            assert!(it["about"].as_str().is_some_and(|about| !about.is_empty()), "{it}");
            read(id, &gallery.text(id, "").expect("a text"));
        }
        let library = Library::built_in().expect("the experiments are valid");
        assert_eq!(texts("experiments").len(), library.experiments().len());
        for (it, experiment) in texts("experiments").iter().zip(library.experiments()) {
            assert_eq!(it["id"], json!(experiment.id));
            assert_eq!(it["claims"].as_array().map(Vec::len), Some(experiment.claims.len()), "{it}");
            assert_eq!(it["scenarios"].as_array().map(Vec::len), Some(experiment.scenarios.len()), "{it}");
            for (name, _) in &experiment.scenarios {
                read(&experiment.id, &gallery.text(&experiment.id, name).expect("a text"));
            }
        }
        assert!(files < 6, "{files} scenarios of the gallery need files");
        large.sort_unstable();
        large.dedup();
        assert_eq!(large, LARGE);
        for id in LARGE {
            assert!(PAGE.contains(&format!("`{id}`")), "the page does not name {id}");
        }
        assert!(gallery.text("../etc/passwd", "").is_err());
    }
}
