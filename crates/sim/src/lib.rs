//! Virtual time: the event loop, workloads, probes, scenario files and results.

pub mod capture;
pub mod engine;
pub mod expect;
pub mod follow;
mod imagined;
pub mod plan;
pub mod predict;
pub mod reproduce;
pub mod requests;
pub mod results;
pub mod run;
pub mod runner;
pub mod scenario;
pub mod store;
pub mod writing;
