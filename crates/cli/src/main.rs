//! The command line: one binary, `ackclock`.

#[macro_use]
mod screen;

mod args;
mod commands;
mod failure;
mod interrupt;
mod memory;
mod output;
mod program;
mod progress;
mod view;

use clap::Parser;
use commands::{compare, docs, emulate, kernel, list, predict, proxy, reproduce, run, show, trace, transfer};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    memory::prepare();
    let arguments = args::Arguments::parse();
    arguments.width.into_iter().for_each(view::table::set_width);
    let outcome = match arguments.command {
        args::Command::Run(command) => run::run(&command),
        args::Command::Compare(command) => compare::run(&command),
        #[cfg(feature = "lab")]
        args::Command::Lab(command) => commands::lab::run(&command),
        args::Command::Reproduce(command) => reproduce::run(&command),
        args::Command::Predict(command) => predict::run(&command),
        args::Command::Trace(command) => trace::run(&command),
        args::Command::Emulate(command) => emulate::run(&command),
        args::Command::List(command) => list::run(&command),
        args::Command::Show(command) => show::run(&command),
        args::Command::Kernel(command) => kernel::run(&command),
        args::Command::Send(command) => transfer::send(&command),
        args::Command::Receive(command) => transfer::receive(&command),
        args::Command::Proxy(command) => proxy::run(&command),
        #[cfg(feature = "serve")]
        args::Command::Serve(command) => commands::serve::run(&command),
        #[cfg(feature = "monitor")]
        args::Command::Monitor(command) => commands::monitor::run(&command),
        #[cfg(feature = "monitor")]
        args::Command::Advise(command) => commands::advise::run(&command),
        args::Command::Key(command) => transfer::key(&command),
        #[cfg(feature = "agent")]
        args::Command::Generate(command) => commands::generate::generate(&command),
        #[cfg(feature = "agent")]
        args::Command::Agent(command) => commands::generate::agent(&command),
        #[cfg(feature = "agent")]
        args::Command::Certificates(command) => commands::generate::certificates(&command),
        args::Command::Completions(command) => docs::completions(&command),
        args::Command::Man(command) => docs::man(&command),
        args::Command::Docs(command) => docs::docs(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Expectation) => ExitCode::from(1),
        Err(Failure::Program(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(Failure::Interrupted(message)) => {
            tell!("{message}");
            ExitCode::from(interrupt::EXIT_STATUS)
        }
        Err(Failure::Unfinished(report)) => {
            tell!("{report:?}");
            ExitCode::from(1)
        }
        Err(Failure::Report(report)) => {
            tell!("{report:?}");
            ExitCode::from(2)
        }
    }
}
