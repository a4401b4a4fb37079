//! The programs over emulated paths, beside the simulator.

use crate::common::{ackclock, stderr, stdout};
use crate::{Checked, Named, ensure};
use libtest_mimic::Failed;
use serde_json::Value;

pub(crate) const PRIVILEGED: &[Named] = &[
    ("pert_answers_the_delay_as_in_the_simulator", pert),
    ("marks_are_answered_without_losses", marks),
    ("none_keeps_its_window_over_timeouts", none),
];

/// A scenario with this queue, what else the bottleneck has, and this control.
fn scenario(queue: &str, more: &str, tcp: &str, control: &str) -> String {
    format!(
        "duration = \"10 s\"\nmeasure = [\"3 s\", \"10 s\"]\nsegment = {{ payload = \"1448 B\", header = \"52 B\" }}\n\
         tcp = {{ recovery = {{ sack = {{ proportional_rate = true }} }}, detection = \"rack\"{tcp} }}\n\
         [topology.dumbbell]\nbottleneck = {{ rate = \"20 Mbit/s\", delay = \"20 ms\", queue = {queue}{more} }}\n\
         access = {{ rate = \"1 Gbit/s\" }}\n[[flows]]\ncontrol = {control}\n"
    )
}

/// The only point of what `ackclock COMMAND` prints.
fn point(command: &str, text: &str) -> Result<Value, Failed> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("case.toml"), text)?;
    let output = ackclock(directory.path(), &[command, "case.toml", "--json"]);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let mut document: Value = serde_json::from_str(&stdout(&output))?;
    Ok(document["points"][0].take())
}

fn number(value: &Value) -> Result<f64, Failed> {
    value.as_f64().ok_or_else(|| format!("{value} is no number").into())
}

/// Over a deep queue PERT never fills it: it answers early, loses nothing, and has what it has in the simulator.
fn pert() -> Checked {
    for over in ["\"reno\"", "{ layered = { decrease = \"variable\" } }"] {
        let control = format!("{{ pert = {{ over = {over} }} }}");
        let text = scenario("{ droptail = \"2 bdp\" }", "", "", &control);
        let (emulated, simulated) = (point("emulate", &text)?, point("run", &text)?);
        let program = &emulated["programs"][0];
        ensure(
            program["scheme"] == "pert" && number(&program["early_responses"])? > 3.0,
            program.to_string(),
        )?;
        let [kernel, engine] = [&emulated, &simulated].map(|point| number(&point["flows"][0]["goodput_bps"]));
        let (kernel, engine) = (kernel?, engine?);
        let said = format!("over {over}: {kernel} and {engine}\n{}", emulated["emulation"]);
        ensure((kernel / engine - 1.0).abs() < 0.1, said)?;
    }
    Ok(())
}

/// RED that marks and a receiver that echoes: every scheme with a response gets by without a loss.
fn marks() -> Checked {
    let red = "{ red = { limit = \"4 bdp\", mark = true } }";
    // PERT with its own thresholds is earlier than RED.
    let late = "{ pert = { min_delay = 0.1, max_delay = 0.2 } }";
    for (control, program) in
        [("\"layered\"", true), ("\"compound\"", true), (late, true), ("\"reno\"", false)]
    {
        let text = scenario(red, "", ", ecn = true", control);
        let emulated = point("emulate", &text)?;
        let (link, flow) = (&emulated["links"][0], &emulated["flows"][0]);
        let said = format!("{control}: {link} {flow} {}", emulated["programs"]);
        ensure(number(&link["marks"])? > 0.0 && number(&link["drops"])? == 0.0, &*said)?;
        ensure(number(&flow["retransmits"])? == 0.0 && number(&flow["timeouts"])? == 0.0, &*said)?;
        let counted = &emulated["programs"][0];
        if program {
            ensure(number(&counted["marks"])? > 0.0, &*said)?;
            // Before the measuring window slow start may have overshot, and lost.
            ensure(number(&counted["cuts"])? >= number(&counted["marks"])?, &*said)?;
        }
    }
    Ok(())
}

/// Three segments in flight of which one in three is lost: timeouts come, and the window stays what it was set to.
fn none() -> Checked {
    let text = scenario("{ droptail = \"2 bdp\" }", ", loss = 0.3", "", "{ none = { cap = 3 } }");
    let emulated = point("emulate", &text)?;
    let (flow, program) = (&emulated["flows"][0], &emulated["programs"][0]);
    let said = format!("{flow} {program}");
    ensure(number(&program["timeouts"])? > 0.0 && number(&program["cuts"])? == 0.0, &*said)?;
    ensure(number(&flow["timeouts"])? > 0.0 && number(&flow["retransmits"])? > 20.0, &*said)?;
    ensure((number(&flow["cwnd_mean"])? - 3.0).abs() < 0.01, &*said)
}
