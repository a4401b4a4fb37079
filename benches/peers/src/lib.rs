//! The same scenario in ackclock and in ns-2: agreement, speed, memory.
//!
//! A case is a scenario of ackclock. The parameters of ns-2 are [derived](mod@derive) from the plan that
//! ackclock runs, so both sides always run the same.

pub mod cases;
pub mod derive;
pub mod golden;
pub mod htsim;
pub mod machine;
pub mod ns2;
pub mod outcome;
pub mod own;
pub mod replay;
pub mod report;
pub mod run;
pub mod table;
pub mod trace;
