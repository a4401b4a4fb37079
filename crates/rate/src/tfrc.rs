//! Parts of TFRC (RFC 5348): the throughput equation, the average loss interval, and the allowed sending
//! rate.

pub mod allowed;
pub mod equation;
pub mod intervals;
