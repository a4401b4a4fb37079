//! Senders whose own host has the first queue, and tells them when it is full.

mod common;

use ackclock_scenario::results::PointResult;
use common::{dumbbell, points, result};

/// Flows over 100 Mbit/s and 100 ms, behind a queue of 200 packets at their host. The product is 1200.
fn with(tcp: &str, flows: u32, control: &str) -> PointResult {
    let bottleneck = "rate = \"100 Mbit/s\", delay = \"50 ms\", queue = { droptail = \"200 packets\" }";
    let flows = format!("[[flows]]\ncontrol = \"{control}\"\ncount = {flows}\n");
    let text = dumbbell(bottleneck, &flows);
    result(&format!("duration = \"30 s\"\njitter = \"off\"\ntcp = {{ {tcp} }}\n{text}"))
}

#[test]
fn nothing_is_lost_and_slow_start_ends_where_the_queue_is_full() {
    for control in ["reno", "cubic", "layered"] {
        for flows in [1, 3] {
            let lost = with("counting = \"acks\"", flows, control);
            let told = with("counting = \"acks\", local_congestion = true", flows, control);
            assert!(lost.links[0].drops > 100, "{control}: {:?}", lost.links[0]);
            assert_eq!(told.links[0].drops, 0, "{control}: {:?}", told.links[0]);
            assert!(told.flows.iter().all(|flow| flow.window_cuts > 0 && flow.retransmits == 0), "{control}");
            assert!(told.flows.iter().all(|flow| flow.timeouts == 0 && flow.goodput_bps > 5e6), "{control}");
        }
    }
}

/// Slow start doubles with each round, so half of what a round sends waits. From a window of 320 on the queue
/// of 200 packets is full after 200 acknowledgements: half of 521 segments is left. Then one more with each
/// round.
#[test]
fn the_threshold_is_what_the_queue_makes_it() {
    let told = with("counting = \"acks\", local_congestion = true", 1, "reno");
    let flow = &told.flows[0];
    assert_eq!(flow.window_cuts, 1);
    assert!((395.0..410.0).contains(&flow.cwnd_mean), "260 and half of 293 rounds: {}", flow.cwnd_mean);
}

#[test]
fn a_sender_without_a_queue_of_its_own_is_an_error() {
    for (jitter, access) in [("0.1 ms", ""), ("off", "access = { rate = \"1 Gbit/s\" }\n")] {
        let bottleneck = "rate = \"100 Mbit/s\", delay = \"50 ms\", queue = { droptail = \"200 packets\" }";
        let run = format!("duration = \"1 s\"\njitter = \"{jitter}\"\ntcp = {{ local_congestion = true }}\n");
        let rest = format!("{access}[[flows]]\ncontrol = \"reno\"\ncount = 2\n");
        let text = run + &dumbbell(bottleneck, &rest);
        let error = points(&text)[0].scenario.build().err().expect("nothing can be full");
        assert!(error.to_string().contains(" tcp.local_congestion: the first link"), "{error}");
    }
}
