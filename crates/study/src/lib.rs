//! Runs scenarios and evaluates the results: expectations, published experiments, predictors.

pub mod captures;
pub mod comparison;
mod dry_run;
pub mod estimators;
pub mod expect;
pub mod input;
mod packets;
pub mod predict;
pub mod reproduce;
pub mod run;
pub mod runner;
pub mod sequences;
pub mod store;
pub mod trace;
pub mod traced;

pub use packets::ReadProblem;
