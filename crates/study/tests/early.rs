//! Early responses in whole runs: one that never comes leaves no trace, segment by segment, and one to
//! one-way delay does not mind what happens on the way back.

use ackclock_cc::schemes;
use ackclock_scenario::Sweep;
use ackclock_study::run::run_point;
use std::sync::atomic::AtomicBool;

/// Two flows over a lossy bottleneck, the first followed segment by segment; delay is never 10 s above the
/// smallest.
fn everything(control: &str) -> String {
    let scenario = format!(
        r#"
        duration = "10 s"
        probe = "100 ms"
        [topology.dumbbell]
        bottleneck = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {{ droptail = "1 bdp" }}, loss = 1e-3 }}
        access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
        [[flows]]
        label = "flow"
        control = {control}
        count = 2
        follow = 1
        start = {{ every = "1 s" }}
        "#
    );
    let sweep = Sweep::read("two flows", &scenario, &[]).unwrap_or_else(|error| panic!("{error}"));
    let result = run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("it runs");
    let flows: Vec<_> = result
        .flows
        .iter()
        .map(|flow| format!("{} {} {} {}", flow.sent, flow.delivered, flow.window_cuts, flow.cwnd_mean))
        .collect();
    let series = result.series.expect("there are probes");
    format!("{flows:?}\n{:?}\n{:?}\n{:?}", result.links[0].drops, series.flows, result.courses)
}

#[test]
fn an_early_response_that_never_comes_leaves_no_trace() {
    for scheme in schemes().iter().filter(|scheme| scheme.name != "pert") {
        let name = scheme.name;
        let bare = everything(&format!("\"{name}\""));
        let never = "min_delay = 10, max_delay = 10";
        assert!(everything(&format!("{{ pert = {{ over = \"{name}\", {never} }} }}")) == bare, "{name}");
    }
    // Otherwise it does leave one.
    assert_ne!(everything("\"pert\""), everything("\"reno\""));
}

/// One PERT flow one way, four Reno flows the other: what it gets.
fn beside_reverse_traffic(delay: &str) -> f64 {
    let scenario = format!(
        r#"
        duration = "60 s"
        measure = ["20 s", "60 s"]
        [topology.dumbbell]
        bottleneck = {{ rate = "20 Mbit/s", delay = "20 ms", queue = {{ droptail = "1 bdp" }} }}
        access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
        [[flows]]
        label = "pert"
        control = {{ pert = {{ delay = "{delay}" }} }}
        [[flows]]
        label = "back"
        control = "reno"
        reverse = true
        count = 4
        "#
    );
    let sweep = Sweep::read("reverse traffic", &scenario, &[]).unwrap_or_else(|error| panic!("{error}"));
    let result = run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("it runs");
    result.flows[0].goodput_bps
}

#[test]
fn congestion_on_the_way_back_does_not_trigger_a_response_to_one_way_delay() {
    let (round_trip, forward) = (beside_reverse_traffic("round-trip"), beside_reverse_traffic("forward"));
    assert!(forward > 1.5 * round_trip, "{forward} and {round_trip}");
}
