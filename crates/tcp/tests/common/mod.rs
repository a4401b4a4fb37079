//! What the tests of the endpoint share.
#![allow(dead_code, reason = "every test file uses its own part")]

pub mod hostile;
pub mod lab;
pub mod path;
