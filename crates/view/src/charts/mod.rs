//! Line charts as SVG and PNG.

pub mod across;
pub mod axis;
pub mod banded;
pub mod chart;
pub mod curves;
pub(crate) mod data;
pub(crate) mod heat;
#[cfg(feature = "png")]
pub mod png;
pub mod sequence;
pub mod transfers;
