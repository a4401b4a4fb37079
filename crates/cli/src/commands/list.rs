//! `ackclock list`.

use crate::args::{List, Listed};
use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_cc::schemes;
use ackclock_scenario::RECOVERIES;
use ackclock_study::reproduce::{Library, check};
use serde_json::{Value, json};

/// Queue disciplines: word, what, source.
pub(crate) const QUEUES: &[(&str, &str, &str)] = &[
    (
        "droptail",
        "first in, first out; arrivals are dropped when the room is used up",
        "as in ns-2: the packet being transmitted does not count",
    ),
    (
        "red",
        "random early detection: classic, gentle or adaptive; drops or marks",
        "Floyd and Jacobson 1993; Floyd 2000; Floyd, Gummadi and Shenker 2001",
    ),
    (
        "rem",
        "a price from queue and rate, and a probability from the price; drops or marks",
        "Athuraliya, Low, Li and Yin 2001",
    ),
    (
        "pi",
        "a proportional-integral controller steers the queue to a target; drops or marks",
        "Hollot, Misra, Towsley and Gong 2001",
    ),
    ("pie", "the same for the delay, with room for bursts; drops or marks", "RFC 8033"),
    (
        "codel",
        "drops or marks while the time that packets wait stays above a target; decides when the transmitter is free",
        "RFC 8289",
    ),
    (
        "fq_codel",
        "a queue for each flow in fair turns, new ones first, and CoDel in each; marks or drops",
        "RFC 8290",
    ),
    (
        "dualpi2",
        "a shallow queue for scalable (L4S) flows beside a classic one, and a controller that couples both",
        "RFC 9332",
    ),
    ("unlimited", "room for everything", ""),
];

/// (kind, name, what, source) of everything.
fn entries(library: &Library) -> Vec<(Listed, String, String, String)> {
    let entry = |kind, name: &str, what: &str, source: &str| {
        (kind, name.to_owned(), what.to_owned(), source.to_owned())
    };
    let controls = schemes().iter().map(|s| entry(Listed::Controls, s.name, s.summary, s.source));
    let recoveries = RECOVERIES.iter().map(|&(name, what)| entry(Listed::Recoveries, name, what, ""));
    let queues = QUEUES.iter().map(|&(name, what, source)| entry(Listed::Queues, name, what, source));
    let experiments = library
        .experiments()
        .iter()
        .map(|e| entry(Listed::Experiments, &e.id, &e.title, &format!("{}, {}", e.work, e.section)));
    controls.chain(recoveries).chain(queues).chain(experiments).collect()
}

fn word(kind: Listed) -> &'static str {
    match kind {
        Listed::Controls => "controls",
        Listed::Recoveries => "recoveries",
        Listed::Queues => "queues",
        Listed::Experiments => "experiments",
    }
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
            .map(|(kind, name, what, source)| json!({"kind": word(*kind), "name": name, "what": what, "source": source}))
            .collect();
        say!("{}", json!(list));
        return Ok(());
    }
    let rows = chosen.iter().map(|(kind, name, what, source)| {
        vec![word(*kind).to_owned(), name.clone(), what.clone(), source.clone()]
    });
    say!("{}", plain_table(&["kind", "name", "what it does", "source"], rows));
    Ok(())
}
