//! Identifies this program.

use miette::{IntoDiagnostic, WrapErr};

/// An identifier of this build. Another build may give other results.
pub(crate) fn build() -> miette::Result<String> {
    let program = std::env::current_exe().and_then(std::fs::read);
    let program =
        program.into_diagnostic().wrap_err("this program cannot be read; give --store a directory")?;
    Ok(ackclock_study::store::digest_of(&program))
}
