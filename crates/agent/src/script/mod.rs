//! Scripts: which hosts send what to which others, and in which order.
//!
//! The language is that of the tool of A. Sundaresan's thesis (University of Kansas, 2001, section 4.3 and
//! appendix A.5), NetSpec. What the thesis leaves open has the words of scenarios.

mod error;
mod lexer;
mod parser;
mod plan;
mod read;

pub use error::{ScriptError, Span};
pub use parser::{Argument, Block, Call, Kind, Part, Place, Setting, Statement, Test, Value};
pub use plan::{Address, CONTROL_PORT, End, Plan, Stage, Transfer};

/// The largest script, bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The greatest depth of blocks in blocks.
pub const MAX_DEPTH: usize = 16;
/// The greatest number of tests.
pub const MAX_TESTS: usize = 10_000;

/// Reads the script `text` from the file called `name`.
///
/// # Errors
///
/// With line, column and remedy, if it is too large, if it is not in the language, or if what it asks for
/// makes no sense.
pub fn read(name: &str, text: &str) -> Result<Plan, ScriptError> {
    let wrong = |fault| ScriptError::new(fault, name, text);
    if text.len() > MAX_BYTES {
        let message = format!("a script has at most {MAX_BYTES} bytes, and this one has {}", text.len());
        let fault = error::Fault::new(Span::default(), message, "write several scripts");
        return Err(ScriptError::new(fault, name, ""));
    }
    let block = parser::Parser::script(text).map_err(wrong)?;
    plan::plan(&block).map_err(wrong)
}
