//! Line charts as SVG and PNG.

pub mod across;
pub mod axis;
pub mod chart;
pub mod curves;
mod data;
#[cfg(feature = "png")]
pub mod png;
pub mod sequence;
pub mod transfers;
