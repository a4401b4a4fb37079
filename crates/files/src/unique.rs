//! Unique names.

use std::hash::{BuildHasher, RandomState};

/// A word of 32 hexadecimal digits that is unique among all processes, and all hosts that share a file
/// system. The keys of each [`RandomState`] come from the entropy of the operating system.
pub fn unique() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use super::unique;
    use std::collections::HashSet;

    #[test]
    fn no_word_comes_twice() {
        let words: HashSet<String> = (0..10_000).map(|_| unique()).collect();
        assert_eq!(words.len(), 10_000);
    }
}
