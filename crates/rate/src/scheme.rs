//! The registry of transports.

use ackclock_registry::{Entry, Listed};
use std::fmt;

/// A transport's entry in the registry.
pub struct Transport {
    /// The description.
    pub entry: Entry,
}

impl Listed for Transport {
    const KIND: &'static str = "control";

    fn all() -> &'static [&'static Transport] {
        const { &[&crate::xrtp::TRANSPORT] }
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_registry::mistakes;

    #[test]
    fn entries_are_complete() {
        assert_eq!(mistakes::<Transport>(), Vec::<String>::new());
    }
}
