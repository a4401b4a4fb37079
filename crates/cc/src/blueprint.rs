//! Controllers that are not in the registry: read from a file, or written in the program around.

use crate::{Controller, Needs, Scheme};
use std::fmt;
use std::sync::Arc;

/// What such a controller is built from. It is read or made once, and every connection of a run shares it.
pub trait Blueprint: fmt::Debug + Send + Sync {
    /// What the controller needs of its host beyond what all get.
    fn needs(&self) -> Needs;

    /// Builds a controller.
    fn build(self: Arc<Self>) -> Box<dyn Controller>;

    /// A checksum of what decides how it behaves. Two with the same one are taken for the same.
    fn checksum(&self) -> u64;

    /// The same for the connections of one flow, so that messages can name it: its number in the run, and the
    /// label of its group.
    fn of_flow(self: Arc<Self>, number: usize, label: &str) -> Arc<dyn Blueprint>;
}

/// The description of a controller that a program brings along.
pub const fn scheme(name: &'static str) -> Scheme {
    Scheme {
        name,
        title: "A controller of the program around",
        source: "",
        summary: "",
        equations: &[],
        notes: &[],
        parameters: &[],
        endpoint: &[],
        needs: |settings| settings.blueprint().map_or(Needs::NOTHING, |blueprint| blueprint.needs()),
        build: |settings| match settings.blueprint() {
            Some(blueprint) => Arc::clone(blueprint).build(),
            None => crate::Settings::defaults(&crate::reno::SCHEME).build(),
        },
        response: None,
    }
}

/// FNV-1a of these words.
pub fn checksum(words: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
