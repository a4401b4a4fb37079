//! Runs scenarios and evaluates the results: expectations, published experiments, predictors.

pub mod captures;
pub mod expect;
mod imagined;
pub mod predict;
pub mod reproduce;
pub mod run;
pub mod runner;
pub mod store;
