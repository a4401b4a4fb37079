//! What measures: echo requests, transfers, searches and the sink that takes them, routes, the host's
//! counters and its sockets.

pub(crate) mod counters;
pub(crate) mod ping;
pub(crate) mod route;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod sink;
pub(crate) mod transfer;

#[cfg(test)]
mod tests;
