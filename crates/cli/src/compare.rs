//! `ackclock compare`: a scenario written on the spot.

use crate::output::Request;
use crate::run::Job;
use crate::{Failure, args};
use ackclock_sim::scenario::Sweep;

pub(crate) fn run(command: &args::Compare) -> Result<(), Failure> {
    let text = scenario(command);
    let sweep = Sweep::read("the comparison", &text, &[])?;
    let job = Job {
        sweep: &sweep,
        request: Request::new(&text, &[]),
        out: Some(&command.out),
        threads: command.threads,
        json: command.json,
    };
    job.perform()
}

/// One point per controller, and one in which all of them share the bottleneck.
fn scenario(command: &args::Compare) -> String {
    let quoted = |text: &str| toml_text(text);
    let controls: Vec<_> = command.controls.iter().map(|control| quoted(control)).collect();
    format!(
        "name = \"comparison of {names}\"\n\
         seed = {seed}\n\
         duration = {duration}\n\
         \n\
         [topology.dumbbell]\n\
         bottleneck = {{ rate = {rate}, delay = \"0 s\", queue = {{ droptail = {buffer} }}, loss = {loss:?} }}\n\
         \n\
         [[flows]]\n\
         label = \"flows\"\n\
         count = {flows}\n\
         rtt = {rtt}\n\
         control = {first}\n\
         \n\
         [sweep]\n\
         \"flows.0.control\" = [{controls}]\n",
        names = command.controls.join(", ").replace(['"', '\\'], ""),
        seed = command.seed,
        duration = quoted(&command.duration),
        rate = quoted(&command.rate),
        buffer = quoted(&command.buffer),
        loss = command.loss,
        flows = command.flows,
        rtt = quoted(&command.rtt),
        first = controls[0],
        controls = controls.join(", "),
    )
}

/// A TOML string.
fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
