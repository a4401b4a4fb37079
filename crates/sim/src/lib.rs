//! Virtual time: the event loop, workloads, probes, scenario files and results.

pub mod engine;
pub mod plan;
