//! The library of experiments: embedded in the binary, or in a directory.

use super::family::families;
use super::format::{Experiment, Source};
use super::published::Published;
use crate::store::digest_of;
use ackclock_scenario::{Document, Sweep};
use ackclock_scenario::{ScenarioError, nearest};
use miette::Diagnostic;
use std::path::Path;

/// The name and text of every experiment file at the time of the build.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// How many claims the publications make.
const PUBLISHED: (&str, &str) = ("published.toml", include_str!("../../experiments/published.toml"));

/// Experiments, ordered by work and id.
pub struct Library {
    experiments: Vec<Experiment>,
    published: Published,
}

/// Why experiments cannot be loaded.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum LibraryError {
    /// A file is not valid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] ScenarioError),
    /// A file cannot be read.
    #[error("{path} cannot be read: {why}")]
    #[diagnostic(help("experiments lie in DIR/<work>/<id>.toml"))]
    Unreadable {
        /// The path.
        path: String,
        /// The reason.
        why: String,
    },
    /// The path of a file does not match its keys.
    #[error("{path} says that it is {work}/{id}.toml")]
    #[diagnostic(help("rename the file, or correct its work and id"))]
    Misplaced {
        /// The path.
        path: String,
        /// The work in the file.
        work: String,
        /// The id in the file.
        id: String,
    },
    /// There is no such experiment.
    #[error("there is no experiment called \"{name}\"")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The known names.
        help: String,
    },
}

impl Library {
    /// The experiments in the binary.
    ///
    /// # Errors
    ///
    /// [`LibraryError`] if a file is not valid.
    pub fn built_in() -> Result<Library, LibraryError> {
        let published = Published::parse(PUBLISHED.0, PUBLISHED.1)?;
        let files = BUILT_IN.iter().map(|&(name, text)| (name.to_owned(), text.to_owned()));
        Ok(Library { published, ..Library::read(files)? })
    }

    /// The experiments in a directory: `<work>/<id>.toml`, and `published.toml` if it is there.
    ///
    /// # Errors
    ///
    /// [`LibraryError`] if a file cannot be read, is not valid, or its path does not match its keys.
    pub fn from_directory(directory: &Path) -> Result<Library, LibraryError> {
        let mut files = Vec::new();
        for work in entries(directory)? {
            if !work.is_dir() {
                continue;
            }
            for file in entries(&work)? {
                if file.extension().is_some_and(|extension| extension == "toml") {
                    let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
                    files.push((file.display().to_string(), text));
                }
            }
        }
        let path = directory.join(PUBLISHED.0);
        let published = if path.is_file() {
            let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
            Published::parse(&path.display().to_string(), &text)?
        } else {
            Published::default()
        };
        Ok(Library { published, ..Library::read(files.into_iter())? })
    }

    pub(super) fn read(files: impl Iterator<Item = (String, String)>) -> Result<Library, LibraryError> {
        let mut experiments = Vec::new();
        for (path, text) in files {
            let experiment = Experiment::parse(&path, &text)?;
            if !path.replace('\\', "/").ends_with(&format!("{}/{}.toml", experiment.work, experiment.id)) {
                return Err(LibraryError::Misplaced { path, work: experiment.work, id: experiment.id });
            }
            experiments.push(experiment);
        }
        experiments.sort_by_cached_key(|experiment| (experiment.work.clone(), natural(&experiment.id)));
        Ok(Library { experiments, published: Published::default() })
    }

    /// The same with these numbers of published claims.
    #[must_use]
    pub fn with_published(self, published: Published) -> Library {
        Library { published, ..self }
    }

    /// How many claims the publications make.
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// The families of experiments, in their order, with the key of the publication and the experiments of
    /// each.
    pub fn families(&self) -> Vec<(&str, &str, Vec<&Experiment>)> {
        let mut all: Vec<(&str, &str, Vec<&Experiment>)> = Vec::new();
        for (experiment, family) in self.experiments.iter().zip(self.family_of_each()) {
            match all.iter_mut().find(|(work, name, _)| (*work, *name) == (experiment.work.as_str(), family))
            {
                Some((_, _, members)) => members.push(experiment),
                None => all.push((&experiment.work, family, vec![experiment])),
            }
        }
        all.into_iter().map(|(work, family, members)| (family, work, members)).collect()
    }

    fn family_of_each(&self) -> Vec<&str> {
        families(&self.experiments.iter().map(|experiment| experiment.id.as_str()).collect::<Vec<_>>())
    }

    /// All experiments.
    pub fn experiments(&self) -> &[Experiment] {
        &self.experiments
    }

    /// The experiment with this id.
    pub fn find(&self, id: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|experiment| experiment.id == id)
    }

    /// The experiments that a word selects: `all`, an id, a work, a family, or else the start of ids.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Unknown`] if it selects none.
    pub fn select(&self, what: &str) -> Result<Vec<&Experiment>, LibraryError> {
        if let Some(experiment) = self.find(what) {
            return Ok(vec![experiment]);
        }
        let those = |right: &dyn Fn(&Experiment, &str) -> bool| {
            let all = self.experiments.iter().zip(self.family_of_each());
            all.filter(|(e, family)| right(e, family)).map(|(e, _)| e).collect::<Vec<_>>()
        };
        let mut chosen = those(&|e, family| what == "all" || e.work == what || family == what);
        if chosen.is_empty() {
            chosen = those(&|e, _| e.id.starts_with(what));
        }
        if chosen.is_empty() {
            let ids = self.experiments.iter().map(|e| e.id.as_str());
            let works = self.experiments.iter().map(|e| e.work.as_str());
            let near = nearest(what, ids.chain(works).chain(self.family_of_each()))
                .map(|near| format!("did you mean \"{near}\"? "));
            let help = format!("{}ackclock list experiments says what there is", near.unwrap_or_default());
            return Err(LibraryError::Unknown { name: what.to_owned(), help });
        }
        Ok(chosen)
    }

    /// The points of each scenario of an experiment, with the name of the scenario.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a scenario is not valid, or refers to one that does not exist.
    pub fn sweeps(&self, experiment: &Experiment) -> Result<Vec<(String, Sweep)>, ScenarioError> {
        let expand = |(name, source): &(String, Source)| {
            Ok((name.clone(), Source::expand(self.resolve(experiment, source)?)?))
        };
        experiment.scenarios.iter().map(expand).collect()
    }

    /// The text of each scenario of an experiment, with its name, as a scenario file of its own.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a scenario refers to one that does not exist.
    pub fn texts(&self, experiment: &Experiment) -> Result<Vec<(String, String)>, ScenarioError> {
        let text = |(name, source): &(String, Source)| {
            Ok((name.clone(), self.resolve(experiment, source)?.to_toml()))
        };
        experiment.scenarios.iter().map(text).collect()
    }

    /// A digest of the files of these experiments, and of those from which they take their scenarios: what
    /// was reproduced from other files may be something else.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a scenario refers to one that does not exist.
    pub fn digest(&self, experiments: &[&Experiment]) -> Result<String, ScenarioError> {
        let mut texts: Vec<(&str, &str)> = Vec::new();
        for experiment in experiments {
            texts.push((&experiment.id, experiment.text()));
            for (_, source) in &experiment.scenarios {
                self.resolve(experiment, source)?;
                if let Source::Of(id, ..) = source {
                    texts.extend(self.find(id).map(|other| (other.id.as_str(), other.text())));
                }
            }
        }
        texts.sort_unstable();
        texts.dedup();
        let all: String = texts.iter().map(|(id, text)| format!("{id} {}\n{text}", text.len())).collect();
        Ok(digest_of(all.as_bytes()))
    }

    /// For each scenario of an experiment: whether its file says which seeds run.
    pub(super) fn says_seeds(&self, experiment: &Experiment) -> Result<Vec<bool>, ScenarioError> {
        let says = |(_, source): &(String, Source)| {
            let document = self.resolve(experiment, source)?;
            Ok(document.has("seeds") || document.has("seed"))
        };
        experiment.scenarios.iter().map(says).collect()
    }

    fn resolve<'a>(
        &'a self,
        experiment: &'a Experiment,
        source: &'a Source,
    ) -> Result<&'a Document, ScenarioError> {
        let (id, name, node) = match source {
            Source::Own(document) => return Ok(document),
            Source::Of(id, name, node) => (id, name, node),
        };
        let wrong = |message: String, help: &str| experiment.error_at(node, message).help(help);
        let other = self.find(id).ok_or_else(|| {
            wrong(format!("there is no experiment \"{id}\""), "give the id of an experiment with a scenario")
        })?;
        match other.scenarios.iter().find(|(known, _)| known == name) {
            Some((_, Source::Own(document))) => Ok(document),
            Some(_) => Err(wrong(
                format!("the scenario of {id} is itself that of another experiment"),
                "name the experiment in which it is written",
            )),
            None => Err(wrong(
                format!("{id} has no such scenario"),
                "write \"id\" for its only scenario, \"id.NAME\" for one of several",
            )),
        }
    }
}

fn entries(directory: &Path) -> Result<Vec<std::path::PathBuf>, LibraryError> {
    let read = || -> std::io::Result<_> {
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>()
    };
    read().map_err(|error| unreadable(directory, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> LibraryError {
    LibraryError::Unreadable { path: path.display().to_string(), why: error.to_string() }
}

/// A name with its numbers as numbers, so that fig-2 comes before fig-10.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(word);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        parts.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = after;
    }
    parts
}
