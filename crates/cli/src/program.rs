//! Identifies this program.

use ackclock_study::store::Build;
use miette::{IntoDiagnostic, WrapErr};

/// This very program: another build may give other results.
pub(crate) fn build() -> miette::Result<Build> {
    Build::of_this_program().into_diagnostic().wrap_err("this program's own file cannot be read")
}
