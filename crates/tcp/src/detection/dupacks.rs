//! A number of duplicates, or of SACKed segments above a hole, indicates a loss.
//!
//! Sources: RFC 5681 section 3.2, RFC 6675's IsLost. This costs nothing in addition, because the sender
//! counts them in any case.

use super::{DUP_THRESH, Detector, Scheme};
use ackclock_registry::{Entry, Parameter};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "dupacks",
        title: "Duplicate acknowledgements",
        source: "RFC 5681 section 3.2; RFC 6675 section 4",
        summary: "A hole is a loss after three duplicates, or once three segments above it are SACKed.",
        equations: &[],
        notes: &[],
        parameters: &[Parameter::count(
            "threshold",
            DUP_THRESH as u64,
            "segments",
            1..=1_000_000,
            "RFC 5681 section 3.2, RFC 6675 (DupThresh): 3",
        )],
    },
    selective: false,
    reads_duplicate_reports: false,
    build: |settings| Detector::duplicates(settings.get::<u64>("threshold") as u32),
};
