//! The command line: one binary, `ackclock`.

mod args;
mod compare;
mod docs;
mod figures;
mod input;
mod interrupt;
mod list;
mod memory;
mod output;
mod progress;
mod reproduce;
mod run;
mod show;
mod table;

use clap::Parser;
use std::process::ExitCode;

/// Why a command did not succeed.
pub(crate) enum Failure {
    /// It ran, and an expectation failed: exit status 1.
    Expectation,
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

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    let outcome = match arguments.command {
        args::Command::Run(command) => run::run(&command),
        args::Command::Compare(command) => compare::run(&command),
        args::Command::Reproduce(command) => reproduce::run(&command),
        args::Command::List(command) => list::run(&command),
        args::Command::Show(command) => show::run(&command),
        args::Command::Completions(command) => docs::completions(&command),
        args::Command::Man(command) => docs::man(&command),
        args::Command::Docs(command) => docs::docs(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Expectation) => ExitCode::from(1),
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
