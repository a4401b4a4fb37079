//! Jitter at the hosts: it breaks the phase of flows at DropTail queues, and is only where it is needed.

mod common;

use ackclock_scenario::results::PointResult;
use common::{dumbbell, result};

fn run(root: &str, bottleneck: &str, rest: &str) -> PointResult {
    result(
        &(format!("duration = \"60 s\"\nmeasure = [\"10 s\", \"60 s\"]\n{root}\n")
            + &dumbbell(bottleneck, rest)),
    )
}

/// The smallest share of all goodput that a group of flows has.
fn least_share(point: &PointResult) -> f64 {
    let all: f64 = point.groups.iter().map(|group| group.goodput_bps.total).sum();
    point.groups.iter().map(|group| group.goodput_bps.total / all).fold(f64::INFINITY, f64::min)
}

const DROPTAIL: &str = "rate = \"50 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"1 bdp\" }";
const TWO: &str =
    "[[flows]]\nlabel = \"a\"\ncontrol = \"reno\"\n[[flows]]\nlabel = \"b\"\ncontrol = \"reno\"\n";

/// Access links as fast as the bottleneck: packets arrive exactly when others leave.
#[test]
fn nobody_is_locked_out_where_access_links_are_as_fast_as_the_bottleneck() {
    let gigabit = "rate = \"1 Gbit/s\", delay = \"40 ms\", queue = { droptail = \"1 bdp\" }";
    let rest = "access = { rate = \"1 Gbit/s\", delay = \"10 ms\" }\n\
                [[flows]]\ncontrol = \"compound\"\n[[flows]]\ncontrol = \"reno\"\n";
    let regular = least_share(&run("jitter = \"off\"", gigabit, rest));
    let jittered = least_share(&run("", gigabit, rest));
    assert!(regular < 0.01, "without jitter a flow is locked out: {regular}");
    assert!(jittered > 0.4, "{jittered}");
}

/// An asymmetric path: acknowledgements share a slow link with a short queue. Some get lost, of either flow.
#[test]
fn nobody_is_locked_out_by_a_queue_of_acknowledgements() {
    let downlink = "rate = \"20 Mbit/s\", delay = \"2 ms\", queue = { droptail = \"1 bdp\" }";
    let rest = "reverse = { rate = \"0.3 Mbit/s\", queue = { droptail = \"20 packets\" } }\n\
                access = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
                [[flows]]\ncontrol = \"reno\"\n[[flows]]\ncontrol = \"cubic\"\ntcp = { stack = \"plain\" }\n";
    let share = |root: &str, seed: u64| least_share(&run(&format!("{root}\nseed = {seed}"), downlink, rest));
    for seed in 1..=5 {
        let (regular, jittered) = (share("jitter = \"off\"", seed), share("", seed));
        assert!(regular < 0.01, "without jitter a flow is locked out: {regular}");
        assert!(jittered > 0.3, "seed {seed}: {jittered}");
    }
}

#[test]
fn jitter_is_where_flows_share_a_droptail_queue_and_says_so() {
    let access = "access = { rate = \"1 Gbit/s\", delay = \"10 ms\" }\n";
    let packet = 1040.0 * 8.0 / 50e6;
    let jitter = |point: &PointResult| point.flows.iter().map(|flow| flow.jitter_s).collect::<Vec<_>>();
    let near =
        |jitter: Option<f64>, expected: f64| jitter.is_some_and(|jitter| (jitter - expected).abs() < 2e-9);

    let shared = run("", DROPTAIL, &format!("{access}{TWO}"));
    assert!(shared.flows.iter().all(|flow| near(flow.jitter_s, packet)), "{:?}", jitter(&shared));
    assert_eq!(shared.jitter().map(|(flows, _)| flows), Some(2));
    // Without access links, too.
    let direct = run("", DROPTAIL, TWO);
    assert!(direct.flows.iter().all(|flow| near(flow.jitter_s, packet)), "{:?}", jitter(&direct));

    let alone = run("", DROPTAIL, &format!("{access}[[flows]]\ncontrol = \"reno\"\n"));
    assert_eq!(jitter(&alone), [None]);
    let codel = DROPTAIL.replace("droptail = \"1 bdp\"", "codel = { limit = \"1000 packets\" }");
    assert_eq!(jitter(&run("", &codel, &format!("{access}{TWO}"))), [None, None]);
    let free = DROPTAIL.replace("{ droptail = \"1 bdp\" }", "\"unlimited\"");
    assert_eq!(jitter(&run("", &free, &format!("{access}{TWO}"))), [None, None]);

    let own = format!("{access}[[flows]]\ncontrol = \"reno\"\njitter = \"2 packets\"\n");
    let point =
        run("jitter = \"off\"", DROPTAIL, &format!("{own}[[flows]]\nlabel = \"b\"\ncontrol = \"reno\"\n"));
    assert!(
        near(point.flows[0].jitter_s, 2.0 * packet) && point.flows[1].jitter_s.is_none(),
        "{:?}",
        jitter(&point)
    );
}

/// A packet that overtakes another would look like a loss.
#[test]
fn jitter_reorders_nothing() {
    let lossless = "rate = \"50 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"1 bdp\" }";
    let rest = "access = { rate = \"1 Gbit/s\", delay = \"10 ms\" }\n\
                [[flows]]\ncontrol = \"reno\"\njitter = \"5 ms\"\ntcp = { receive_window = 50 }\ncount = 2\n";
    let point = run("", lossless, rest);
    let resent: u64 = point.flows.iter().map(|flow| flow.retransmits).sum();
    assert_eq!(resent, 0);
    assert!(point.flows.iter().all(|flow| flow.rtt_mean_s.is_some_and(|rtt| (0.0625..0.07).contains(&rtt))));
}
