//! How many claims the publications make, by their experiments: `published.toml` beside the experiment files.
//!
//! ```toml
//! [tan2006]                                # the key of the publication
//! ctcp-fig-2 = 5                           # its experiment, and how many claims it makes about it
//! ```

use ackclock_scenario::Document;
use ackclock_scenario::reader::{At, Result};

/// The most claims of one experiment.
const MOST: u64 = 1000;

/// The numbers of published claims.
#[derive(Clone, Default, Debug)]
pub struct Published {
    /// Per experiment of a publication: the publication's key, the id, the number of claims.
    experiments: Vec<(String, String, usize)>,
}

impl Published {
    /// Parses `published.toml`. `name` is for messages.
    ///
    /// # Errors
    ///
    /// [`ackclock_scenario::ScenarioError`] if the text is not such a file.
    pub fn parse(name: &str, text: &str) -> Result<Published> {
        let document = Document::parse(name, text)?;
        let mut experiments = Vec::new();
        for (work, at) in At::new(&document.root, "", &document.source).table()?.entries() {
            for (id, at) in at.table()?.entries() {
                experiments.push((work.to_owned(), id.to_owned(), at.count(0, MOST)? as usize));
            }
        }
        Ok(Published { experiments })
    }

    /// The experiments of all publications: the publication's key, the id, the number of claims.
    pub fn experiments(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.experiments.iter().map(|(work, id, claims)| (work.as_str(), id.as_str(), *claims))
    }

    /// The number of claims that are published about the experiment with this id; `None` if there is no such
    /// experiment in any publication.
    pub fn claims(&self, id: &str) -> Option<usize> {
        self.experiments.iter().find(|(_, known, _)| known == id).map(|&(_, _, claims)| claims)
    }
}
