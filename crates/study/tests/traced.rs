//! The capture that a scenario traces.

mod common;

use ackclock_scenario::results::PointResult;
use ackclock_scenario::traced::TracedAck;
use ackclock_sim::observers::tap;
use ackclock_study::run::run_observed;
use ackclock_study::trace::trace;
use common::{dumbbell, points, result};
use std::sync::atomic::AtomicBool;

/// Reno with two segments at the beginning and ten at most, all of which are acknowledged, over 20 ms.
fn scenario(head: &str, link: &str) -> String {
    let path = format!("rate = \"8 Mbit/s\", delay = \"10 ms\"{link}");
    let flow = "[[flows]]\ncontrol = \"reno\"\n";
    format!(
        "duration = \"1 s\"\nsegment = {{ payload = \"960 B\", header = \"40 B\" }}\njitter = \"off\"\n\
         tcp = {{ initial_window = 2, receive_window = \"9600 B\" }}\n{head}\n{}",
        dumbbell(&path, flow)
    )
}

/// A segment takes 1 ms, an acknowledgement of 40 B 0.04 ms. The capture has a segment when its last bit
/// leaves.
#[test]
fn the_first_acknowledgements_of_slow_start() {
    let result = result(&scenario("trace = \"bottleneck\"", ""));
    let [traced] = &result.traced[..] else { panic!("{:?}", result.traced) };
    assert_eq!((traced.flow, traced.data["initial_window_packets"]), (0, 2.0));
    assert_eq!(traced.data["segment_max"], 960.0);
    assert_eq!(traced.acknowledgements["unique_bytes"], 0.0);
    let at_ms = |seconds: f64| (seconds * 1e5).round() / 1e2;
    assert_eq!(
        traced.data_at_s[..4].iter().copied().map(at_ms).collect::<Vec<_>>(),
        [0.0, 1.0, 21.04, 22.04]
    );
    // Each lets two go. The first's have not left when the second one comes, which is 1 ms later.
    let acks = traced.acks[..3].iter().map(|ack| {
        let TracedAck { at_s, acked_bytes, outstanding_bytes, sent } = *ack;
        (at_ms(at_s), acked_bytes, outstanding_bytes, sent)
    });
    assert_eq!(
        acks.collect::<Vec<_>>(),
        [(20.04, 960, 960, 0), (21.04, 1920, 0, 4), (41.08, 2880, 2880, 0)],
        "{:?}",
        &traced.data_at_s[..8]
    );
}

/// With losses, whose repairs fill gaps of the capture: the same numbers as its, and the same run.
#[test]
fn it_is_what_a_capture_tells_and_changes_nothing() {
    let lossy = ", loss = 0.02, loss_at = \"after\"";
    let watched = result(&scenario("trace = \"bottleneck\"", lossy));
    let point = points(&scenario("", lossy)).remove(0);
    let built = point.scenario.build().expect("a scenario");
    let mut tap = tap(&built, "bottleneck", Vec::new()).expect("a link");
    let plain = run_observed(&point, false, Some(&mut tap), &AtomicBool::new(false)).expect("it runs");
    let capture = tap.finish(built.plan.duration).expect("memory");
    let told = trace(&capture[..], &mut |_, _, _, _| {}).expect("a capture");
    let [data, acknowledgements] = &told.connections[0].directions;
    let traced = &watched.traced[0];
    assert!(data.out_of_order > 0, "nothing was lost");
    assert_eq!(traced.data["out_of_order"], data.out_of_order as f64);
    assert_eq!(traced.data["packets"], data.packets as f64);
    assert_eq!(traced.data["rtt.mean_s"], data.rtt.expect("round trips").mean_s);
    assert_eq!(traced.acknowledgements["sack_packets"], acknowledgements.sack_packets as f64);
    let own =
        |result: &PointResult| (result.delivered_segments, result.flows[0].retransmits, result.flows[0].sent);
    assert_eq!(own(&watched), own(&plain));
    assert!(plain.traced.is_empty());
}

/// Flows are told apart by their addresses, also if the first to send is not the first of the scenario.
#[test]
fn each_flow_has_its_own() {
    let two = scenario("trace = \"bottleneck\"", "")
        .replace("control = \"reno\"\n", "control = \"reno\"\nstart = \"0.5 s\"\n")
        + "[[flows]]\nlabel = \"second\"\ncontrol = \"reno\"\nrtt = \"40 ms\"\n";
    let result = result(&two);
    let [first, second] = &result.traced[..] else { panic!("{:?}", result.traced) };
    assert_eq!((first.flow, second.flow), (0, 1));
    let arrived = |flow: usize| result.flows[flow].sent as f64 * 960.0;
    assert!((first.data["data_bytes"] - arrived(0)).abs() <= 10.0 * 960.0, "{}", first.data["data_bytes"]);
    assert!((second.data["data_bytes"] - arrived(1)).abs() <= 10.0 * 960.0, "{}", second.data["data_bytes"]);
}
