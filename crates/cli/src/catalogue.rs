//! Everything that a scenario chooses by name: the entries of all registries.

use crate::args::Listed;
use ackclock_cc::{schemes, slow_start};
use ackclock_kernel::program;
use ackclock_net::disciplines;
use ackclock_registry::{Entry, Parameter};
use ackclock_tcp::{detection, recovery};
use serde_json::{Value, json};

/// An entry of one of the registries.
pub(crate) struct Named {
    pub(crate) kind: Listed,
    pub(crate) entry: Entry,
    /// How a scenario writes it.
    pub(crate) usage: String,
    /// How it gets into the Linux kernel, if it can.
    pub(crate) kernel: Option<String>,
}

/// The command that loads a controller into the kernel, if there is a program for it.
pub(crate) fn kernel_usage(control: &str) -> Option<String> {
    program(control).map(|program| format!("ackclock kernel load {}", program.name))
}

/// All entries, registry by registry.
pub(crate) fn catalogue() -> Vec<Named> {
    let control = schemes().iter().map(|scheme| named(Listed::Controls, scheme.entry(), None));
    let recovery = recovery::schemes().iter().map(|it| named(Listed::Recoveries, it.entry, None));
    let detection = detection::schemes().iter().map(|it| named(Listed::Detections, it.entry, None));
    let slow = slow_start::schemes().iter().map(|it| named(Listed::SlowStarts, it.entry, None));
    let queue = disciplines().iter().map(|it| named(Listed::Queues, it.entry, Some(it.example)));
    control.chain(recovery).chain(detection).chain(slow).chain(queue).collect()
}

fn named(kind: Listed, entry: Entry, example: Option<&str>) -> Named {
    let quoted = format!("\"{}\"", entry.name);
    let kernel = (kind == Listed::Controls).then(|| kernel_usage(entry.name)).flatten();
    Named { kind, entry, usage: format!("{} = {}", kind.key(), example.unwrap_or(&quoted)), kernel }
}

impl Listed {
    /// The word in tables and JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Listed::Controls => "controls",
            Listed::Recoveries => "recoveries",
            Listed::Detections => "detections",
            Listed::SlowStarts => "slow-starts",
            Listed::Queues => "queues",
            Listed::Experiments => "experiments",
        }
    }

    /// The key of a scenario that takes such a name.
    fn key(self) -> &'static str {
        match self {
            Listed::Controls => "control",
            Listed::Recoveries => "recovery",
            Listed::Detections => "detection",
            Listed::SlowStarts => "slow_start",
            Listed::Queues => "queue",
            Listed::Experiments => "experiment",
        }
    }
}

/// An entry as a JSON object.
pub(crate) fn json(named: &Named) -> Value {
    let Entry { name, title, source, summary, equations, notes, parameters } = named.entry;
    let parameter = |p: &Parameter| json!({"name": p.name, "default": p.default.to_string(), "unit": p.unit, "domain": p.domain_text(), "about": p.about});
    let parameters: Vec<_> = parameters.iter().map(parameter).collect();
    json!({"kind": named.kind.word(), "name": name, "title": title, "source": source, "summary": summary,
           "usage": named.usage, "kernel": named.kernel, "equations": equations, "notes": notes, "parameters": parameters})
}
