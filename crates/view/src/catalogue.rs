//! Everything that a scenario chooses by name: the entries of all registries.

use ackclock_cc::{Scheme, schemes, slow_start};
use ackclock_kernel::program;
use ackclock_net::disciplines;
use ackclock_rate::Transport;
use ackclock_registry::{Entry, Listed, Parameter};
use ackclock_scenario::{Stack, stacks, unsaid};
use ackclock_tcp::{detection, recovery};
use serde_json::{Value, json};

/// What a name is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A controller, or a rate-based transport.
    Controls,
    /// How a window is controlled while a loss is repaired.
    Recoveries,
    /// When a hole is a loss.
    Detections,
    /// How a flow begins.
    SlowStarts,
    /// The settings of an operating system's TCP.
    Stacks,
    /// A queueing discipline.
    Queues,
    /// A published experiment.
    Experiments,
}

/// An entry of one of the registries.
pub struct Named {
    /// What it is chosen for.
    pub kind: Kind,
    /// What is known of it.
    pub entry: Entry,
    /// How a scenario writes it.
    pub usage: String,
    /// For a controller: what holds for its flows where a scenario says nothing. For a stack: what it sets.
    pub sets: Vec<String>,
    /// How it gets into the Linux kernel, if it can.
    pub kernel: Option<String>,
}

/// The command that loads a controller into the kernel, if there is a program for it.
pub fn kernel_usage(control: &str) -> Option<String> {
    program(control).map(|program| format!("ackclock kernel load {}", program.name))
}

/// All entries, registry by registry.
pub fn catalogue() -> Vec<Named> {
    let control = schemes()
        .iter()
        .map(|scheme| Named { sets: unsaid_lines(scheme), ..named(Kind::Controls, scheme.entry(), None) });
    let recovery = recovery::schemes().iter().map(|it| named(Kind::Recoveries, it.entry, None));
    let detection = detection::schemes().iter().map(|it| named(Kind::Detections, it.entry, None));
    let slow = slow_start::schemes().iter().map(|it| named(Kind::SlowStarts, it.entry, None));
    let stack = stacks()
        .iter()
        .map(|stack| Named { sets: set_lines(stack), ..named(Kind::Stacks, stack.entry, None) });
    let queue = disciplines().iter().map(|it| named(Kind::Queues, it.entry, Some(it.example)));
    let transport = Transport::all().iter().map(|it| named(Kind::Controls, it.entry, None));
    control.chain(transport).chain(recovery).chain(detection).chain(slow).chain(stack).chain(queue).collect()
}

fn named(kind: Kind, entry: Entry, example: Option<&str>) -> Named {
    let quoted = format!("\"{}\"", entry.name);
    let kernel = (kind == Kind::Controls).then(|| kernel_usage(entry.name)).flatten();
    Named {
        kind,
        entry,
        usage: format!("{} = {}", kind.key(), example.unwrap_or(&quoted)),
        sets: Vec::new(),
        kernel,
    }
}

/// What holds for a controller's flows where a scenario says nothing, as lines of `[tcp]`.
pub fn unsaid_lines(scheme: &Scheme) -> Vec<String> {
    unsaid(scheme).iter().map(|(key, value)| format!("{key} = {value}")).collect()
}

/// What a stack sets, as lines of `[tcp]`.
pub fn set_lines(stack: &Stack) -> Vec<String> {
    let all = stack.sets.iter().map(|(key, value)| format!("{key} = {value}"));
    let single = stack.sets_for.iter();
    all.chain(single.map(|(control, (key, value))| format!("{key} = {value}   # for {control}"))).collect()
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] = [
        Kind::Controls,
        Kind::Recoveries,
        Kind::Detections,
        Kind::SlowStarts,
        Kind::Stacks,
        Kind::Queues,
        Kind::Experiments,
    ];

    /// The word in tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Controls => "controls",
            Kind::Recoveries => "recoveries",
            Kind::Detections => "detections",
            Kind::SlowStarts => "slow-starts",
            Kind::Stacks => "stacks",
            Kind::Queues => "queues",
            Kind::Experiments => "experiments",
        }
    }

    /// The key of a scenario that takes such a name.
    fn key(self) -> &'static str {
        match self {
            Kind::Controls => "control",
            Kind::Recoveries => "recovery",
            Kind::Detections => "detection",
            Kind::SlowStarts => "slow_start",
            Kind::Stacks => "stack",
            Kind::Queues => "queue",
            Kind::Experiments => "experiment",
        }
    }
}

/// An entry as a JSON object.
pub fn json(named: &Named) -> Value {
    let Entry { name, title, source, summary, equations, notes, parameters } = named.entry;
    let parameter = |p: &Parameter| json!({"name": p.name, "default": p.default.to_string(), "unit": p.unit, "domain": p.domain_text(), "about": p.about});
    let parameters: Vec<_> = parameters.iter().map(parameter).collect();
    json!({"kind": named.kind.word(), "name": name, "title": title, "source": source, "summary": summary,
           "usage": named.usage, "sets": named.sets, "kernel": named.kernel, "equations": equations, "notes": notes, "parameters": parameters})
}
