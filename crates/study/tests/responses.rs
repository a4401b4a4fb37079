//! Transfers that the receiving host asks for, as with HTTP.

mod common;

use ackclock_scenario::results::{FlowResult, PointResult};
use common::{dumbbell, result};
use proptest::prelude::*;

/// 1000 B take 1 ms, an ACK of 40 B 0.04 ms, and the way there and back 20 ms.
fn short_path(bottleneck: &str, flow: &str) -> PointResult {
    let path = dumbbell(&format!("rate = \"8 Mbit/s\", delay = \"10 ms\"{bottleneck}"), flow);
    result(&format!("duration = \"20 s\"\nsegment = {{ payload = \"960 B\", header = \"40 B\" }}\n{path}"))
}

/// Three responses of ten segments with these keys: their starts and their times, ms.
fn three(keys: &str) -> Vec<(f64, f64)> {
    let flow = format!("[[flows]]\ncontrol = \"none\"\nsize = \"9600 B\"\nrepeat = 3\n{keys}\n");
    let flow = short_path("", &flow).flows.remove(0);
    assert_eq!((flow.delivered, flow.bursts.is_none()), (30, true));
    let ms = |times: &[f64]| times.iter().map(|time| (time * 1e6).round() / 1e3).collect::<Vec<_>>();
    ms(&flow.begins_s).into_iter().zip(ms(&flow.completions_s)).collect()
}

/// A handshake takes 20 ms, a request 10 ms, and ten segments 20 ms.
#[test]
fn a_persistent_connection_saves_a_round_trip_per_request() {
    assert_eq!(three("http = { persistent = false }"), [(0.0, 50.0), (50.0, 50.0), (100.0, 50.0)]);
    assert_eq!(three("http = { persistent = true }"), [(0.0, 50.0), (50.0, 30.0), (80.0, 30.0)]);
    assert_eq!(three("http = {}\npause = \"5 ms\""), [(0.0, 50.0), (55.0, 30.0), (90.0, 30.0)]);
    assert_eq!(three("http = {}\ninterval = \"40 ms\""), [(0.0, 50.0), (50.0, 30.0), (90.0, 30.0)]);
}

/// Bursts of two segments need five periods, those of three segments four, and the last one is a single
/// segment.
#[test]
fn responses_are_written_in_bursts() {
    let bursts = |size: &str| format!("http = {{}}\nbursts = {{ size = \"{size}\", every = \"5 ms\" }}");
    assert_eq!(three(&bursts("1920 B")), [(0.0, 62.0), (62.0, 42.0), (104.0, 42.0)]);
    assert_eq!(three(&bursts("2880 B")), [(0.0, 56.0), (56.0, 36.0), (92.0, 36.0)]);
    assert_eq!(three(&bursts("9600 B")), [(0.0, 50.0), (50.0, 30.0), (80.0, 30.0)]);
    // A socket for two segments takes two more when they are acknowledged: 12 ms, and 10.04 ms back.
    let small = three(&format!("{}\nsend_buffer = \"1920 B\"", bursts("9600 B")));
    assert!(small[1].1 > 10.0 + 4.0 * 21.0, "{small:?}");
}

/// The window goes on with its connection.
#[test]
fn a_persistent_connection_keeps_its_window() {
    let of = |persistent| {
        let flow = format!(
            "[[flows]]\ncontrol = \"reno\"\nsize = \"38400 B\"\nrepeat = 4\nhttp = {{ persistent = {persistent} }}\n"
        );
        short_path("", &flow).flows.remove(0)
    };
    let (one, each) = (of(true), of(false));
    assert!((one.completions_s[0] - each.completions_s[0]).abs() < 1e-9);
    let gain = each.completions_s[3] - one.completions_s[3];
    // The handshake's 20 ms, and the 11 ms from the last of ten segments to the first acknowledgement.
    assert!(gain > 0.030, "{gain}");
}

fn check(flow: &FlowResult, responses: usize, segments: u64) -> Result<(), TestCaseError> {
    prop_assert_eq!((flow.completions_s.len(), flow.delivered), (responses, responses as u64 * segments));
    for (number, begin) in flow.begins_s.iter().enumerate().skip(1) {
        let before = flow.begins_s[number - 1] + flow.completions_s[number - 1];
        prop_assert!(
            (begin - before).abs() < 1e-9,
            "response {} begins at {} and not at {}",
            number,
            begin,
            before
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, every response is complete before the next one is asked for.
    #[test]
    fn every_response_arrives(
        segments in 1u64..40,
        responses in 1usize..6,
        loss in 0.0f64..0.1,
        persistent: bool,
        burst in prop::option::of(1u64..10),
        delayed: bool,
        control in prop::sample::select(vec!["reno", "none", "cubic"]),
        seed in 0u64..1000,
    ) {
        let bursts = burst.map_or(String::new(), |size| {
            format!("bursts = {{ size = \"{} B\", every = \"3 ms\" }}\n", size * 960 + 100)
        });
        let delayed = if delayed { "delayed_ack = \"40 ms\"" } else { "" };
        let keys = format!(
            "[[flows]]\ncontrol = \"{control}\"\nsize = \"{} B\"\nrepeat = {responses}\n{bursts}\
             http = {{ persistent = {persistent} }}\ntcp = {{ {delayed} }}\n",
            segments * 960,
        );
        let path = dumbbell(&format!("rate = \"8 Mbit/s\", delay = \"10 ms\", loss = {loss}"), &keys);
        let head = format!("seed = {seed}\nduration = \"300 s\"\nsegment = {{ payload = \"960 B\", header = \"40 B\" }}\n");
        check(&result(&format!("{head}{path}")).flows[0], responses, segments)?;
    }
}
