//! Tests that compare the recorder's data with the run.

use crate::run::{run_observed, run_point};
use ackclock_scenario::Sweep;
use ackclock_sim::observers::{Recorder, Recording};
use ackclock_units::Duration;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"
    duration = "60 s"
    measure = ["10 s", "60 s"]
    [topology.dumbbell]
    bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = { droptail = "1 bdp" } }
    access = { rate = "100 Mbit/s", delay = "1 ms" }
    [[flows]]
    label = "watched"
    control = "reno"
    [[flows]]
    label = "other"
    control = "reno"
    count = 3
    [predict]
    flow = "watched"
"#;

/// The recording of a scenario with `[predict]`.
pub(super) fn recorded(scenario: &str) -> Recording {
    let sweep = Sweep::read("recorded", scenario, &[]).expect("a scenario");
    let built = sweep.points[0].scenario.build().expect("it can be built");
    let mut recorder = Recorder::new(&built, &built.prediction.expect("it is asked for"));
    let never = AtomicBool::new(false);
    run_observed(&sweep.points[0], false, Some(&mut recorder), &never).expect("it runs");
    recorder.finish()
}

#[test]
fn what_is_recorded_agrees_with_the_run() {
    let recording = recorded(SCENARIO);
    let sweep = Sweep::read("four flows", SCENARIO, &[]).expect("a scenario");
    let result = run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("it runs");
    let drops = recording.queue_losses.as_ref().expect("they are known").len() as f64;
    let counted = result.links[0].drops as f64;
    assert!((drops - counted).abs() <= 2.0 && counted > 10.0, "{drops} and {counted}");
    assert!(!recording.flow_losses.is_empty() && recording.flow_losses.len() < drops as usize);
    assert_eq!(recording.queue.len(), recording.readings.len());
    // The queue at a reading is that of its segment, whose delay shows one way back later.
    let fullest = recording.queue.iter().copied().fold(0.0, f32::max);
    assert!((0.9..1.1).contains(&fullest), "{fullest}");
    let least = recording.readings.iter().map(|reading| reading.rtt).min().expect("readings");
    assert!(least >= Duration::from_millis(44), "{least}");
    assert!(recording.readings.windows(2).all(|pair| pair[0].now <= pair[1].now));
}
