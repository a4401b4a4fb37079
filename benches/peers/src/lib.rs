//! The same scenario in ackclock and in ns-2, side by side: agreement, speed, memory.
//!
//! A case is a scenario of ackclock. What ns-2 is told is [derived](mod@derive) from the plan that ackclock would
//! run, so the two sides cannot drift apart.

pub mod cases;
pub mod derive;
pub mod golden;
pub mod machine;
pub mod ns2;
pub mod outcome;
pub mod own;
pub mod report;
pub mod run;
pub mod table;
pub mod trace;
