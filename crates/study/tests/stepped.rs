//! Queues that decide when the transmitter is free, with TCP flows over them.

mod common;

use ackclock_scenario::Sweep;
use ackclock_scenario::results::{Percentiles, PointResult};
use common::{built, dumbbell, result, run_all, watched};
use std::path::Path;

/// Eight flows of these controllers and of 1000-byte segments on 20 Mbit/s: a packet takes 0.4 ms.
fn bulk(queue: &str, control: &str, tcp: &str) -> PointResult {
    let text = format!(
        "duration = \"60 s\"\nmeasure = [\"20 s\", \"60 s\"]\nsegment = {{ payload = \"960 B\", header = \"40 B\" }}\ntcp = {{ {tcp} }}\n"
    ) + &dumbbell(
        &format!("rate = \"20 Mbit/s\", delay = \"5 ms\", queue = {queue}"),
        &format!(
            "[[flows]]\ncontrol = \"{control}\"\ncount = 8\nrtt = \"60 ms\"\nstart = {{ uniform = [\"0 s\", \"5 s\"] }}\n"
        ),
    );
    result(&text)
}

/// Mean time that packets waited, ms, by Little's law.
fn delay_ms(result: &PointResult) -> f64 {
    let link = &result.links[0];
    link.queue_mean * 0.4 / link.utilisation
}

#[test]
fn codel_keeps_the_delay_near_its_target_and_the_link_busy() {
    for control in ["reno", "cubic"] {
        for (tcp, mark) in [("ecn = false", false), ("ecn = true", true)] {
            let queue = format!("{{ codel = {{ limit = \"1000 packets\", mark = {mark} }} }}");
            let result = bulk(&queue, control, tcp);
            let (delay, link) = (delay_ms(&result), &result.links[0]);
            assert!((2.0..12.0).contains(&delay), "{control}, {tcp}: {delay} ms");
            assert!(link.utilisation > 0.95, "{control}, {tcp}: {}", link.utilisation);
            assert_eq!((link.drops == 0, link.marks > 0), (mark, mark), "{control}, {tcp}");
        }
    }
    let tail = bulk("{ droptail = \"1000 packets\" }", "reno", "ecn = false");
    assert!(delay_ms(&tail) > 100.0, "{}", delay_ms(&tail));
}

#[test]
fn dualpi2_keeps_classic_flows_near_its_target() {
    for (control, tcp) in [("reno", "ecn = false"), ("cubic", "ecn = true")] {
        let result = bulk("\"dualpi2\"", control, tcp);
        let (delay, link) = (delay_ms(&result), &result.links[0]);
        assert!((10.0..25.0).contains(&delay), "{control}: {delay} ms");
        assert!(link.utilisation > 0.97, "{control}: {}", link.utilisation);
        assert!(result.jain.is_some_and(|jain| jain > 0.9));
    }
}

/// Flows whose segments say ECT(1) wait in the L queue, whose own threshold is 0.8 to 1.2 ms: they answer its
/// marks as they would those of any other queue here, which is more than they need to.
#[test]
fn dualpi2_keeps_flows_that_say_ect1_in_its_shallow_queue() {
    let result = bulk("\"dualpi2\"", "reno", "ecn = \"l4s\"");
    let (delay, link) = (delay_ms(&result), &result.links[0]);
    assert!(delay < 2.0, "{delay} ms");
    assert!(link.utilisation > 0.8, "{}", link.utilisation);
    assert!(link.marks > 100 && link.drops < link.marks / 20, "{} and {}", link.marks, link.drops);
}

/// A hundred packets per second beside flows that would take all: what they wait for and what they lose. RFC
/// 9332's purpose: DCTCP and a classic flow on one link, one without delay, the other with all its own,
/// neither starved.
#[test]
fn dualpi2_lets_dctcp_live_beside_a_classic_flow_without_its_delay() {
    let text = "duration = \"20 s\"\nmeasure = [\"5 s\", \"20 s\"]\n".to_owned()
        + &dumbbell(
            "rate = \"50 Mbit/s\", delay = \"10 ms\", queue = \"dualpi2\"",
            "[[flows]]\nlabel = \"l4s\"\ncontrol = \"dctcp\"\ntcp = { ecn = \"l4s\" }\n\
             [[flows]]\nlabel = \"classic\"\ncontrol = \"cubic\"\ntcp = { ecn = true }\n",
        );
    let result = result(&text);
    let queueing = |flow: usize| {
        let flow = &result.flows[flow];
        1e3 * (flow.rtt_mean_s.unwrap_or(f64::NAN) - flow.rtt_min_s.unwrap_or(f64::NAN))
    };
    assert!(queueing(0) < 2.0 && queueing(1) > 5.0, "{} and {} ms", queueing(0), queueing(1));
    assert_eq!(result.links[0].drops, 0);
    let least = result.flows.iter().map(|flow| flow.goodput_bps).fold(f64::INFINITY, f64::min);
    assert!(least > 0.2 * 50e6 && result.links[0].utilisation > 0.97, "{least}");
}

#[test]
fn fq_codel_isolates_a_sparse_flow() {
    let sparse = |queue: &str| {
        let text = "duration = \"30 s\"\nmeasure = [\"10 s\", \"30 s\"]\n".to_owned()
            + &dumbbell(
                &format!("rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {queue}"),
                "[[flows]]\nlabel = \"bulk\"\ncontrol = \"cubic\"\ncount = 4\n\
                 [[flows]]\nlabel = \"sparse\"\ncontrol = \"reno\"\nsize = \"1 kB\"\nrepeat = 100000\npause = \"10 ms\"\nstart = \"5 s\"\n",
            );
        let result = result(&text);
        let flow = result.flows.iter().find(|flow| flow.label == "sparse").expect("it is there").clone();
        let mean = flow.completions_s.iter().sum::<f64>() / flow.completions_s.len() as f64;
        (mean * 1e3, flow.retransmits, result.links[0].utilisation)
    };
    let (alone, ..) = sparse("\"unlimited\"");
    let (tail, ..) = sparse("{ droptail = \"100 packets\" }");
    let (fair, again, utilisation) = sparse("\"fq_codel\"");
    // 20 ms there and back, 0.8 ms and less to transmit; the packet of another flow in front takes 1.2 ms.
    assert!(
        fair < 23.5,
        "{fair} ms beside {tail} ms with DropTail, {alone} ms where all wait for each other"
    );
    assert!(tail > 60.0, "{tail} ms");
    assert_eq!(again, 0);
    assert!(utilisation > 0.95, "{utilisation}");
}

/// What the book says of `scenarios/rrul.toml`: the median time of a ping while both directions are full, ms.
#[test]
fn a_ping_under_load_waits_for_what_the_queue_lets_others_put_before_it() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/rrul.toml");
    let text = std::fs::read_to_string(&file).expect("the scenario is there");
    let median_ms = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let sweep = Sweep::read("rrul.toml", &text, &settings).unwrap_or_else(|error| panic!("{error}"));
        let [result] = &run_all(&sweep.points, None)[..] else { panic!("one point") };
        let ping = result.flows.iter().find(|flow| flow.label == "ping").expect("it is there");
        let times = ping.begins_s.iter().zip(&ping.completions_s);
        let loaded = times.filter(|(begin, _)| (10.0..55.0).contains(*begin)).map(|(_, took)| took * 1e3);
        Percentiles::of(loaded).expect("some pings came back").p50
    };
    let queue = "topology.dumbbell.bottleneck.queue";
    let tail = median_ms(&[]);
    let codel = median_ms(&[&format!("{queue}={{codel={{limit=\"1000 packets\"}}}}")]);
    let fair = median_ms(&[&format!("{queue}=fq_codel")]);
    let dual = median_ms(&[&format!("{queue}=dualpi2")]);
    let prague = ["flows.0.control=prague", "flows.1.control=prague", "flows.2.tcp.ecn=l4s"];
    let l4s = median_ms(&[&[format!("{queue}=dualpi2").as_str()], &prague[..]].concat());
    println!("{tail} {codel} {fair} {dual} {l4s}");
    assert!(tail > 100.0 && codel < 0.8 * tail, "{tail} and {codel} ms");
    assert!((35.0..65.0).contains(&dual), "twice its 15 ms over 20 ms: {dual} ms");
    assert!(fair < 22.5 && l4s < 25.0, "{fair} and {l4s} ms over 20 ms");
}

#[test]
fn fq_codel_shares_evenly_whatever_the_round_trip_times() {
    let text = "duration = \"60 s\"\nmeasure = [\"20 s\", \"60 s\"]\n".to_owned()
        + &dumbbell(
            "rate = \"20 Mbit/s\", delay = \"5 ms\", queue = \"fq_codel\"",
            "[[flows]]\ncontrol = \"reno\"\nrtt = \"20 ms\"\n[[flows]]\ncontrol = \"cubic\"\nrtt = \"80 ms\"\n\
             [[traffic]]\nkind = \"cbr\"\nrate = \"15 Mbit/s\"\n",
        );
    let result = result(&text);
    // Who always has a packet waiting gets a third; the others get what their windows fill of theirs.
    let (near, far, flood) =
        (result.flows[0].throughput_bps, result.flows[1].throughput_bps, result.traffic[0].throughput_bps);
    assert!(flood > 6.6e6 && near > 5e6 && far > 5e6, "{near}, {far} and {flood}");
}

/// Where the first link of a path decides late, and where acknowledgements share a queue with data.
#[test]
fn acknowledgements_and_first_links_wait_too() {
    let text = "duration = \"20 s\"\ntcp = { ecn = true }\n[topology.graph]\nlinks = [\
         { from = \"a\", to = \"b\", rate = \"5 Mbit/s\", delay = \"5 ms\", queue = \"fq_codel\" },\
         { from = \"b\", to = \"c\", rate = \"4 Mbit/s\", delay = \"5 ms\", queue = { codel = { limit = \"50 packets\" } }, reorder = { share = 0.1, delay = \"3 ms\" }, loss = 0.001, duplicate = 0.01 },\
         ]\n[[flows]]\nlabel = \"there\"\ncontrol = \"reno\"\nfrom = \"a\"\nto = \"c\"\n\
         [[flows]]\nlabel = \"back\"\ncontrol = \"cubic\"\nfrom = \"c\"\nto = \"a\"\n";
    let built = built(text);
    let (measured, watch) = watched(&built);
    common::audit(&built, &measured, &watch).unwrap_or_else(|wrong| panic!("{wrong}"));
    let goodput = |flow: usize| measured.flows[flow].delivered as f64 * 1460.0 * 8.0 / 20.0;
    assert!(goodput(0) > 1e6 && goodput(1) > 2e6, "{} and {}", goodput(0), goodput(1));
}
