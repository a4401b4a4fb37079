//! The command line: one binary, `ackclock`.

/// Prints a line. A reader that has gone away, as in `| head`, is no failure.
macro_rules! say {
    ($($format:tt)*) => {{
        use std::io::Write;
        match writeln!(std::io::stdout(), $($format)*) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => crate::cannot_print(&error),
            _ => {}
        }
    }};
}

mod args;
mod compare;
mod docs;
mod emulate;
mod figures;
mod input;
mod interrupt;
mod kernel;
mod list;
mod memory;
mod output;
mod predict;
mod progress;
mod reproduce;
mod run;
mod seen;
mod show;
mod table;

use clap::Parser;
use std::process::ExitCode;

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
fn cannot_print(error: &std::io::Error) -> ! {
    eprintln!("standard output cannot be written: {error}");
    std::process::exit(2)
}

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    let outcome = match arguments.command {
        args::Command::Run(command) => run::run(&command),
        args::Command::Compare(command) => compare::run(&command),
        args::Command::Reproduce(command) => reproduce::run(&command),
        args::Command::Predict(command) => predict::run(&command),
        args::Command::Emulate(command) => emulate::run(&command),
        args::Command::List(command) => list::run(&command),
        args::Command::Show(command) => show::run(&command),
        args::Command::Kernel(command) => kernel::run(&command),
        args::Command::Completions(command) => docs::completions(&command),
        args::Command::Man(command) => docs::man(&command),
        args::Command::Docs(command) => docs::docs(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Expectation) => ExitCode::from(1),
        Err(Failure::Program(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(Failure::Interrupted(message)) => {
            eprintln!("{message}");
            ExitCode::from(interrupt::EXIT_STATUS)
        }
        Err(Failure::Report(report)) => {
            eprintln!("{report:?}");
            ExitCode::from(2)
        }
    }
}
