//! Results for people: names, tables, charts, and the report. Nothing here writes a file.

pub(crate) mod charts;
pub(crate) mod figures;
pub(crate) mod gallery;
pub(crate) mod matrix;
pub(crate) mod names;
pub(crate) mod report;
pub(crate) mod request;
mod seeds;
pub(crate) mod seen;
pub(crate) mod shown;
pub(crate) mod table;
