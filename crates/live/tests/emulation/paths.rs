//! What a path may do to packets, and what results tell of it.

use super::{Checked, Named, ensure, flows, scenario};
use ackclock_live::Outcome;
use ackclock_scenario::results::{LinkResult, TrafficResult};
use ackclock_scenario::series::Series;
use libtest_mimic::Failed;

pub(super) const TESTS: &[Named] = &[
    ("losses_behind_the_transmitter_have_taken_its_time", behind),
    ("drops_are_told_by_their_causes", causes),
    ("an_outage_loses_what_comes_in_it", outage),
    ("a_rate_that_changes_is_the_links", schedule),
    ("a_trace_of_opportunities_is_followed", trace),
    ("drawn_traffic_is_measured_in_its_window", drawn),
    ("an_access_queue_has_its_limit", access),
    ("a_links_jitter_delays", jitter),
];

fn bottleneck(outcome: &Outcome) -> &LinkResult {
    &outcome.result.links[0]
}

fn series(outcome: &Outcome) -> Result<&Series, Failed> {
    outcome.result.series.as_ref().ok_or_else(|| "there is no series".into())
}

/// Every drop has one cause.
fn adds_up(link: &LinkResult) -> Checked {
    let causes = link.random_losses + link.overflows + link.early_drops + link.outage_losses + link.filtered;
    ensure(causes == link.drops, format!("{link:?}"))
}

fn behind() -> Checked {
    let outcome = flows(&scenario(", loss = 0.03, loss_at = \"after\"", "", ""))?;
    let link = bottleneck(&outcome);
    adds_up(link)?;
    ensure(link.random_losses > 5, format!("{link:?}"))?;
    // 20 Mbit/s for 2 s in packets of 1500 B: what is lost has been transmitted.
    let transmitted = link.utilisation * 20e6 * 2.0 / 12_000.0;
    let passed = (link.arrivals - link.overflows) as f64;
    ensure((0.9 * passed..1.1 * passed).contains(&transmitted), format!("{transmitted} of {link:?}"))
}

fn causes() -> Checked {
    // Bursts that RED's average does not follow.
    let traffic = "[[traffic]]\nkind = \"cbr\"\nrate = \"40 Mbit/s\"\non = \"20 ms\"\noff = \"80 ms\"\n";
    let text = scenario(", loss = 0.01", "", traffic).replace(
        "{ droptail = \"1 bdp\" }",
        "{ red = { limit = \"12 packets\", min = \"5 packets\", max = \"10 packets\", weight = 0.02 } }",
    );
    let outcome = flows(&text)?;
    let link = bottleneck(&outcome);
    adds_up(link)?;
    ensure(link.early_drops > 0 && link.random_losses > 0 && link.overflows > 0, format!("{link:?}"))
}

fn outage() -> Checked {
    let traffic = "[[traffic]]\nkind = \"cbr\"\nrate = \"4 Mbit/s\"\n";
    let text =
        scenario(", outages = [[\"1.5 s\", \"500 ms\"]], loss_at = \"after\"", "stop = \"10 ms\"", traffic);
    let outcome = flows(&format!("probe = \"100 ms\"\n{text}"))?;
    let link = bottleneck(&outcome);
    adds_up(link)?;
    // 500 datagrams a second, for half a second.
    ensure((245..=255).contains(&link.outage_losses), format!("{link:?}"))?;
    let seen = &series(&outcome)?.streams[0];
    // What is behind the link already still arrives.
    ensure(seen[17..21].iter().all(|&rate| rate == 0.0), format!("{seen:?}"))?;
    ensure(seen[5..15].iter().all(|&rate| (3.8e6..4.2e6).contains(&rate)), format!("{seen:?}"))
}

fn schedule() -> Checked {
    let text = scenario("", "", "").replace(
        "\"20 Mbit/s\"",
        "{ schedule = [[\"0 s\", \"20 Mbit/s\"], [\"1.5 s\", \"4 Mbit/s\"], [\"2.5 s\", 0]] }",
    );
    let text = text.replace("{ droptail = \"1 bdp\" }", "{ droptail = \"50 packets\" }");
    let outcome = flows(&format!("probe = \"100 ms\"\n{text}"))?;
    let seen: Vec<f32> = series(&outcome)?.links[0].iter().map(|&(_, rate)| rate).collect();
    ensure(seen[8..15].iter().all(|&rate| (10e6..20.5e6).contains(&rate)), format!("{seen:?}"))?;
    ensure(seen[17..25].iter().all(|&rate| (3.0e6..4.5e6).contains(&rate)), format!("{seen:?}"))?;
    ensure(seen[27..].iter().all(|&rate| rate == 0.0), format!("{seen:?}"))
}

fn trace() -> Checked {
    // An opportunity every 4 ms: 3 Mbit/s.
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("steady.trace");
    std::fs::write(&file, "4\n8\n12\n16\n20\n")?;
    let text = scenario("", "", "")
        .replace("\"20 Mbit/s\"", &format!("{{ trace = \"{}\" }}", file.display()))
        .replace("{ droptail = \"1 bdp\" }", "{ droptail = \"20 packets\" }");
    let outcome = flows(&text)?;
    let (link, flow) = (bottleneck(&outcome), &outcome.result.flows[0]);
    adds_up(link)?;
    ensure((2e6..2.9e6).contains(&flow.goodput_bps) && link.overflows > 0, format!("{flow:?} {link:?}"))
}

/// The figures of traffic are those of the measuring window, and the series has the same.
fn drawn() -> Checked {
    let traffic = "[[traffic]]\nlabel = \"exponential\"\nkind = \"exponential\"\ncount = 5\nrate = \"1 Mbit/s\"\n\
                   on = \"50 ms\"\noff = \"50 ms\"\n\
                   [[traffic]]\nlabel = \"poisson\"\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\nstart = { uniform = [\"0 s\", \"0.1 s\"] }\n\
                   [[traffic]]\nlabel = \"late\"\nkind = \"pareto\"\nrate = \"1 Mbit/s\"\nstart = \"2 s\"\njitter = \"5 ms\"\n\
                   [[traffic]]\nlabel = \"early\"\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\nstop = \"0.9 s\"\n";
    let outcome = flows(&format!("probe = \"100 ms\"\n{}", scenario("", "stop = \"10 ms\"", traffic)))?;
    let streams: &[TrafficResult] = &outcome.result.traffic;
    let seen = &series(&outcome)?.streams;
    ensure(streams.len() == 8 && seen.len() == 8, format!("{streams:?}"))?;
    let rate = |label: &str| {
        let those = streams.iter().filter(|it| it.label.starts_with(label));
        those.map(|it| it.throughput_bps).sum::<f64>()
    };
    ensure((1.5e6..3.5e6).contains(&rate("exponential")), format!("{streams:?}"))?;
    ensure((0.8e6..1.2e6).contains(&rate("poisson")), format!("{streams:?}"))?;
    ensure(rate("late") > 0.0 && rate("early") == 0.0, format!("{streams:?}"))?;
    for (stream, seen) in streams.iter().zip(seen) {
        let (before, within): (f32, f32) = (seen[1..=10].iter().sum(), seen[11..].iter().sum());
        ensure(within > 0.0 || stream.throughput_bps == 0.0, format!("{stream:?} {seen:?}"))?;
        ensure(stream.label != "early" || before > 0.0, format!("{stream:?} {seen:?}"))?;
        // Two seconds, sampled each tenth of a second; the last sample of the run may be missing.
        let mean = f64::from(within) * 0.1 / 2.0;
        ensure(
            (mean - stream.throughput_bps).abs() < 0.15 * mean.max(1e5),
            format!("{mean} {stream:?} {seen:?}"),
        )?;
    }
    Ok(())
}

fn access() -> Checked {
    let text = scenario("", "", "").replace(
        "access = { rate = \"1 Gbit/s\", delay = \"2.5 ms\" }",
        "access = { rate = \"10 Mbit/s\", delay = \"2.5 ms\", queue = { droptail = \"8 packets\" } }",
    );
    let outcome = flows(&text)?;
    let (link, flow) = (bottleneck(&outcome), &outcome.result.flows[0]);
    ensure(flow.retransmits > 0 && link.drops == 0, format!("{flow:?} {link:?}"))?;
    ensure((4e6..10e6).contains(&flow.goodput_bps), format!("{flow:?}"))
}

fn jitter() -> Checked {
    let outcome = flows(&scenario(", jitter = \"20 ms\"", "tcp = { receive_window = 4 }", ""))?;
    let flow = &outcome.result.flows[0];
    // 20 ms without it; half of the longest jitter and more, because packets keep their order.
    ensure(flow.rtt_mean_s.is_some_and(|rtt| (0.028..0.06).contains(&rtt)), format!("{flow:?}"))
}
