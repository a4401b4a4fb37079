//! What the hot path costs: workloads that are counted in instructions and timed.

pub mod callgrind;
pub mod reference;
pub mod workload;
