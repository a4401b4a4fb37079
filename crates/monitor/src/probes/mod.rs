//! What measures: echo requests, transfers and the sink that takes them, the host's counters.

pub(crate) mod counters;
pub(crate) mod ping;
pub(crate) mod sink;
pub(crate) mod transfer;
