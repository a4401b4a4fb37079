//! An experiment file.
//!
//! ```toml
//! id = "ctcp-fig-8"                        # the file's name
//! work = "tan2006"                         # its directory: the key of the publication
//! title = "Throughput against loss rate"
//! section = "VI.B.1"
//! kind = "testbed"                         # or "simulation", "analysis", "drawing"
//! summary = "What was done."
//! notes = ["What the source leaves open, which reading is taken, and why."]
//!
//! pictures = ["transmitted"]               # default: goodput, where a number is swept
//!
//! [scenario]                               # a scenario, or the id of the experiment that has it
//! duration = "300 s"                       # several: [scenarios.NAME]; in='NAME' selects one
//!
//! [published]                              # free nested data; expressions find it as `published`
//! share = { highspeed = 0.6 }
//!
//! [define]                                 # functions in the language itself
//! share = { of = ["x"], is = "goodput(x) / rate('bottleneck')" }
//!
//! [[claim]]
//! text = "The claim in words."
//! for = { x = ["highspeed", "bic"] }       # it must hold for every combination
//! that = "share(x) > published.share.highspeed"
//! of = "O2"                                # it represents the source's second claim; or ["O2", "O3"]
//! tolerance_from = "paper"                 # or "ours: why"
//! tried = "What was tried, where the claim does not hold."
//! # Where the source itself says otherwise, and an expression that shows it:
//! contradicted = { by = "Table I has a factor of 8.", that = "published.factor < 10" }
//!
//! [[claim]]
//! text = "A claim of our own, beside the source's."
//! ours = true
//! that = "goodput('reno') > 0"
//! identity = "Why it is true by construction."      # or calibrated = "What was fitted to what."
//!
//! [[claim]]
//! text = "A claim that nothing here can test."
//! untestable = "Why not."
//! ```

use super::claim::{Claim, Contradiction, read_claim};
use crate::expect::Definition;
use ackclock_scenario::ScenarioError;
use ackclock_scenario::reader::{At, Result, Table};
use ackclock_scenario::{Document, Node, Sweep, Value};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A published experiment.
#[derive(Clone)]
pub struct Experiment {
    /// The id.
    pub id: String,
    /// The key of the publication.
    pub work: String,
    /// The title.
    pub title: String,
    /// The section of the publication.
    pub section: String,
    /// The kind.
    pub kind: Kind,
    /// What was done.
    pub summary: String,
    /// What the source leaves open, and the reading that is used.
    pub notes: Vec<String>,
    /// What its pictures show.
    pub pictures: Vec<Pictured>,
    /// The scenarios by name. The name is empty if there is only one.
    pub scenarios: Vec<(String, Source)>,
    /// The published numbers.
    pub published: Json,
    /// The functions of its claims.
    pub definitions: Vec<Definition>,
    /// The claims.
    pub claims: Vec<Claim>,
    document: Document,
}

/// The kind of an experiment in a publication.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Run in a simulator.
    Simulation,
    /// Computed on paper.
    Analysis,
    /// Run on machines.
    Testbed,
    /// A picture without a claim of its own.
    Drawing,
}

impl Kind {
    const ALL: [(&'static str, Kind); 4] = [
        ("simulation", Kind::Simulation),
        ("analysis", Kind::Analysis),
        ("testbed", Kind::Testbed),
        ("drawing", Kind::Drawing),
    ];

    /// The name in files.
    pub fn word(self) -> &'static str {
        Kind::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }
}

/// What a picture of an experiment shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pictured {
    /// Goodput against the axis of the sweep.
    Goodput,
    /// Transmitted throughput of bursts against the axis of the sweep.
    Transmitted,
    /// Received throughput of bursts against the axis of the sweep.
    Received,
    /// Throughput at the receiver over time.
    Throughput,
    /// Segments in flight over time.
    InFlight,
}

impl Pictured {
    const ALL: [(&'static str, Pictured); 5] = [
        ("goodput", Pictured::Goodput),
        ("transmitted", Pictured::Transmitted),
        ("received", Pictured::Received),
        ("throughput", Pictured::Throughput),
        ("in_flight", Pictured::InFlight),
    ];

    /// The name in files.
    pub fn word(self) -> &'static str {
        Pictured::ALL.iter().find(|(_, pictured)| *pictured == self).map_or("", |(word, _)| word)
    }
}

/// The origin of a scenario.
#[derive(Clone)]
pub enum Source {
    /// It is written in this file.
    Own(Document),
    /// It belongs to another experiment: its id, the name of the scenario, and where the reference is
    /// written.
    Of(String, String, Node),
}

impl Experiment {
    /// Parses a file. `name` is for messages.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the text is not a valid experiment.
    pub fn parse(name: &str, text: &str) -> Result<Experiment> {
        let document = Document::parse(name, text)?;
        let kept = document.clone();
        let root = At::new(&document.root, "", &document.source);
        let table = root.table()?;
        let text = |key, example| table.need(key, example)?.text().map(str::to_owned);
        let experiment = Experiment {
            id: text("id", "\"ctcp-fig-8\"")?,
            work: text("work", "\"tan2006\"")?,
            title: text("title", "\"Throughput against loss rate\"")?,
            section: text("section", "\"VI.B.1\"")?,
            kind: read_kind(&table.need("kind", "\"simulation\"")?)?,
            summary: text("summary", "\"What was done.\"")?,
            notes: table.get("notes").map(|at| read_texts(&at)).transpose()?.unwrap_or_default(),
            pictures: match table.get("pictures") {
                Some(at) => at.list()?.iter().map(read_pictured).collect::<Result<_>>()?,
                None => vec![Pictured::Goodput],
            },
            scenarios: read_scenarios(&table, &document)?,
            published: table.get("published").map_or(Json::Null, |at| at.node.value.to_json()),
            definitions: match table.get("define") {
                Some(at) => at
                    .table()?
                    .entries()
                    .map(|(name, at)| read_definition(name, &at))
                    .collect::<Result<_>>()?,
                None => Vec::new(),
            },
            claims: match table.get("claim") {
                Some(at) => at.list()?.iter().map(read_claim).collect::<Result<_>>()?,
                None => Vec::new(),
            },
            document: kept,
        };
        table.finish()?;
        Ok(experiment)
    }

    /// An error at what a claim asserts.
    pub(crate) fn error(&self, claim: &Claim, message: impl Into<String>) -> ScenarioError {
        At::new(&claim.node, claim.path.clone(), &self.document.source).error(message)
    }

    /// An error at the expression of a contradiction.
    pub(crate) fn error_against(&self, it: &Contradiction, message: impl Into<String>) -> ScenarioError {
        At::new(&it.node, it.path.clone(), &self.document.source).error(message)
    }

    /// An error at a scenario that refers to another experiment.
    pub(crate) fn error_at(&self, node: &Node, message: impl Into<String>) -> ScenarioError {
        At::new(node, "scenario", &self.document.source).error(message)
    }

    /// The experiment as JSON, with its scenarios as written.
    pub fn to_json(&self) -> Json {
        let claims = self.claims.iter().map(Claim::to_json);
        let scenarios = self.scenarios.iter().map(|(name, source)| match source {
            Source::Own(document) => json!({"name": name, "scenario": document.root.value.to_json()}),
            Source::Of(id, other, _) => json!({"name": name, "of": id, "called": other}),
        });
        json!({
            "id": self.id, "work": self.work, "title": self.title, "section": self.section, "kind": self.kind,
            "summary": self.summary, "notes": self.notes, "published": self.published,
            "scenarios": scenarios.collect::<Vec<_>>(), "claims": claims.collect::<Vec<_>>(),
        })
    }

    /// The text of the file.
    pub(super) fn text(&self) -> &str {
        &self.document.source.text
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.document.source.name
    }
}

impl Source {
    /// All points of a scenario that is written in this file.
    pub(crate) fn expand(document: &Document) -> Result<Sweep> {
        Sweep::expand(document.clone())
    }
}

fn read_kind(at: &At<'_>) -> Result<Kind> {
    let word = at.text()?;
    Kind::ALL.iter().find(|(known, _)| *known == word).map(|&(_, kind)| kind).ok_or_else(|| {
        let known: Vec<_> = Kind::ALL.iter().map(|&(word, _)| word).collect();
        at.unknown("kind of experiment", word, &known)
    })
}

fn read_pictured(at: &At<'_>) -> Result<Pictured> {
    let word = at.text()?;
    Pictured::ALL.iter().find(|(known, _)| *known == word).map(|&(_, pictured)| pictured).ok_or_else(|| {
        let known: Vec<_> = Pictured::ALL.iter().map(|&(word, _)| word).collect();
        at.unknown("picture", word, &known)
    })
}

/// A text, or a list of texts.
fn read_texts(at: &At<'_>) -> Result<Vec<String>> {
    match &at.node.value {
        Value::Text(text) => Ok(vec![text.clone()]),
        _ => at.list()?.iter().map(|item| item.text().map(str::to_owned)).collect(),
    }
}

fn read_scenarios(table: &Table<'_>, document: &Document) -> Result<Vec<(String, Source)>> {
    let one = table.get("scenario");
    match (one, table.get("scenarios")) {
        (Some(_), Some(several)) => Err(several
            .error("there is one [scenario], or there are several [scenarios.NAME]")
            .help("give the first one a name too")),
        (Some(at), None) => Ok(vec![(String::new(), read_scenario(&at, document)?)]),
        (None, Some(several)) => several
            .table()?
            .entries()
            .map(|(name, at)| Ok((name.to_owned(), read_scenario(&at, document)?)))
            .collect(),
        (None, None) => Ok(Vec::new()),
    }
}

fn read_scenario(at: &At<'_>, document: &Document) -> Result<Source> {
    if let Value::Text(reference) = &at.node.value {
        // An id may have a dot before a digit, as in fig-4.5. The name of a scenario begins with a letter.
        let named =
            reference.rsplit_once('.').filter(|(_, name)| !name.starts_with(|c: char| c.is_ascii_digit()));
        let (id, name) = named.unwrap_or((reference, ""));
        return Ok(Source::Of(id.to_owned(), name.to_owned(), at.node.clone()));
    }
    at.table()?;
    Ok(Source::Own(Document { root: at.node.clone(), source: Arc::clone(&document.source) }))
}

fn read_definition(name: &str, at: &At<'_>) -> Result<Definition> {
    let table = at.table()?;
    let of = match table.get("of") {
        Some(at) => read_texts(&at)?,
        None => Vec::new(),
    };
    let is = table.need("is", "\"goodput(x) / 1e6\"")?.text()?.to_owned();
    table.finish()?;
    Ok(Definition { name: name.to_owned(), of, is })
}
