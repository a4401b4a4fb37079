//! Random small scenarios.

use ackclock_net::disciplines;
use ackclock_rate::Transport;
use ackclock_registry::Listed;
use ackclock_tcp::recovery;
use proptest::prelude::*;

pub fn controls() -> impl Strategy<Value = &'static str> {
    prop::sample::select(names())
}

pub fn names() -> Vec<&'static str> {
    ackclock_cc::schemes().iter().map(|scheme| scheme.name).collect()
}

pub fn recoveries() -> impl Strategy<Value = &'static str> {
    prop::sample::select(recovery::Scheme::names())
}

pub fn queue() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0_u32..60).prop_map(|packets| format!("{{ droptail = \"{packets} packets\" }}")),
        2 => (0_u32..60).prop_map(|kilobytes| format!("{{ droptail = \"{kilobytes} kB\" }}")),
        2 => (0.01_f64..3.0).prop_map(|times| format!("{{ droptail = \"{times} bdp\" }}")),
        2 => (5_u32..50, any::<bool>(), any::<bool>()).prop_map(|(packets, mark, adaptive)| format!(
            "{{ red = {{ limit = \"{} packets\", min = \"{packets} packets\", max = \"{} packets\", mark = {mark}, adaptive = {adaptive} }} }}",
            4 * packets,
            2 * packets
        )),
        3 => stepped(),
        // Every discipline, as its entry in the registry writes it.
        4 => prop::sample::select(disciplines()).prop_map(|discipline| discipline.example.to_owned()),
    ]
}

/// Queues that decide when the transmitter is free.
pub fn stepped() -> impl Strategy<Value = String> {
    let times = (1_u32..20, 5_u32..150);
    prop_oneof![
        (0_u32..60, times.clone(), any::<bool>()).prop_map(|(packets, (target, interval), mark)| format!(
            "{{ codel = {{ limit = \"{packets} packets\", target = \"{target} ms\", interval = \"{interval} ms\", mark = {mark} }} }}"
        )),
        (1_u32..60, 1_u32..8, 1_u32..3000, times.clone()).prop_map(|(packets, queues, quantum, (target, interval))| format!(
            "{{ fq_codel = {{ limit = \"{packets} packets\", queues = {queues}, quantum = \"{quantum} B\", target = \"{target} ms\", interval = \"{interval} ms\" }} }}"
        )),
        (1_u32..60, times).prop_map(|(kilobytes, (target, rtt))| format!(
            "{{ dualpi2 = {{ limit = \"{kilobytes} kB\", target = \"{target} ms\", rtt_max = \"{rtt} ms\" }} }}"
        )),
    ]
}

pub fn delay() -> impl Strategy<Value = String> {
    let time = || (1_u32..50).prop_map(|ms| format!("\"{ms} ms\""));
    prop_oneof![
        time(),
        time().prop_map(|mean| format!("{{ exponential = {mean} }}")),
        (time(), time()).prop_map(|(mean, deviation)| format!("{{ normal = [{mean}, {deviation}] }}")),
        (1_u32..50).prop_map(|ms| format!("{{ uniform = [\"0 ms\", \"{ms} ms\"] }}")),
        time().prop_map(|mean| format!("{{ pareto = {{ mean = {mean}, shape = 1.2 }} }}")),
    ]
}

/// What goes wrong on a link; every second one is plain.
pub fn impairments() -> impl Strategy<Value = String> {
    let loss = prop_oneof![
        Just("0".to_owned()),
        (1e-4_f64..0.05).prop_map(|loss| format!("{loss:?}")),
        (1e-4_f64..0.05, 0.1_f64..1.0)
            .prop_map(|(bad, good)| format!("{{ gilbert = {{ to_bad = {bad:?}, to_good = {good:?} }} }}")),
        (10_u32..1000, 1_u32..50).prop_map(|(free, error)| format!(
            "{{ exponential = {{ free = \"{free} ms\", error = \"{error} ms\" }} }}"
        )),
    ];
    let repair = prop::sample::select(&[
        "",
        ", retransmission = { after = \"1 ms\" }",
        ", retransmission = { after = \"30 ms\", attempts = 2 }",
        ", retransmission = { after = \"3 ms\", corruptible = false }",
        ", correction = { share = 0.5, overhead = 0.2 }",
        ", retransmission = { after = \"7 ms\" }, correction = { share = 0.5 }",
    ]);
    let outages =
        prop::sample::select(&["", ", outages = [[\"300 ms\", \"200 ms\"], [\"1.4 s\", \"1 ms\"]]"]);
    let place = prop::sample::select(&["", ", loss_at = \"after\""]);
    let errors = (loss, outages, place, repair)
        .prop_map(|(loss, outages, place, repair)| format!(", loss = {loss}{outages}{place}{repair}"));
    let reorder = (0.0_f64..1.0, delay())
        .prop_map(|(share, delay)| format!(", reorder = {{ share = {share:?}, delay = {delay} }}"));
    let alternate = prop::sample::select(&["", ", share = 0.3"])
        .prop_map(|share| format!(", alternate = {{ delay = \"50 ms\"{share} }}"));
    let jitter =
        prop::sample::select(&["", ", jitter = \"300 us\"", ", jitter = \"20 ms\""]).prop_map(str::to_owned);
    let duplicate = (0.0_f64..0.3).prop_map(|share| format!(", duplicate = {share:?}"));
    let maybe = |keys: BoxedStrategy<String>| prop_oneof![2 => Just(String::new()), 1 => keys];
    prop_oneof![
        Just(String::new()),
        (
            maybe(errors.boxed()),
            jitter,
            maybe(reorder.boxed()),
            maybe(alternate.boxed()),
            maybe(duplicate.boxed())
        )
            .prop_map(|(errors, jitter, reorder, alternate, duplicate)| {
                errors + &jitter + &reorder + &alternate + &duplicate
            }),
    ]
}

/// A rate, constant or not.
pub fn rate() -> impl Strategy<Value = String> {
    let step = (1_u32..800, prop_oneof![1 => Just(0_u32), 4 => 200_u32..20_000]);
    let schedule = (200_u32..20_000, prop::collection::vec(step, 0..4), any::<bool>());
    prop_oneof![
        3 => (200_u32..20_000).prop_map(|kilobits| format!("\"{kilobits} kbit/s\"")),
        1 => schedule.prop_map(|(first, steps, repeats)| {
            let (mut at, mut rates) = (0, format!("[\"0 s\", \"{first} kbit/s\"]"));
            for (span, kilobits) in steps {
                at += span;
                rates += &format!(", [\"{at} ms\", \"{kilobits} kbit/s\"]");
            }
            let repeat = if repeats { format!(", repeat = \"{} ms\"", at + 300) } else { String::new() };
            format!("{{ schedule = [{rates}]{repeat} }}")
        }),
    ]
}

/// The keys of a link.
pub fn link() -> impl Strategy<Value = String> {
    (rate(), 0_u32..30_000, queue(), impairments()).prop_map(|(rate, micros, queue, impairments)| {
        let dequeue_driven = disciplines().iter().filter(|it| it.dequeue_driven);
        // The one does not go with the other.
        let refused = dequeue_driven.map(|it| it.entry.name).any(|name| queue.contains(name))
            && impairments.contains("retransmission");
        let impairments = if refused { "" } else { &impairments };
        format!("rate = {rate}, delay = \"{micros} us\", queue = {queue}{impairments}")
    })
}

pub fn topology() -> impl Strategy<Value = String> {
    let access = prop::option::of((1_u32..200, 0_u32..20))
        .prop_map(|access| match access {
            Some((rate, delay)) => {
                format!("access = {{ rate = \"{rate} Mbit/s\", delay = \"{delay} ms\" }}\n")
            }
            None => String::new(),
        })
        .boxed();
    prop_oneof![
        (link(), access.clone())
            .prop_map(|(link, access)| format!("[topology.dumbbell]\nbottleneck = {{ {link} }}\n{access}")),
        (link(), link(), access.clone()).prop_map(|(link, reverse, access)| format!(
            "[topology.dumbbell]\nbottleneck = {{ {link} }}\nreverse = {{ {reverse} }}\n{access}"
        )),
        (link(), 1_u32..4, access).prop_map(|(link, hops, access)| format!(
            "[topology.parking_lot]\nhops = {hops}\nlink = {{ {link} }}\n{access}"
        )),
    ]
}

pub fn flows() -> impl Strategy<Value = String> {
    prop_oneof![4 => tcp_flows(), 1 => rate_flows()]
}

pub fn transports() -> impl Strategy<Value = &'static str> {
    prop::sample::select(Transport::names())
}

pub fn rate_flows() -> impl Strategy<Value = String> {
    let task = prop::sample::select(&["", "", "size = \"50 kB\"\nrepeat = 5\npause = \"50 ms\""]);
    let more = prop::sample::subsequence(
        vec![
            "start = { uniform = [\"0 s\", \"500 ms\"] }",
            "stop = \"1.5 s\"",
            "reverse = true",
            "count = 3",
            "jitter = \"3 ms\"",
        ],
        0..=4,
    );
    (transports(), task, more)
        .prop_map(|(control, task, more)| format!("control = \"{control}\"\n{task}\n{}\n", more.join("\n")))
}

pub fn tcp_flows() -> impl Strategy<Value = String> {
    let (control, recovery) = (controls(), recoveries());
    let task = prop::sample::select(&[
        "",
        "",
        "size = \"50 kB\"\nrepeat = 5\npause = \"50 ms\"",
        "size = \"50 kB\"\nrepeat = 5\npause = \"50 ms\"\nsend_buffer = \"20 kB\"",
        "send_buffer = \"9500 B\"",
        "bursts = { size = \"20 kB\", every = \"30 ms\", for = \"900 ms\" }\nsend_buffer = \"15 kB\"",
        "bursts = { size = \"1234 B\", every = \"1 ms\", for = \"2 s\", queued = true }",
    ]);
    let more = prop::sample::subsequence(
        vec![
            "start = { uniform = [\"0 s\", \"500 ms\"] }",
            "stop = \"1.5 s\"",
            "reverse = true",
            "count = 3",
            "tcp = { delayed_ack = true, quick_acks = 5, initial_window = 2, counting = \"acks\", timestamps = false, ecn = true }",
        ],
        0..=4,
    );
    let jitter = prop::sample::select(&["", "", "jitter = \"off\"", "jitter = \"3 ms\""]);
    (control, recovery, task, jitter, more).prop_map(|(control, recovery, task, jitter, more)| {
        format!("control = \"{control}\"\nrecovery = \"{recovery}\"\n{task}\n{jitter}\n{}\n", more.join("\n"))
    })
}

pub fn traffic() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec!["cbr", "exponential", "pareto", "poisson"]);
    (100_u32..5_000, 100_u32..1500, prop::option::of((1_u32..300, 0_u32..300)), kinds, 1_u32..4).prop_map(
        |(rate, packet, on, kind, count)| {
            let on = on.filter(|_| kind != "poisson");
            let on =
                on.map_or_else(String::new, |(on, off)| format!("on = \"{on} ms\"\noff = \"{off} ms\"\n"));
            format!(
                "[[traffic]]\nkind = \"{kind}\"\ncount = {count}\nrate = \"{rate} kbit/s\"\npacket = \"{packet} B\"\n{on}"
            )
        },
    )
}

/// Few cases by default; `PROPTEST_CASES` asks for more. Cases that failed once are kept as tests in
/// `findings.rs` instead of in a file of seeds.
pub fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked.unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A whole small scenario; `measure` is left to the caller.
pub fn scenario() -> impl Strategy<Value = String> {
    let flows = prop::collection::vec(flows(), 1..4);
    (any::<u32>(), topology(), flows, prop::collection::vec(traffic(), 0..2)).prop_map(
        |(seed, topology, flows, traffic)| {
            let mut text = format!("seed = {seed}\nduration = \"3 s\"\n{topology}");
            for (number, flow) in flows.iter().enumerate() {
                text += &format!("[[flows]]\nlabel = \"group {number}\"\n{flow}");
            }
            text + &traffic.concat()
        },
    )
}
