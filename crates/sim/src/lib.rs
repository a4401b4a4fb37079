//! Virtual time: the event loop, and observers of runs.

pub mod engine;
pub mod observers;
