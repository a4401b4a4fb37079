//! `ackclock compare`: builds a scenario from the command line.

use crate::commands::run::Job;
use crate::failure::Failure;
use crate::{args, program};
use ackclock_scenario::Sweep;
use ackclock_study::comparison::Comparison;

pub(crate) fn run(command: &args::Compare) -> Result<(), Failure> {
    let document = asked(command).document()?;
    let text = document.to_toml();
    let sweep = Sweep::expand(document)?;
    let job = Job {
        sweep: &sweep,
        request: program::request(&text, &[]),
        out: Some(&command.out),
        store: None,
        captures: &[],
        threads: command.threads,
        json: command.json,
    };
    job.perform()
}

fn asked(command: &args::Compare) -> Comparison {
    Comparison {
        controls: command.controls.clone(),
        rate: command.rate.clone(),
        rtt: command.rtt.clone(),
        buffer: command.buffer.clone(),
        loss: command.loss,
        duration: command.duration.clone(),
        queue: command.queue.clone(),
        stack: command.stack.clone(),
        detection: command.detection.clone(),
        recovery: command.recovery.clone(),
        flows: command.flows,
        seed: command.seed,
        seeds: command.seeds,
    }
}
