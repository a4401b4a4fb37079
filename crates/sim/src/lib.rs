//! Virtual time: the event loop, workloads, probes, scenario files and results.

pub mod capture_file;
pub mod captures;
pub mod course;
pub mod engine;
pub mod expect;
mod imagined;
pub mod measured;
pub mod observers;
pub mod plan;
pub mod predict;
pub mod predictions;
pub mod reproduce;
pub mod requests;
pub mod results;
pub mod run;
pub mod runner;
pub mod scenario;
pub mod series;
pub mod store;
pub mod writing;
