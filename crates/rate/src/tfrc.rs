//! Parts of TFRC (RFC 5348): the throughput equation and the average loss interval.

pub mod equation;
pub mod intervals;
