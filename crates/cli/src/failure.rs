//! Why a command did not succeed, and what cannot be said any more.

/// Why a command did not succeed.
pub(crate) enum Failure {
    /// It ran, and an expectation failed: exit status 1.
    Expectation,
    /// A program that was run for the user ended with this exit status, which becomes ours.
    Program(i32),
    /// Ctrl-C; what to say about it. Exit status 130.
    Interrupted(String),
    /// Bad usage or input, or something that could not be done: exit status 2.
    Report(miette::Report),
}

impl<E: Into<miette::Report>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Report(error.into())
    }
}

/// Results that cannot be handed over are lost: the user must hear of it.
pub(crate) fn cannot_print(error: &std::io::Error) -> ! {
    eprintln!("standard output cannot be written: {error}");
    std::process::exit(2)
}
