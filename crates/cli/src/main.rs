//! The command line: one binary, `ackclock`.

/// Prints a line. It is no failure if the reader has gone away, as in `| head`.
macro_rules! say {
    ($($format:tt)*) => {{
        use std::io::Write;
        match writeln!(std::io::stdout(), $($format)*) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => crate::failure::cannot_print(&error),
            _ => {}
        }
    }};
}

mod args;
mod catalogue;
mod commands;
mod failure;
mod input;
mod interrupt;
mod memory;
mod output;
mod program;
mod progress;
mod view;

use clap::Parser;
use commands::{compare, docs, emulate, kernel, list, predict, reproduce, run, show};
use failure::Failure;
use std::process::ExitCode;

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
