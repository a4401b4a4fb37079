//! The description of an entry.

use crate::Parameter;

/// The description of an entry: the part that all registries have in common.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// The full name.
    pub title: &'static str,
    /// Where the definition comes from; empty where there is nothing to define.
    pub source: &'static str,
    /// What it does, in one or two sentences.
    pub summary: &'static str,
    /// The equations, one per line, in plain text.
    pub equations: &'static [&'static str],
    /// How this implementation differs from the source, and what it decides where the source leaves a choice.
    pub notes: &'static [&'static str],
    /// All parameters.
    pub parameters: &'static [Parameter],
}
