//! What the sources of controllers say of them beside others, or alone on a link.

mod common;

use ackclock_scenario::results::PointResult;
use common::{dumbbell, result};

/// `flows` for 100 s on 40 Mbit/s and a propagation round-trip time of 20 ms, measured after 30 s.
fn on_40_mbit(queue: &str, flows: &str) -> PointResult {
    let bottleneck = format!("rate = \"40 Mbit/s\", delay = \"10 ms\", queue = {queue}");
    let text = "duration = \"100 s\"\nmeasure = [\"30 s\", \"100 s\"]\n".to_owned();
    result(&(text + &dumbbell(&bottleneck, flows)))
}

/// arXiv:1911.00710: a queue of classic ECN marks so rarely that a flow that takes a share for each mark
/// leaves little to others. By the delay of the queue it can tell.
#[test]
fn pragues_fallback_shares_a_queue_of_classic_ecn() {
    let beside_cubic = |queue: &str, prague: &str| {
        let cubic = "[[flows]]\ncontrol = \"cubic\"\ntcp = { ecn = true }\n";
        let result = on_40_mbit(queue, &format!("[[flows]]\ncontrol = {prague}\n{cubic}"));
        result.flows[0].goodput_bps / result.flows[1].goodput_bps
    };
    for queue in [
        "{ codel = { limit = \"1000 packets\", mark = true } }",
        "{ pie = { limit = \"1000 packets\", mark = true } }",
    ] {
        let without = beside_cubic(queue, "\"prague\"");
        let with = beside_cubic(queue, "{ prague = { fallback = true } }");
        assert!(without > 5.0, "{queue}: {without}");
        assert!((0.5..2.0).contains(&with), "{queue}: {with}");
    }
    // In a queue of L4S it changes nothing.
    let [without, with] =
        ["\"prague\"", "{ prague = { fallback = true } }"].map(|it| beside_cubic("\"dualpi2\"", it));
    assert_eq!(without, with);
}
