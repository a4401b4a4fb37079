//! What is to be known of this very process: its build, and its command line.

use ackclock_study::store::Build;
use ackclock_view::request::Request;
use miette::{IntoDiagnostic, WrapErr};

/// This very program: another build may give other results.
pub(crate) fn build() -> miette::Result<Build> {
    Build::of_this_program().into_diagnostic().wrap_err("this program's own file cannot be read")
}

/// The request of a run, with the command line of this process.
pub(crate) fn request(text: &str, settings: &[String]) -> Request {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let quoted = words.map(|word| match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => word, // only a zero byte cannot be quoted, and arguments contain none
    });
    let command = std::iter::once("ackclock".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ");
    Request { text: text.to_owned(), settings: settings.to_vec(), command, captured: false }
}
