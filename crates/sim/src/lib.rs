//! Virtual time: the event loop, and what may watch it.

pub mod engine;
pub mod observers;
