//! Applications that write bursts into a socket's buffer.

mod common;

use ackclock_registry::Listed;
use ackclock_scenario::results::{BurstResult, PointResult};
use ackclock_tcp::recovery;
use common::{dumbbell, result};
use proptest::prelude::*;

fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

fn bursts(result: &PointResult) -> &BurstResult {
    result.flows[0].bursts.as_ref().expect("it writes bursts")
}

/// A path of 67 ms and 622 Mbit/s, and a flow of these keys.
fn long_path(head: &str, flow: &str) -> PointResult {
    let path = "rate = \"622 Mbit/s\", delay = \"33.5 ms\", queue = { droptail = \"1 bdp\" }";
    let flow = format!("access = {{ rate = \"1 Gbit/s\" }}\n[[flows]]\n{flow}\n");
    result(&format!(
        "{head}\nsegment = {{ payload = \"1448 B\", header = \"52 B\" }}\n{}",
        dumbbell(path, &flow)
    ))
}

/// A burst of ten segments into a buffer of four: the first four are written at once, and one more with each
/// acknowledgement.
#[test]
fn a_full_buffer_makes_the_application_wait() {
    // 1000 B take 1 ms, an ACK of 40 B 0.04 ms, and the way there and back 20 ms.
    let path = dumbbell(
        "rate = \"8 Mbit/s\", delay = \"10 ms\"",
        "[[flows]]\ncontrol = \"none\"\nbursts = { size = \"9600 B\", every = \"100 ms\", for = \"100 ms\" }\nsend_buffer = \"3840 B\"\n",
    );
    let result = result(&format!(
        "duration = \"1 s\"\nsegment = {{ payload = \"960 B\", header = \"40 B\" }}\n{path}"
    ));
    let seen = bursts(&result);
    // Four segments leave at 0, four with their acknowledgements from 21.04 ms on, two with those: the last
    // two are written with the acknowledgements of the fifth and sixth.
    let last_write = 2.0 * 21.04e-3 + 1e-3;
    assert_eq!((seen.due, seen.written, seen.failed_cycles), (2, 2, 0));
    assert!((seen.ends_s[0] - last_write).abs() < 1e-9, "{seen:?}");
    assert!((seen.ends_s[1] - 0.1 - last_write).abs() < 1e-9, "{seen:?}");
    assert_eq!((seen.written_bytes, seen.received_bytes), (19_200, 19_200));
    // The first segment arrives at 11 ms; the tenth of the second burst leaves with its last write.
    assert!((seen.receiving_s - (0.1 + last_write)).abs() < 1e-9, "{seen:?}");
    assert_eq!(seen.transmitted_bps, Some(19_200.0 * 8.0 / (0.1 + last_write)));
}

/// The trace of Sundaresan's appendix A: 2 s of 128 kB every 5 ms are 401 bursts, 51,328,000 B.
#[test]
fn two_seconds_of_bursts_are_one_more_than_their_periods() {
    let flow = "control = \"none\"\nbursts = { size = \"128 kB\", every = \"5 ms\", for = \"2 s\" }\nsend_buffer = \"1048576 B\"";
    let seen = long_path("duration = \"6 s\"\ntcp = { receive_window = 724 }", flow);
    let seen = bursts(&seen);
    assert_eq!((seen.due, seen.written_bytes, seen.received_bytes), (401, 51_328_000, 51_328_000));
    assert!(seen.failed_cycles > 0, "the window lets 125 of 204.8 Mbit/s through: {}", seen.failed_cycles);
    assert_eq!(seen.ends_s.len(), 401);
}

/// What a queued burst has lost it makes up for.
#[test]
fn queued_bursts_wait_for_no_period() {
    let run = |queued| {
        let flow = format!(
            "control = \"none\"\nbursts = {{ size = \"128 kB\", every = \"5 ms\", for = \"1 s\", queued = {queued} }}\nsend_buffer = \"1048576 B\""
        );
        bursts(&long_path("duration = \"6 s\"\ntcp = { receive_window = 724 }", &flow)).writing_s
    };
    assert!(run(true) < run(false), "{} {}", run(true), run(false));
}

/// Without bursts a buffer is a window of the sender's own.
#[test]
fn a_buffer_bounds_what_is_in_flight() {
    let head = "duration = \"4 s\"\nmeasure = [\"2 s\", \"4 s\"]\nprobe = \"3 ms\"";
    let seen = long_path(head, "control = \"none\"\nsend_buffer = \"144800 B\"");
    let expected = 100.0 * 1448.0 * 8.0 / 0.067;
    let goodput = seen.flows[0].goodput_bps;
    // A whole round trip's segments come at once, at either end of the measuring window: one in thirty, more
    // or less.
    assert!((goodput / expected - 1.0).abs() < 1.0 / 29.0, "{goodput}");
    let looks = &seen.series.as_ref().expect("looks").flows[0];
    assert!(looks.iter().all(|look| look.in_flight <= 100.0));
    assert!(seen.flows[0].bursts.is_none());
}

/// Transfers of a size through a buffer are as large as without, and each begins with an empty one.
#[test]
fn transfers_pass_a_buffer() {
    let flow = "control = \"reno\"\nsize = \"1 MB\"\nrepeat = 3\npause = \"10 ms\"\nsend_buffer = \"64 kB\"";
    let seen = long_path("duration = \"30 s\"", flow);
    let flow = &seen.flows[0];
    assert_eq!((flow.completions_s.len(), flow.delivered), (3, 3 * 1_000_000_u64.div_ceil(1448)));
    // 44 segments per round trip: 16 of them at least.
    assert!(flow.completions_s.iter().all(|took| (1.0..1.5).contains(took)), "{:?}", flow.completions_s);
}

proptest! {
    #![proptest_config(config(24))]

    /// Whatever is lost, all that is written arrives, and nothing else.
    #[test]
    fn what_is_written_arrives(
        seed in any::<u32>(),
        control in prop::sample::select(ackclock_cc::schemes().iter().map(|it| it.name).collect::<Vec<_>>()),
        recovery in prop::sample::select(recovery::Scheme::names()),
        loss in 0.0_f64..0.1,
        packets in 2_u32..40,
        size in 1_000_u64..60_000,
        every in 1_u64..300,
        count in 0_u64..20,
        buffer in 1_000_u64..100_000,
        switches in (any::<bool>(), any::<bool>()),
    ) {
        let (queued, delayed) = switches;
        let text = format!(
            "seed = {seed}\nduration = \"3000 s\"\ntcp = {{ delayed_ack = {delayed} }}\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"5 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"{packets} packets\" }}, loss = {loss:?} }}\n\
             [[flows]]\ncontrol = \"{control}\"\nrecovery = \"{recovery}\"\nsend_buffer = \"{buffer} B\"\n\
             bursts = {{ size = \"{size} B\", every = \"{every} ms\", for = \"{} ms\", queued = {queued} }}\n",
            every * count
        );
        let result = result(&text);
        let seen = bursts(&result);
        prop_assert_eq!((seen.due, seen.written), (count + 1, count + 1), "{}", &text);
        prop_assert_eq!((seen.written_bytes, seen.received_bytes), ((count + 1) * size, (count + 1) * size));
        prop_assert_eq!(result.flows[0].completions_s.len(), 1);
        prop_assert!(seen.ends_s.is_sorted(), "{:?}", seen.ends_s);
        let on_time = (every * count) as f64 * 1e-3;
        prop_assert!(seen.writing_s >= on_time - 1e-9, "{} < {on_time}\n{}", seen.writing_s, &text);
        if seen.failed_cycles == 0 {
            // Each burst was written before the next was due.
            prop_assert!(seen.writing_s <= on_time + every as f64 * 1e-3 + 1e-9, "{}\n{}", seen.writing_s, &text);
        }
    }

    /// No cycle fails without control on an empty path, if the socket holds what a round trip and one burst
    /// bring.
    #[test]
    fn nothing_fails_where_nothing_is_in_the_way(
        size in 2_000_u64..100_000, every in 5_u64..50, span in 0_u64..500, rtt in 1_u64..100
    ) {
        // At most 160 Mbit/s are offered.
        let in_a_round_trip = size * (rtt + 10).div_ceil(every);
        let text = format!(
            "duration = \"10 s\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"1 Gbit/s\", delay = \"{}00 us\" }}\n\
             [[flows]]\ncontrol = \"none\"\nsend_buffer = \"{} B\"\n\
             bursts = {{ size = \"{size} B\", every = \"{every} ms\", for = \"{span} ms\" }}\n",
            5 * rtt,
            in_a_round_trip + 2 * size
        );
        let result = result(&text);
        let seen = bursts(&result);
        prop_assert_eq!(seen.failed_cycles, 0, "{:?}\n{}", seen, &text);
        prop_assert_eq!(seen.received_bytes, seen.written_bytes);
        prop_assert!(seen.ends_s.iter().enumerate().all(|(burst, &end)| (end - burst as f64 * every as f64 * 1e-3).abs() < 1e-9));
    }
}
