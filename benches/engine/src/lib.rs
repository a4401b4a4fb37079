//! The cost of the hot path: workloads that are counted in instructions and timed.

pub mod callgrind;
pub mod reference;
pub mod workload;
