//! Sources of traffic that does not react to congestion.

mod common;

use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use common::{bytes, result};

fn text(duration: &str, traffic: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"10 Mbit/s\", delay = \"5 ms\", \
         queue = {{ droptail = \"100 packets\" }} }}\n[[flows]]\ncontrol = \"reno\"\nsize = \"1 kB\"\n{traffic}"
    )
}

fn run(duration: &str, traffic: &str) -> PointResult {
    result(&text(duration, traffic))
}

#[test]
fn the_defaults_are_those_of_ns_2() {
    for kind in ["exponential", "pareto"] {
        let point = run("4000 s", &format!("[[traffic]]\nkind = \"{kind}\"\n"));
        let [stream] = &point.traffic[..] else { panic!("one source") };
        assert_eq!(stream.label, format!("{kind} 1"));
        // 210 B at 64 kbit/s in half of the time. A Pareto variate of shape 1.5 has no variance.
        let off = if kind == "pareto" { 6e3 } else { 1.5e3 };
        assert!((stream.throughput_bps - 32e3).abs() < off, "{stream:?}");
        let wire = stream.throughput_bps * 4000.0 / 8.0 / 210.0;
        assert!((wire - stream.delivered as f64).abs() < 0.5, "{stream:?}");
    }
    let point = run("2000 s", "[[traffic]]\nkind = \"poisson\"\n");
    assert!((point.traffic[0].throughput_bps - 64e3).abs() < 1e3, "{:?}", point.traffic[0]);
}

#[test]
fn poisson_traffic_waits_as_queueing_theory_says() {
    // M/D/1 at a load of 0.8: 0.8^2 / (2 (1 - 0.8)) = 1.6 wait on the average.
    let source = "[[traffic]]\nkind = \"poisson\"\nrate = \"8 Mbit/s\"\npacket = \"1000 B\"\n";
    let text = text("2000 s", source).replace("100 packets", "100000 packets");
    let link = &result(&text).links[0];
    assert!((link.queue_mean - 1.6).abs() < 0.05 && (link.utilisation - 0.8).abs() < 0.005, "{link:?}");
}

#[test]
fn several_sources_have_names_and_draws_of_their_own() {
    let group = "[[traffic]]\nlabel = \"noise\"\nkind = \"exponential\"\nrate = \"1 Mbit/s\"\ncount = 3\n\
                 start = { uniform = [\"0 s\", \"2 s\"] }\n";
    let expect = "[[expect]]\nthat = \"near(traffic_throughput('noise'), 1.5e6, 1.5e5)\"\n\
                  [[expect]]\nthat = \"traffic_throughput('noise 2') < 0.6 * traffic_throughput('noise')\"\n";
    let point = run("300 s", &(group.to_owned() + expect));
    let labels: Vec<&str> = point.traffic.iter().map(|stream| stream.label.as_str()).collect();
    assert_eq!(labels, ["noise 1", "noise 2", "noise 3"]);
    let sent: Vec<u64> = point.traffic.iter().map(|stream| stream.sent).collect();
    assert!(sent[0] != sent[1] && sent[1] != sent[2], "{sent:?}");
    assert!(point.expectations.iter().all(|expectation| expectation.holds), "{:?}", point.expectations);
    // Another group does not change them, and the same scenario gives the same bytes.
    let more = run("300 s", &(group.to_owned() + "[[traffic]]\nkind = \"poisson\"\n"));
    let of = |point: &PointResult| point.traffic.iter().take(3).map(|it| it.sent).collect::<Vec<_>>();
    assert_eq!(of(&point), of(&more));
    assert_eq!(bytes(&run("20 s", group)), bytes(&run("20 s", group)));
}

#[test]
fn constant_traffic_may_have_drawn_periods_and_jitter() {
    let source = "[[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n";
    let constant = run("100 s", source);
    assert_eq!(constant.traffic[0].sent, 12_500); // that of the last instant is not measured
    let drawn = run("100 s", &format!("{source}on = {{ uniform = [\"1 s\", \"3 s\"] }}\noff = \"2 s\"\n"));
    assert!((40_000..60_000).contains(&(drawn.traffic[0].sent * 8)), "{:?}", drawn.traffic[0]);
    let late = run("100 s", &format!("{source}jitter = \"5 ms\"\n"));
    // Packets of 0.8 ms come every 8 ms; jitter delays them, and none waits for another one.
    assert_eq!(late.traffic[0].sent, constant.traffic[0].sent);
    assert_eq!(late.links[0].drops, 0);
    let staggered =
        run("100 s", &format!("{source}count = 4\nstart = {{ every = \"20 s\" }}\nstop = \"90 s\"\n"));
    let sent: Vec<u64> = staggered.traffic.iter().map(|stream| stream.sent).collect();
    assert_eq!(sent, [11_250, 8_750, 6_250, 3_750]);
}

#[test]
fn access_links_of_traffic_have_the_limit_of_the_scenario() {
    let limited = |queue: &str| {
        let text = text("20 s", "[[traffic]]\nkind = \"poisson\"\nrate = \"2 Mbit/s\"\n").replacen(
            "[[flows]]",
            &format!("access = {{ rate = \"1 Mbit/s\"{queue} }}\n[[flows]]"),
            1,
        );
        let point = result(&text);
        assert!((point.traffic[0].throughput_bps - 1e6).abs() < 2e4, "{:?}", point.traffic[0]);
        point.traffic[0].sent
    };
    assert_eq!(limited(""), limited(", queue = { droptail = \"5 packets\" }"));
}

#[test]
fn mistakes_are_explained() {
    let refused = |traffic: &str, words: &[&str]| {
        let error = match Sweep::read("case.toml", &text("20 s", &format!("[[traffic]]\n{traffic}\n")), &[]) {
            Err(error) => error,
            Ok(sweep) => sweep.points[0].scenario.build().err().expect("a mistake"),
        };
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        let error = format!("{error}: {}", help.unwrap_or_default());
        assert!(error.contains("traffic.0") || error.contains("traffic.1"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{traffic}: {error}");
    };
    refused("kind = \"exponentail\"", &["did you mean \"exponential\"?"]);
    refused("kind = \"poisson\"\non = \"1 s\"", &["on", "unknown key"]);
    refused("kind = \"pareto\"\nshape = 1", &["shape", "above 1"]);
    refused("kind = \"exponential\"\nshape = 1.5", &["only pareto has a shape"]);
    refused("kind = \"pareto\"\non = { exponential = \"1 s\" }", &["a mean is wanted"]);
    refused(
        "kind = \"cbr\"\nrate = \"1 Mbit/s\"\non = { exponential = \"1 s\" }",
        &["on and off go together"],
    );
    refused("kind = \"cbr\"\nrate = \"1 Mbit/s\"\non = \"0 s\"\noff = \"1 s\"", &["no length"]);
    refused("kind = \"poisson\"\ncount = 0", &["count", "from 1"]);
    refused(
        "kind = \"poisson\"\ncount = 100000\n[[traffic]]\nkind = \"poisson\"",
        &["100001", "at most 100000"],
    );
    refused(
        "kind = \"poisson\"\nstart = { every = \"5 s\" }\ncount = 3\nstop = \"8 s\"",
        &["one of its sources starts at 10 s"],
    );
    refused("kind = \"poisson\"\nstart = \"30 s\"", &["the run lasts 20 s"]);
    refused(
        "label = \"a\"\nkind = \"poisson\"\ncount = 2\n[[traffic]]\nlabel = \"a 2\"\nkind = \"poisson\"",
        &["two streams of traffic are called \"a 2\""],
    );
}
