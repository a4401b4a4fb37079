//! Line charts as SVG and PNG.

pub(crate) mod across;
pub(crate) mod axis;
pub(crate) mod chart;
pub(crate) mod curves;
#[cfg(feature = "png")]
pub(crate) mod png;
pub(crate) mod sequence;
pub(crate) mod transfers;
