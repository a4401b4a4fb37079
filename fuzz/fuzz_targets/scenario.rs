//! Any text as a scenario: reading it and laying it out ends with a plan or a message, never with a panic.

#![no_main]

use ackclock_sim::scenario::Sweep;
use libfuzzer_sys::fuzz_target;

/// Points of a sweep that are laid out; all of them are read.
const POINTS: usize = 3;
/// Flows beyond which laying out only takes long.
const FLOWS: usize = 20_000;

fuzz_target!(|text: &str| {
    let sweep = match Sweep::read("fuzz.toml", text, &[]) {
        Ok(sweep) => sweep,
        Err(error) => {
            // The message itself must be writable, and its line must lie in the text.
            assert!(!error.to_string().is_empty());
            assert!(error.line().is_none_or(|line| line <= text.lines().count() + 1));
            return;
        }
    };
    for point in sweep.points.iter().take(POINTS) {
        if point.scenario.flows() > FLOWS {
            continue;
        }
        if let Ok(built) = point.scenario.build() {
            assert!(!built.plan.flows.is_empty());
            assert!(built.memory.is_finite());
            for flow in &built.plan.flows {
                assert!(flow.forward.iter().chain(&flow.reverse).all(|&link| link < built.plan.links.len()));
            }
        }
    }
});
