//! Results on the terminal.

pub(crate) mod matrix;
pub(crate) mod table;
