//! Transfers of a size: what began, what was finished, and how many times the shortest time it took.

mod common;

use ackclock_scenario::results::PointResult;
use common::result;

/// A run over 10 Mbit/s with a propagation round-trip time of 20 ms; a segment of 1040 B takes 0.832 ms.
fn run(duration: &str, flows: &str) -> PointResult {
    result(&format!(
        "duration = \"{duration}\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n{flows}"
    ))
}

#[test]
fn what_did_not_finish_is_told() {
    // 1 MB takes more than 0.8 s: of two transfers within 1.5 s one is finished, and of 10 MB nothing is.
    let point = run(
        "1.5 s",
        "[[flows]]\nlabel = \"some\"\ncontrol = \"reno\"\nsize = \"500 kB\"\nrepeat = 2\n\
         [[flows]]\nlabel = \"none\"\ncontrol = \"reno\"\nsize = \"100 MB\"\n\
         [[flows]]\nlabel = \"endless\"\ncontrol = \"reno\"\nstart = \"1.4 s\"\n",
    );
    let of = |label: &str| point.groups.iter().find(|group| group.label == label).expect("a group").transfers;
    let some = of("some").expect("transfers");
    assert_eq!((some.started, some.finished, some.unfinished, some.count), (2, 1, 1, 1));
    assert_eq!(some.mean_bytes, Some(500_000.0));
    let none = of("none").expect("transfers");
    assert_eq!((none.started, none.finished, none.unfinished), (1, 0, 1));
    assert!(none.mean_s.is_none() && none.p99_s.is_none() && none.slowdown.is_none(), "{none:?}");
    assert!(of("endless").is_none(), "what has no end is no transfer");
    let flow = &point.flows[0];
    assert_eq!((flow.sizes_bytes.len(), flow.slowdowns.len(), flow.begins_s[0]), (1, 1, 0.0));
}

/// What the application gives up is no finished transfer, and what is not asked for any more was not started.
#[test]
fn what_is_given_up_did_not_finish() {
    // At most 30 segments are on the way, so that the rest of the second transfer is still to be sent.
    let keys = "size = \"1 MB\"\nrepeat = 9\nstop = \"1.5 s\"\ntcp = { receive_window = 30 }";
    let point = run("3 s", &format!("[[flows]]\ncontrol = \"reno\"\n{keys}\n"));
    let transfers = point.groups[0].transfers.expect("transfers");
    assert_eq!((transfers.started, transfers.finished, transfers.unfinished), (2, 1, 1));
}

#[test]
fn the_slowdown_is_against_the_empty_path() {
    // One segment: 20 ms of propagation and 0.832 ms for it; its acknowledgement of 40 B takes 0.032 ms more.
    let point = run("1 s", "[[flows]]\ncontrol = \"reno\"\nsize = \"1000 B\"\n");
    let flow = &point.flows[0];
    assert_eq!((flow.propagation_rtt_s, flow.narrowest_bps), (0.02, 10e6));
    let shortest = 0.02 + 1040.0 * 8.0 / 10e6;
    assert!((flow.ideal_s(1000) - shortest).abs() < 1e-12 && flow.ideal_s(1001) > shortest);
    let expected = (shortest + 40.0 * 8.0 / 10e6) / shortest;
    assert!((flow.slowdowns[0] - expected).abs() < 1e-9, "{} against {expected}", flow.slowdowns[0]);
    // A long transfer that nothing disturbs is close to the shortest time; a window that is full from the
    // beginning is closer.
    let slowdown = |keys: &str| {
        let flows = format!("[[flows]]\ncontrol = \"reno\"\nsize = \"5 MB\"\n{keys}\n");
        run("9 s", &flows).groups[0].transfers.and_then(|it| it.slowdown).expect("a finished transfer").mean
    };
    let (started, full) = (slowdown(""), slowdown("tcp = { initial_window = 30 }"));
    assert!(1.0 < full && full < started && started < 1.05, "{full} and {started}");
}

#[test]
fn a_flow_with_links_of_its_own_has_their_rate_and_delay() {
    let point = run(
        "1 s",
        "[[flows]]\ncontrol = \"reno\"\nrtt = \"50 ms\"\nlast_hop = { rate = \"2 Mbit/s\", delay = \"5 ms\" }\nsize = \"1000 B\"\n",
    );
    assert_eq!((point.flows[0].propagation_rtt_s, point.flows[0].narrowest_bps), (0.05, 2e6));
}

/// Bursts leave when the application's clock says so, which is no fault of the path.
#[test]
fn bursts_have_no_slowdown() {
    let point = run(
        "3 s",
        "[[flows]]\ncontrol = \"reno\"\nbursts = { size = \"5 kB\", every = \"10 ms\", for = \"1 s\" }\n",
    );
    let transfers = point.groups[0].transfers.expect("all bursts are one transfer");
    assert_eq!((transfers.started, transfers.finished, transfers.mean_bytes), (1, 1, Some(505_000.0)));
    assert!(transfers.slowdown.is_none() && transfers.mean_s.is_some());
}

/// Without `repeat` a pause leads to the next transfer until the run ends, as an interval does.
#[test]
fn a_pause_and_an_interval_repeat_without_end() {
    let count = |keys: &str| {
        let flows = format!("[[flows]]\ncontrol = \"reno\"\nsize = \"1000 B\"\n{keys}\n");
        run("10 s", &flows).groups[0].transfers.expect("transfers").finished
    };
    assert_eq!(count("interval = \"1 s\""), 10);
    assert_eq!(count("pause = \"1 s\""), 10, "a transfer takes 20 ms");
    assert_eq!(count("pause = \"1 s\"\nrepeat = 3"), 3);
    assert_eq!(count(""), 1);
}

#[test]
fn slowdowns_are_told_by_size() {
    let group = |size: &str| {
        let flows = format!("[[flows]]\ncontrol = \"reno\"\nsize = {size}\npause = \"10 ms\"\n");
        run("60 s", &flows).groups.remove(0)
    };
    assert!(group("\"5 kB\"").transfers_by_size.is_empty(), "all are of one size");
    let mixed = group("{ uniform = [1, 100] }");
    let [small, large] = &mixed.transfers_by_size[..] else { panic!("{:?}", mixed.transfers_by_size) };
    assert_eq!((small.above_bytes, small.to_bytes), (0, Some(10_000)));
    assert_eq!((large.above_bytes, large.to_bytes), (10_000, Some(100_000)));
    let all = mixed.transfers.expect("transfers");
    assert_eq!(small.finished + large.finished, all.finished);
    assert!(small.time_s.max < large.time_s.mean && large.time_s.max == all.max_s.expect("some finished"));
    let mean = |class: &ackclock_scenario::results::SizeClass| class.slowdown.expect("slowdowns").mean;
    let sum = mean(small) * small.finished as f64 + mean(large) * large.finished as f64;
    let overall = all.slowdown.expect("slowdowns").mean;
    assert!((sum / all.finished as f64 - overall).abs() < 1e-9);
}
