//! What the sources of controllers say of them beside others, or alone on a link.

mod common;

use ackclock_scenario::results::{FlowResult, PointResult};
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

/// Mean time that the flow's segments and their acknowledgements waited, ms.
fn waited_ms(flow: &FlowResult) -> f64 {
    1e3 * (flow.rtt_mean_s.unwrap_or(f64::NAN) - flow.rtt_min_s.unwrap_or(f64::NAN))
}

/// RFC 6817 section 1: it uses what others leave, and gives way to them. The buffer takes 166 ms, more than
/// its target.
#[test]
fn ledbat_fills_an_idle_link_and_yields_to_reno() {
    let deep = "{ droptail = \"800 packets\" }";
    for (variant, target_ms, busy) in [("ledbat", 100.0, 0.99), ("plus-plus", 60.0, 0.9)] {
        let ledbat = format!("[[flows]]\ncontrol = {{ ledbat = {{ variant = \"{variant}\" }} }}\n");
        let alone = on_40_mbit(deep, &ledbat);
        let (used, waited) = (alone.links[0].utilisation, waited_ms(&alone.flows[0]));
        assert!(used > busy, "{variant}: {used}");
        assert!(waited < target_ms + 3.0 && waited > 0.8 * target_ms, "{variant}: {waited} ms");
        let beside = on_40_mbit(deep, &format!("{ledbat}[[flows]]\ncontrol = \"reno\"\n"));
        let (its, renos) = (beside.flows[0].goodput_bps, beside.flows[1].goodput_bps);
        assert!(its < 0.1 * renos, "{variant}: {its} beside {renos}");
        assert!(its + renos > 0.9 * 40e6, "{variant}: {its} and {renos}");
    }
}

/// NSDI 2018, section 2: rate = 1 / (delta d_q). So flows on one link have rates in inverse proportion to
/// their deltas, and the queue of all of them is 1.25 times the sum of 1 / delta.
#[test]
fn copa_shares_and_queues_by_its_deltas() {
    let flow = |(number, delta): (usize, &f64)| {
        let control = format!("{{ copa = {{ delta = {delta}, competitive = false }} }}");
        format!("[[flows]]\nlabel = \"{number}\"\ncontrol = {control}\n")
    };
    let flows = |deltas: &[f64]| deltas.iter().enumerate().map(flow).collect::<String>();
    for deltas in [vec![0.5], vec![0.5; 4], vec![0.5, 0.25], vec![0.5, 0.5, 0.125]] {
        let result = on_40_mbit("{ droptail = \"800 packets\" }", &flows(&deltas));
        let queued: f64 = deltas.iter().map(|delta| 1.0 / delta).sum();
        let mean = result.links[0].queue_mean / queued;
        println!(
            "{deltas:?}: {mean} {:?}",
            result.flows.iter().map(|flow| flow.goodput_bps * 1e-6).collect::<Vec<_>>()
        );
        assert!((0.75..1.75).contains(&mean), "{deltas:?}: {mean} of the sum");
        assert!(result.links[0].utilisation > 0.98 && result.links[0].drops == 0);
        for (flow, delta) in result.flows.iter().zip(&deltas) {
            let fair = 1.0 / delta / queued;
            let share = flow.goodput_bps / result.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>();
            assert!((0.7..1.4).contains(&(share / fair)), "{deltas:?}: {share} instead of {fair}");
        }
    }
}

/// Section 2.2: beside a flow that fills the queue it competes; without that it leaves the link to the other.
#[test]
fn copa_competes_with_flows_that_fill_the_queue() {
    let beside = |control: &str, competitive: bool| {
        let copa = format!("[[flows]]\ncontrol = {{ copa = {{ competitive = {competitive} }} }}\n");
        let other = format!("[[flows]]\ncontrol = \"{control}\"\n");
        let result = on_40_mbit("{ droptail = \"1 bdp\" }", &(copa + &other));
        result.flows[0].goodput_bps / result.flows[1].goodput_bps
    };
    for control in ["reno", "cubic"] {
        let (with, without) = (beside(control, true), beside(control, false));
        println!("{control}: {with} {without}");
        assert!((0.4..2.5).contains(&with), "{control}: {with}");
        assert!(without < 0.25, "{control}: {without}");
    }
}
