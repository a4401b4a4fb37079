//! Flows with rate-based transports: sessions over UDP between hosts, over the same paths.

use super::{Checked, Named, ensure, error, flows, run, scenario};
use ackclock_live::{LiveError, Load};
use ackclock_scenario::results::{FlowResult, LabelCount, RateResult};
use libtest_mimic::Failed;
use std::time::Instant;

pub(super) const TESTS: &[Named] = &[
    ("rate_based_flows_use_their_path", fills),
    ("what_rate_based_flows_lose_is_the_links", losses),
    ("losses_have_labels_and_causes", labels),
    ("rate_based_transfers_of_a_size_are_timed", transfers),
    ("a_rate_based_flow_stops_and_lets_others_be", stops),
    ("a_rate_based_flow_shares_with_tcp_both_ways", shares),
    ("a_rate_based_flow_over_a_path_that_loses_everything_ends_with_its_run", nothing_arrives),
    ("a_sender_that_does_harm_gives_up", gives_up),
    ("what_no_session_can_do_is_refused", refused),
];

/// A scenario of this control, with packets that sessions can have.
fn paced(bottleneck: &str, control: &str, flow: &str, rest: &str) -> String {
    scenario(bottleneck, flow, rest)
        .replace("control = \"reno\"", &format!("control = {control}"))
        .replace("payload = \"1448 B\", header = \"52 B\"", "payload = \"1000 B\", header = \"40 B\"")
}

fn rate(flow: &FlowResult) -> Result<&RateResult, Failed> {
    flow.rate.as_ref().ok_or_else(|| format!("{flow:?}").into())
}

/// GCC begins slowly, so it is told to begin with half of the link.
fn fills() -> Checked {
    for control in ["\"xrtp\"", "\"tfrc\"", "{ gcc = { start = 1e7 } }"] {
        let outcome = flows(&format!("probe = \"100 ms\"\n{}", paced("", control, "", "")))?;
        let flow = &outcome.result.flows[0];
        // Most of the link, though a busy machine's delays are answered as the path's.
        ensure((5e6..19.3e6).contains(&flow.goodput_bps), format!("{control}: {flow:?}"))?;
        ensure(flow.segment_bytes == 1040 && (900..1000).contains(&flow.payload_bytes), format!("{flow:?}"))?;
        ensure(flow.recovery == "own" && flow.cwnd_mean > 5.0 && flow.sent > 1000, format!("{flow:?}"))?;
        ensure(flow.rtt_min_s.is_some_and(|rtt| (0.02..0.1).contains(&rtt)), format!("{flow:?}"))?;
        ensure((1e6..1e9).contains(&rate(flow)?.rate_bps), format!("{flow:?}"))?;
        let series = outcome.result.series.as_ref().ok_or("there is a series")?;
        let (names, values) = &series.inner[0];
        ensure(names == &["rate_bps", "srtt_s", "asked_bps"], format!("{names:?}"))?;
        ensure(values.len() == 3 * series.at.len(), format!("{} for {}", values.len(), series.at.len()))?;
        ensure(values[3 * 20] > 1e6 && values[3 * 20 + 1] > 0.015, format!("{values:?}"))?;
        ensure(outcome.emulation.gave_up.is_empty(), format!("{:?}", outcome.emulation))?;
    }
    Ok(())
}

/// TFRC has the rate of its equation, and tells the loss event rate.
fn losses() -> Checked {
    let text = paced(", loss = 0.02, loss_at = \"after\"", "\"tfrc\"", "", "");
    let text = text.replace("\"3 s\"", "\"6 s\"");
    let outcome = flows(&text)?;
    let (flow, link) = (&outcome.result.flows[0], &outcome.result.links[0]);
    ensure(link.random_losses > 5 && link.drops == link.random_losses, format!("{link:?}"))?;
    let seen = rate(flow)?;
    // The counts are of the whole run, and the link's of five sixths of it.
    let (most, least) = (3 * link.random_losses + 20, link.random_losses / 2);
    ensure((least..most).contains(&seen.lost) && flow.retransmits > 5, format!("{flow:?} {link:?}"))?;
    let p = seen.loss_event_rate.ok_or_else(|| format!("{flow:?}"))?;
    ensure((0.004..0.06).contains(&p), format!("{flow:?}"))?;
    // 1.4 Mbit/s by the equation at p = 0.02 and 20 ms with t_RTO = 4R.
    ensure((0.5e6..8e6).contains(&flow.goodput_bps), format!("{flow:?}"))
}

/// The path tells why packets are lost, so causes are known, and a perfect discriminator is right.
fn labels() -> Checked {
    for (control, perfect) in [("\"xrtp\"", false), ("{ xrtp = { loss = \"perfect\" } }", true)] {
        // Traffic that overflows the queue, and errors behind the transmitter.
        let traffic = "[[traffic]]\nkind = \"cbr\"\nrate = \"30 Mbit/s\"\non = \"50 ms\"\noff = \"250 ms\"\n";
        let outcome = flows(&paced(", loss = 0.02, loss_at = \"after\"", control, "", traffic))?;
        let flow = &outcome.result.flows[0];
        let seen = rate(flow)?;
        let sum = |of: fn(&LabelCount) -> bool| -> u64 {
            seen.labels.iter().filter(|label| of(label)).map(|label| label.count).sum()
        };
        let (all, known) = (sum(|_| true), sum(|label| label.cause != "unknown"));
        ensure(all > 20 && all <= seen.lost + 20 && known == all, format!("{control}: {flow:?}"))?;
        let (congestion, transmission) =
            (sum(|label| label.cause == "congestion"), sum(|label| label.cause == "transmission"));
        ensure(congestion > 5 && transmission > 5, format!("{control}: {seen:?}"))?;
        let right = sum(|label| label.cause == label.label);
        ensure((right == all) == perfect, format!("{control}: {seen:?}"))?;
    }
    Ok(())
}

fn transfers() -> Checked {
    let keys = "size = \"200 kB\"\nrepeat = 3\npause = \"100 ms\"";
    let outcome = flows(&paced("", "{ gcc = { start = 1e7 } }", keys, ""))?;
    let flow = outcome.result.flows[0].clone();
    let transfers = flow.transfers.ok_or("transfers have a size")?;
    ensure((transfers.started, transfers.unfinished) == (3, 0), format!("{transfers:?}"))?;
    ensure(flow.sizes_bytes == [200_000; 3], format!("{:?}", flow.sizes_bytes))?;
    // 80 ms at the link's rate, and a round trip before the first data leave.
    ensure(
        flow.completions_s.iter().all(|took| (0.1..1.0).contains(took)),
        format!("{:?}", flow.completions_s),
    )?;
    ensure(
        flow.slowdowns.iter().all(|slowdown| (1.0..10.0).contains(slowdown)),
        format!("{:?}", flow.slowdowns),
    )
}

fn stops() -> Checked {
    let other = "[[flows]]\nlabel = \"late\"\ncontrol = { gcc = { start = 5e6 } }\nstart = \"1.5 s\"\n";
    let text = paced("", "{ gcc = { start = 5e6 } }", "stop = \"1.2 s\"", other);
    let outcome = flows(&format!("probe = \"100 ms\"\n{text}"))?;
    let series = outcome.result.series.as_ref().ok_or("there is a series")?;
    let delivered = |flow: usize, looks: std::ops::Range<usize>| -> f32 {
        series.flows[flow][looks].iter().map(|sample| sample.delivered).sum()
    };
    let said = format!("{:?}", series.flows);
    ensure(delivered(0, 3..12) > 100.0 && delivered(0, 16..28) == 0.0, &*said)?;
    ensure(delivered(1, 0..15) == 0.0 && delivered(1, 18..28) > 100.0, &*said)
}

fn shares() -> Checked {
    let other = "[[flows]]\nlabel = \"tcp\"\ncontrol = \"cubic\"\n\
                 [[flows]]\nlabel = \"back\"\ncontrol = \"tfrc\"\nreverse = true\n";
    let outcome = flows(&paced("", "\"tfrc\"", "", other))?;
    let goodputs: Vec<f64> = outcome.result.flows.iter().map(|flow| flow.goodput_bps).collect();
    ensure(goodputs.iter().all(|&goodput| goodput > 0.3e6), format!("{goodputs:?}"))?;
    let recoveries: Vec<&str> = outcome.result.flows.iter().map(|flow| &*flow.recovery).collect();
    ensure(recoveries == ["own", "kernel", "own"], format!("{recoveries:?}"))?;
    ensure(outcome.emulation.kernel_controls == ["tfrc", "cubic", "tfrc"], format!("{:?}", outcome.emulation))
}

fn nothing_arrives() -> Checked {
    let begun = Instant::now();
    let outcome = flows(&paced(", loss = 1", "\"xrtp\"", "size = \"100 kB\"", ""))?;
    let flow = &outcome.result.flows[0];
    ensure(flow.goodput_bps == 0.0 && flow.delivered == 0, format!("{flow:?}"))?;
    ensure(begun.elapsed().as_secs_f64() < 6.0, format!("{:?}", begun.elapsed()))
}

/// GCC with a least rate goes on at it, though every second packet is lost, not only on the average.
fn gives_up() -> Checked {
    let text = paced(", loss = { every = 2 }", "{ gcc = { start = 1e7, least_rate = 5e6 } }", "", "");
    // A short round trip, so that its rounds are soon over.
    let text = text
        .replace("delay = \"5 ms\"", "delay = \"500 us\"")
        .replace("delay = \"2.5 ms\"", "delay = \"0 ms\"");
    let outcome = flows(&text.replace("\"3 s\"", "\"25 s\""))?;
    let own = &outcome.emulation;
    ensure(
        own.gave_up.len() == 1 && own.gave_up[0].starts_with("sender: congestion took"),
        format!("{own:?}"),
    )
}

fn refused() -> Checked {
    for payload in ["9000 B", "100 B"] {
        let text =
            paced("", "\"gcc\"", "", "").replace("payload = \"1000 B\"", &format!("payload = \"{payload}\""));
        let said = error(&text, Load::Flows)?;
        ensure(matches!(said, LiveError::Packets { least: 200, most: 1500, .. }), said.to_string())?;
    }
    // Its hosts may be used by programs all the same.
    let program = ackclock_live::Program { words: vec!["true".to_owned()], quiet: true };
    let outcome = run(&paced("", "\"gcc\"", "", ""), Load::Programs { serve: None, command: program })?;
    ensure(outcome.exit == Some(0), format!("{:?}", outcome.exit))
}
