//! The unlimited queue: first in, first out, with room for everything.

use super::Queue;
use super::discipline::{Discipline, always};
use ackclock_registry::Entry;

/// The entry of the queue that a link has by default.
pub const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "unlimited",
        title: "Unlimited",
        source: "",
        summary: "room for everything",
        equations: &[],
        notes: &["A link without a queue = ... has this one. What a flow may have in flight bounds it."],
        parameters: &[],
    },
    example: "\"unlimited\"",
    dequeue_driven: false,
    check: always,
    build: |_, _, _| Queue::Unlimited,
};
