//! An ACK filter on the way back of an asymmetric path.

mod common;

use ackclock_scenario::results::PointResult;
use common::{dumbbell, result};

/// 1040 B there for 40 B back: ACKs of all segments would need 385 kbit/s.
fn with(queue: &str, control: &str) -> PointResult {
    let bottleneck = "rate = \"10 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"50 packets\" } }\n\
                      reverse = { rate = \"100 kbit/s\", queue = "
        .to_owned()
        + queue;
    let text = dumbbell(&bottleneck, &format!("[[flows]]\ncontrol = \"{control}\"\n"));
    result(&format!("duration = \"40 s\"\nmeasure = [\"10 s\", \"40 s\"]\n{text}"))
}

#[test]
fn the_way_back_has_no_standing_queue_and_the_way_there_is_used() {
    for control in ["reno", "cubic"] {
        let plain = with("{ droptail = \"100 packets\" }", control);
        let filtered = with("{ ack_filter = { limit = \"100 packets\" } }", control);
        let [_, before] = &plain.links[..] else { panic!("two links") };
        let [there, back] = &filtered.links[..] else { panic!("two links") };
        assert_eq!(before.filtered, 0);
        assert!(before.queue_mean > 50.0 && back.queue_mean < 5.0, "{before:?} {back:?}");
        assert!(back.filtered > back.arrivals / 2 && back.drops == back.filtered, "{back:?}");
        assert!(there.utilisation > 0.9, "{control}: {there:?}");
        let rtt = |point: &PointResult| point.flows[0].rtt_mean_s.expect("samples");
        assert!(rtt(&filtered) < 0.6 * rtt(&plain), "{} {}", rtt(&filtered), rtt(&plain));
    }
}
