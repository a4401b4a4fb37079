//! A policer limits what passes, and builds no queue. BBR notices it.

mod common;

use common::{dumbbell, result};

fn through(control: &str) -> ackclock_scenario::results::PointResult {
    let bottleneck = "rate = \"50 Mbit/s\", delay = \"10 ms\", \
                      queue = { policer = { limit = \"1 bdp\", share = 0.2, burst = \"20 packets\" } }";
    let rest =
        format!("access = {{ rate = \"1 Gbit/s\", delay = \"5 ms\" }}\n[[flows]]\ncontrol = \"{control}\"\n");
    result(
        &("duration = \"40 s\"\nmeasure = [\"10 s\", \"40 s\"]\n".to_owned() + &dumbbell(bottleneck, &rest)),
    )
}

#[test]
fn nobody_gets_more_than_the_policed_rate_and_nobody_waits() {
    for control in ["reno", "cubic", "bbr"] {
        let point = through(control);
        let link = &point.links[0];
        let flow = &point.flows[0];
        assert!(flow.throughput_bps <= 10e6 * 1.01, "{control}: {}", flow.throughput_bps);
        assert!(flow.throughput_bps > 3e6, "{control}: {}", flow.throughput_bps);
        assert!(link.drops > 0 && link.queue_mean < 1.0, "{control}: {} {}", link.drops, link.queue_mean);
    }
}
