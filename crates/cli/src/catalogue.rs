//! Everything that a scenario chooses by name: the entries of all registries.

use crate::args::Listed;
use ackclock_cc::{Scheme, schemes, slow_start};
use ackclock_kernel::program;
use ackclock_net::disciplines;
use ackclock_rate::Transport;
use ackclock_registry::{Entry, Listed as _, Parameter};
use ackclock_scenario::{Stack, stacks, unsaid};
use ackclock_tcp::{detection, recovery};
use serde_json::{Value, json};

/// An entry of one of the registries.
pub(crate) struct Named {
    pub(crate) kind: Listed,
    pub(crate) entry: Entry,
    /// How a scenario writes it.
    pub(crate) usage: String,
    /// For a controller: what holds for its flows where a scenario says nothing. For a stack: what it sets.
    pub(crate) sets: Vec<String>,
    /// How it gets into the Linux kernel, if it can.
    pub(crate) kernel: Option<String>,
}

/// The command that loads a controller into the kernel, if there is a program for it.
pub(crate) fn kernel_usage(control: &str) -> Option<String> {
    program(control).map(|program| format!("ackclock kernel load {}", program.name))
}

/// All entries, registry by registry.
pub(crate) fn catalogue() -> Vec<Named> {
    let control = schemes()
        .iter()
        .map(|scheme| Named { sets: unsaid_lines(scheme), ..named(Listed::Controls, scheme.entry(), None) });
    let recovery = recovery::schemes().iter().map(|it| named(Listed::Recoveries, it.entry, None));
    let detection = detection::schemes().iter().map(|it| named(Listed::Detections, it.entry, None));
    let slow = slow_start::schemes().iter().map(|it| named(Listed::SlowStarts, it.entry, None));
    let stack = stacks()
        .iter()
        .map(|stack| Named { sets: set_lines(stack), ..named(Listed::Stacks, stack.entry, None) });
    let queue = disciplines().iter().map(|it| named(Listed::Queues, it.entry, Some(it.example)));
    let transport = Transport::all().iter().map(|it| named(Listed::Controls, it.entry, None));
    control.chain(transport).chain(recovery).chain(detection).chain(slow).chain(stack).chain(queue).collect()
}

fn named(kind: Listed, entry: Entry, example: Option<&str>) -> Named {
    let quoted = format!("\"{}\"", entry.name);
    let kernel = (kind == Listed::Controls).then(|| kernel_usage(entry.name)).flatten();
    Named {
        kind,
        entry,
        usage: format!("{} = {}", kind.key(), example.unwrap_or(&quoted)),
        sets: Vec::new(),
        kernel,
    }
}

/// What holds for a controller's flows where a scenario says nothing, as lines of `[tcp]`.
pub(crate) fn unsaid_lines(scheme: &Scheme) -> Vec<String> {
    unsaid(scheme).iter().map(|(key, value)| format!("{key} = {value}")).collect()
}

/// What a stack sets, as lines of `[tcp]`.
pub(crate) fn set_lines(stack: &Stack) -> Vec<String> {
    let all = stack.sets.iter().map(|(key, value)| format!("{key} = {value}"));
    let single = stack.sets_for.iter();
    all.chain(single.map(|(control, (key, value))| format!("{key} = {value}   # for {control}"))).collect()
}

impl Listed {
    /// The word in tables and JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Listed::Controls => "controls",
            Listed::Recoveries => "recoveries",
            Listed::Detections => "detections",
            Listed::SlowStarts => "slow-starts",
            Listed::Stacks => "stacks",
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
            Listed::Stacks => "stack",
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
           "usage": named.usage, "sets": named.sets, "kernel": named.kernel, "equations": equations, "notes": notes, "parameters": parameters})
}
