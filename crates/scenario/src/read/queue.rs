//! `queue = ...`: a queue discipline by name, or by name with settings.

use super::document::Value;
use super::reader::{At, Result};
use super::settings::{read_settings, read_value};
use ackclock_net::{Contradiction, Discipline, Queue, Rng, Scale, UNLIMITED, discipline, disciplines};
use ackclock_registry::Settings;

/// A queue as the file describes it.
#[derive(Clone, Debug)]
pub(crate) struct QueueSpec {
    discipline: &'static Discipline,
    settings: Settings,
    /// Where its settings stand in the file.
    pub(crate) path: String,
}

pub(crate) fn read_queue(at: &At<'_>) -> Result<QueueSpec> {
    let (word, inner) = at.choice_like("{ droptail = \"1 bdp\" }")?;
    let known = || disciplines().iter().map(|known| known.entry.name).collect::<Vec<_>>();
    let Some(discipline) = discipline(word) else { return Err(at.unknown("queue", word, &known())) };
    let parameters = discipline.entry.parameters;
    let path = inner.as_ref().map_or_else(|| at.path.clone(), |inner| inner.path.clone());
    let settings = match (inner, parameters) {
        (None, _) => Settings::defaults(parameters),
        (Some(_), []) => return Err(at.unknown("queue", word, &known())),
        // What has one parameter only may be written as its value.
        (Some(inner), [only]) if !matches!(inner.node.value, Value::Table(_)) => {
            let mut settings = Settings::defaults(parameters);
            settings.put(only.name, read_value(&inner, only)?);
            settings
        }
        (Some(inner), _) => {
            let table = inner.table_like(discipline.example)?;
            let settings = read_settings(&table, parameters)?;
            table.finish()?;
            settings
        }
    };
    if let Some(missing) = settings.missing() {
        return Err(at
            .error(format!("the queue \"{word}\" needs a {}", missing.name))
            .help(format!("for example {}", discipline.example)));
    }
    Ok(QueueSpec { discipline, settings, path })
}

impl QueueSpec {
    /// Room for everything: what a link has that does not say.
    pub(crate) fn unlimited() -> QueueSpec {
        QueueSpec { discipline: &UNLIMITED, settings: Settings::defaults(&[]), path: String::new() }
    }

    /// Does it decide when the transmitter is free?
    pub(crate) fn is_dequeue_driven(&self) -> bool {
        self.discipline.dequeue_driven
    }

    /// Are its settings possible at this link?
    pub(crate) fn check(&self, scale: &Scale) -> std::result::Result<(), Contradiction> {
        (self.discipline.check)(&self.settings, scale)
    }

    pub(crate) fn build(&self, scale: &Scale, stream: &dyn Fn() -> Rng) -> Queue {
        (self.discipline.build)(&self.settings, scale, stream)
    }
}
