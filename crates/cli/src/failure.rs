//! Why a command failed, and failures of output.

/// Why a command failed.
pub(crate) enum Failure {
    /// The run is complete, and an expectation does not hold: exit status 1.
    Expectation,
    /// A program that was run for the user ended with this exit status. It becomes the exit status of the
    /// command.
    Program(i32),
    /// A transfer ended before its end, with what to do: exit status 1.
    Unfinished(miette::Report),
    /// Interrupted by Ctrl-C, with a message. Exit status 130.
    Interrupted(String),
    /// Bad usage or input, or an operation that failed: exit status 2.
    Report(miette::Report),
}

impl<E: Into<miette::Report>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Report(error.into())
    }
}

/// Results that cannot be printed are lost: reports that and exits.
pub(crate) fn cannot_print(error: &std::io::Error) -> ! {
    tell!("standard output cannot be written: {error}");
    std::process::exit(2)
}
