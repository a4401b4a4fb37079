//! Any text as a scenario: reading it, laying it out and rehearsing its expectations ends with a plan or a
//! message, never with a panic. Lines that begin with `#--set ` are settings, as on the command line.

#![no_main]

use ackclock_scenario::Sweep;
use ackclock_study::run::check;
use libfuzzer_sys::fuzz_target;
use miette::NarratableReportHandler;

/// Points of a sweep that are laid out; all of them are read.
const POINTS: usize = 2;
/// Flows and looks of probes beyond which laying out and rehearsing only take long.
const FLOWS: usize = 2_000;
const LOOKS: u64 = 10_000;

fuzz_target!(|text: &str| {
    let settings: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("#--set ")).take(3).map(str::to_owned).collect();
    let sweep = match Sweep::read("fuzz.toml", text, &settings) {
        Ok(sweep) => sweep,
        Err(error) => {
            // The line must lie in the text, and the message must be printable with its excerpt.
            assert!(error.line().is_none_or(|line| line <= text.lines().count() + 1));
            let mut shown = String::new();
            NarratableReportHandler::new().render_report(&mut shown, &error).expect("a message");
            assert!(shown.len() < 100_000 + 10 * error.to_string().len(), "{shown}");
            return;
        }
    };
    for point in sweep.points.iter().take(POINTS) {
        let _ = point.scenario.to_json();
        let scenario = &point.scenario;
        let looks = scenario.probe.map_or(0, |probe| scenario.duration.as_nanos() / probe.as_nanos().max(1));
        if scenario.flows() > FLOWS || looks > LOOKS {
            continue;
        }
        if let Ok(built) = scenario.build() {
            assert!(!built.plan.flows.is_empty());
            assert!(built.memory.is_finite());
            for flow in &built.plan.flows {
                assert!(flow.forward.iter().chain(&flow.reverse).all(|&link| link < built.plan.links.len()));
                assert!(flow.start < built.plan.duration && flow.stop.is_none_or(|stop| stop > flow.start));
            }
            let _ = check(std::slice::from_ref(point), true);
        }
    }
});
