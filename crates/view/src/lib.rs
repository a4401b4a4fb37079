//! Results for people: names, tables, charts, the report, and what can be chosen by name. Nothing here reads
//! or writes a file.

pub mod assets;
pub mod catalogue;
pub mod charts;
pub mod figures;
pub mod gallery;
pub mod names;
mod packets;
pub mod report;
pub mod request;
mod seeds;
pub mod seen;
pub mod shown;
