//! Standard slow start: one segment per acknowledged segment, until a loss or the threshold (RFC 5681 section
//! 3.1).

use super::Scheme;
use ackclock_registry::Entry;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "standard",
        title: "Standard slow start",
        source: "RFC 5681 section 3.1",
        summary: "Doubles the window in each round trip until a loss, a mark or the threshold.",
        equations: &["per segment acknowledged: cwnd += 1"],
        notes: &["a controller's own rules for slow start apply with it, and with every other one"],
        parameters: &[],
    },
    build: |_| None,
};
