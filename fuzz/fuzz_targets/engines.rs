//! Any text as a scenario: where the engine in phases computes its beginning, it measures what the engine of
//! events does, to the last bit, with one thread and with several.

#![no_main]

use ackclock_scenario::Sweep;
use ackclock_scenario::plan::{EngineKind, Plan, Threads};
use ackclock_sim::engine::Simulation;
use ackclock_units::Duration;
use libfuzzer_sys::fuzz_target;

/// Packets of the fastest link that a run may take.
const PACKETS: f64 = 2_000.0;
/// What only takes long.
const FLOWS: usize = 50;
const LOOKS: u64 = 2_000;

fuzz_target!(|text: &str| {
    let Ok(sweep) = Sweep::read("fuzz.toml", text, &[]) else { return };
    let Some(point) = sweep.points.first().filter(|point| point.scenario.flows() <= FLOWS) else { return };
    let Ok(built) = point.scenario.build() else { return };
    let Some(plan) = beginning(built.plan) else { return };
    if let Some(phases) = by(EngineKind::Phases, 1, &plan) {
        assert_eq!(Some(&phases), by(EngineKind::Events, 1, &plan).as_ref());
        // The text decides how many, so that the same text is the same run.
        assert_eq!(Some(&phases), by(EngineKind::Phases, 2 + text.len() % 4, &plan).as_ref());
    }
});

/// The beginning of a run: as long as its fastest link or stream takes for some packets.
fn beginning(mut plan: Plan) -> Option<Plan> {
    let links = plan.links[..plan.measured].iter().map(|link| link.rate().bps_f64());
    let fastest = links.chain(plan.streams.iter().map(|stream| stream.rate.bps_f64())).fold(1.0, f64::max);
    let sizes = plan.flows.iter().map(|flow| flow.config.segment_bytes());
    let smallest = sizes.chain(plan.streams.iter().map(|stream| stream.bytes)).min()?;
    let enough = Duration::from_secs_f64(PACKETS * f64::from(smallest) * 8.0 / fastest);
    let first = plan.flows.iter().map(|flow| flow.start).min()?;
    plan.duration = plan.duration.min(first + enough);
    plan.measure = (plan.measure.0.min(plan.duration), plan.measure.1.min(plan.duration));
    let looks = plan.probe.map_or(0, |probe| plan.duration.as_nanos() / probe.as_nanos().max(1));
    (looks <= LOOKS).then_some(plan)
}

/// What an engine measures. `None` if it cannot compute the run.
fn by(engine: EngineKind, threads: usize, plan: &Plan) -> Option<String> {
    let plan = Plan { engine: Some(engine), threads: Threads::Exactly(threads), ..plan.clone() };
    let measured = Simulation::new(&plan, None).ok()?.run();
    Some(format!("{measured:?}"))
}
