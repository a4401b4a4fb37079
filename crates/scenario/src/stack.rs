//! Stacks: what a whole TCP does, as keys of `[tcp]`.
//!
//! A stack is data, written as a scenario would write it. The reader takes it like a table that stands before
//! the scenario's own keys, so that these win.

use ackclock_cc::Scheme;
use ackclock_registry::{Entry, Listed};
use std::fmt;

/// A key of `[tcp]` and its value, as in a scenario. `segment` is the table of that name.
pub type Setting = (&'static str, &'static str);

/// A stack's entry in the registry.
pub struct Stack {
    /// The description.
    pub entry: Entry,
    /// What it sets.
    pub sets: &'static [Setting],
    /// What it sets for flows of single controllers only: the controller's name, and the setting.
    pub sets_for: &'static [(&'static str, Setting)],
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

impl Listed for Stack {
    const KIND: &'static str = "stack";

    fn all() -> &'static [&'static Stack] {
        stacks()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// All stacks, in the order of the documentation.
pub fn stacks() -> &'static [&'static Stack] {
    &[&LINUX, &PLAIN]
}

impl Stack {
    /// What it sets for a flow with this controller; `None`: for every flow.
    pub fn settings<'a>(&'a self, control: Option<&'a str>) -> impl Iterator<Item = Setting> + 'a {
        let single = move || self.sets_for.iter().filter(move |(name, _)| Some(*name) == control);
        let all = self.sets.iter().filter(move |(key, _)| single().all(|(_, (other, _))| other != key));
        all.chain(single().map(|(_, setting)| setting)).copied()
    }
}

/// What holds for a flow of this controller where a scenario says nothing: what its specification asks for,
/// and [`PLAIN`].
pub fn unsaid(scheme: &Scheme) -> Vec<Setting> {
    let asked = |key: &str| scheme.endpoint.iter().find(|(known, _)| *known == key).copied();
    let plain = PLAIN.sets.iter().map(|&plain| asked(plain.0).unwrap_or(plain));
    let more = scheme.endpoint.iter().filter(|(key, _)| PLAIN.sets.iter().all(|(known, _)| known != key));
    plain.chain(more.copied()).collect()
}

const LINUX: Stack = Stack {
    entry: Entry {
        name: "linux",
        title: "Linux",
        source: "Linux: net/ipv4/tcp_input.c, tcp_recovery.c, tcp_timer.c, tcp_cubic.c, include/net/tcp.h",
        summary: "What the Linux kernel's TCP does with its defaults, as far as the endpoint here knows it.",
        equations: &[],
        notes: &[
            "HyStart is Linux's own, not HyStart++, and only CUBIC has it there",
            "delayed acknowledgements: every second segment, or after 40 ms (TCP_DELACK_MIN); Linux adapts \
             the time up to 200 ms, and acknowledges the first segments of a connection at once, which \
             quick_acks = 16 does here",
            "counting: Linux counts all that an acknowledgement covers",
            "undo: Linux also uses reports of duplicates, and F-RTO (RFC 5682) after a timeout",
            "not a part of it: the pacing that fq adds, the growth of the receive window, TSO and GRO",
        ],
        parameters: &[],
    },
    sets: &[
        ("segment", "{ payload = \"1448 B\", header = \"52 B\" }"),
        ("initial_window", "10"),
        ("timestamps", "true"),
        ("counting", "{ segments = 1000000 }"),
        ("delayed_ack", "\"40 ms\""),
        ("detection", "\"rack\""),
        ("recovery", "{ sack = { proportional_rate = true } }"),
        ("undo", "\"eifel\""),
        ("slow_start", "\"standard\""),
        ("rto", "\"linux\""),
        ("rto_min", "\"200 ms\""),
        ("rto_max", "\"120 s\""),
    ],
    sets_for: &[("cubic", ("slow_start", "\"hystart\""))],
};

/// What holds for controllers whose specification asks for nothing.
pub const PLAIN: Stack = Stack {
    entry: Entry {
        name: "plain",
        title: "Plain",
        source: "RFC 6675; RFC 5681",
        summary: "SACK, three duplicates and standard slow start for every controller, whatever its \
                  specification asks for.",
        equations: &[],
        notes: &[
            "one line instead of three where controllers are compared and the handling of losses must be \
             the same",
        ],
        parameters: &[],
    },
    sets: &[("detection", "\"dupacks\""), ("recovery", "\"sack\""), ("slow_start", "\"standard\"")],
    sets_for: &[],
};
