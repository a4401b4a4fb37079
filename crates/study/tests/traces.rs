//! Links whose rate changes, in scenarios; and the traces in `scenarios/traces`, which are made here.

mod common;

use ackclock_net::Rng;
use ackclock_scenario::Sweep;
use common::{bytes, points, result};
use std::fs;
use std::path::{Path, PathBuf};

/// The seconds of a trace.
const LENGTH_S: usize = 30;

/// The delivery opportunities of a link whose rate, Mbit/s, is that of `rate` in each tenth of a second.
/// Within it they are spread evenly.
fn opportunities(mut rate: impl FnMut(&mut Rng) -> f64, name: &str) -> String {
    let mut draws = Rng::new(1, name);
    let (mut text, mut credit) = (String::new(), 0.0);
    for tenth in 0..LENGTH_S * 10 {
        let per_ms = rate(&mut draws) * 1e3 / 12_000.0;
        for ms in tenth * 100 + 1..=tenth * 100 + 100 {
            credit += per_ms;
            while credit >= 1.0 {
                credit -= 1.0;
                text += &format!("{ms}\n");
            }
        }
    }
    // The last line is the length of the trace.
    text + &format!("{}\n", LENGTH_S * 1000)
}

/// A user who walks: the logarithm of the rate moves at random, and is drawn back to that of 4 Mbit/s.
fn walking() -> String {
    let mut log = libm::log(4.0);
    let step = move |draws: &mut Rng| {
        log += 0.05 * (libm::log(4.0) - log) + 0.2 * draws.normal();
        libm::exp(log).clamp(0.3, 16.0)
    };
    opportunities(step, "walking")
}

/// A user who drives: the same with larger steps, and with pauses of 0.2 to 1.2 s.
fn driving() -> String {
    let (mut log, mut pause) = (libm::log(5.0), 0);
    let step = move |draws: &mut Rng| {
        log += 0.1 * (libm::log(5.0) - log) + 0.4 * draws.normal();
        if pause == 0 && draws.uniform() < 0.02 {
            pause = draws.between(2.0, 13.0) as u32;
        }
        if pause > 0 {
            pause -= 1;
            return 0.0;
        }
        libm::exp(log).clamp(0.3, 25.0)
    };
    opportunities(step, "driving")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/traces")
}

/// `UPDATE_TRACES=1 cargo test --test traces` writes the files anew.
#[test]
fn the_traces_are_what_is_made_here() {
    for (name, trace) in [("walking.trace", walking()), ("driving.trace", driving())] {
        let path = folder().join(name);
        if std::env::var_os("UPDATE_TRACES").is_some() {
            fs::write(&path, &trace).expect("written");
        }
        assert!(fs::read_to_string(&path).expect(name) == trace, "{name} differs");
        assert!(trace.len() < 100_000, "{name}: {}", trace.len());
    }
}

fn text(rate: &str, keys: &str) -> String {
    format!(
        "duration = \"20 s\"\n[topology.dumbbell]\nbottleneck = {{ rate = {rate}, delay = \"10 ms\", \
         queue = {{ droptail = \"50 packets\" }}{keys} }}\nreverse = {{ rate = \"10 Mbit/s\" }}\n\
         [[flows]]\ncontrol = \"cubic\"\n"
    )
}

#[test]
fn a_schedule_carries_what_its_rates_allow() {
    let rate = "{ schedule = [[\"0 s\", \"8 Mbit/s\"], [\"10 s\", \"2 Mbit/s\"]] }";
    let point = result(&text(rate, ""));
    let link = &point.links[0];
    assert_eq!(link.rate_bps, 5e6); // the mean over the run
    let bits = point.flows[0].throughput_bps * 20.0;
    assert!((97e6..100.1e6).contains(&bits) && link.utilisation > 0.97, "{bits} {link:?}");
    let measured = |from: &str| {
        let text = text(rate, "").replacen("duration", &format!("measure = {from}\nduration"), 1);
        result(&text).flows[0].throughput_bps
    };
    assert!((7.5e6..8.01e6).contains(&measured("[\"3 s\", \"10 s\"]")));
    assert!((1.95e6..2.01e6).contains(&measured("[\"12 s\", \"20 s\"]")));
}

#[test]
fn one_rate_gives_what_a_constant_one_gives() {
    let of = |rate: &str| bytes(&result(&text(rate, ", loss = 0.001")));
    assert_eq!(of("\"8 Mbit/s\""), of("{ schedule = [[\"0 s\", \"8 Mbit/s\"]] }"));
    assert_eq!(of("\"8 Mbit/s\""), of("{ schedule = [[\"0 s\", \"8 Mbit/s\"]], repeat = \"3 s\" }"));
}

#[test]
fn a_pause_loses_nothing_and_a_link_that_stays_silent_delivers_nothing_more() {
    let point = result(&text(
        "{ schedule = [[\"0 s\", \"4 Mbit/s\"], [\"1 s\", 0], [\"1.2 s\", \"4 Mbit/s\"]], repeat = \"2 s\" }",
        "",
    ));
    let link = &point.links[0];
    assert_eq!((link.rate_bps, link.drops, link.overflows), (3.6e6, link.overflows, link.overflows));
    assert!((3.2e6..3.61e6).contains(&point.flows[0].throughput_bps), "{:?}", point.flows[0]);
    let point = result(&text("{ schedule = [[\"0 s\", \"4 Mbit/s\"], [\"10 s\", \"0 bit/s\"]] }", ""));
    let bits = point.flows[0].throughput_bps * 20.0;
    assert!((38e6..40.01e6).contains(&bits), "{bits}");
    assert!(point.flows[0].timeouts > 2);
}

#[test]
fn dequeue_driven_queues_and_retransmission_follow_the_rate() {
    let rate = "{ schedule = [[\"0 s\", \"8 Mbit/s\"], [\"0.5 s\", \"2 Mbit/s\"]], repeat = \"1 s\" }";
    for (queue, keys) in [
        ("\"fq_codel\"", ""),
        ("{ codel = { limit = \"1000 packets\" } }", ""),
        ("{ droptail = \"50 packets\" }", ", loss = 0.01, retransmission = true"),
        ("\"unlimited\"", ""),
    ] {
        let of = |rate| result(&text(rate, keys).replacen("{ droptail = \"50 packets\" }", queue, 1));
        let (point, constant) = (of(rate), of("\"5 Mbit/s\""));
        let (link, flow) = (&point.links[0], &point.flows[0]);
        let share = flow.throughput_bps / constant.flows[0].throughput_bps;
        assert!(share > 0.75 && flow.throughput_bps < 5.01e6, "{queue}: {share} {flow:?}");
        assert!(link.utilisation > 0.7 && link.utilisation <= 1.0, "{queue}: {link:?}");
        if link.drops > 0 {
            continue; // what was dropped has no round-trip time
        }
        // Little's law: what waits is what comes, times how long it waits. A transmission takes 1 to 4 ms.
        let waited_s = flow.rtt_mean_s.expect("samples") - 0.02;
        let waits = link.arrivals as f64 / 20.0 * waited_s;
        assert!((waits - link.queue_mean).abs() < 2.0 + 0.1 * waits, "{queue}: {waits} {link:?}");
    }
}

/// A scenario file beside a trace.
fn beside(trace: &str, text: &str) -> Result<Sweep, String> {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("a.trace"), trace).expect("written");
    let name = home.path().join("case.toml").display().to_string();
    Sweep::read(&name, text, &[]).map_err(|error| {
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        format!("{error}: {}", help.unwrap_or_default())
    })
}

#[test]
fn a_trace_is_a_part_of_what_is_run() {
    let text = text("{ trace = \"a.trace\" }", "");
    let json = |trace| beside(trace, &text).expect("a scenario").points[0].scenario.to_json().to_string();
    assert_eq!(json("1\n2\n"), json("1\r\n2"));
    assert_ne!(json("1\n2\n"), json("1\n1\n2\n"));
    assert!(json("1\n2\n").contains("\"opportunities\":2"), "{}", json("1\n2\n"));
    let point = beside("1\n2\n", &text).expect("a scenario");
    let point =
        ackclock_study::run::run_point(&point.points[0], false, &std::sync::atomic::AtomicBool::new(false));
    let point = point.expect("a run");
    assert_eq!(point.links[0].rate_bps, 12e6);
    assert!((11e6..12.01e6).contains(&point.flows[0].throughput_bps), "{:?}", point.flows[0]);
}

#[test]
fn wrong_traces_are_refused_at_their_line() {
    let refused = |trace: &str, words: &[&str]| {
        let error = beside(trace, &text("{ trace = \"a.trace\" }", "")).err().expect("a mistake");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    refused("1\n2\nthree\n", &["a.trace:3", "\"three\"", "1500 bytes", "rate.trace"]);
    refused("1\n-2\n", &["a.trace:2"]);
    refused("1\n1.5\n", &["a.trace:2"]);
    refused("1\n99999999999\n", &["a.trace:2"]);
    refused("5\n\n4\n", &["a.trace:3", "4 comes after 5"]);
    refused("", &["no opportunities"]);
    refused("0\n0\n", &["ends at 0 ms"]);
    refused(&format!("{}\n", "x".repeat(1000)), &["xxx...", "a.trace:1"]);
}

#[test]
fn wrong_rates_are_explained() {
    let refused = |rate: &str, words: &[&str]| {
        let error = Sweep::read("case.toml", &text(rate, ""), &[]).err().map(|error| {
            let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
            format!("{error}: {}", help.unwrap_or_default())
        });
        let error = error.unwrap_or_else(|| panic!("{rate} is taken"));
        assert!(error.starts_with("case.toml:3: topology.dumbbell.bottleneck.rate"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{rate}: {error}");
    };
    refused("{ schedule = [] }", &["without rates"]);
    refused("{ schedule = [[\"1 s\", \"1 Mbit/s\"]] }", &["no rate before 1 s"]);
    refused("{ schedule = [[\"0 s\", \"1 Mbit/s\"], [\"0 s\", \"2 Mbit/s\"]] }", &["does not come after"]);
    refused("{ schedule = [[\"0 s\"]] }", &["a time and a rate"]);
    refused("{ schedule = [[\"0 s\", 7]] }", &["has no unit"]);
    refused("{ schedule = [[\"0 s\", 0]] }", &["never carries anything"]);
    refused("{ schedule = [[\"0 s\", 0], [\"30 s\", \"1 Mbit/s\"]] }", &["before the run ends"]);
    refused(
        "{ schedule = [[\"0 s\", \"1 Mbit/s\"], [\"2 s\", 0]], repeat = \"2 s\" }",
        &["repeats after 2 s"],
    );
    refused("{ schedule = [[\"0 s\", \"1 Mbit/s\"]], trace = \"a\" }", &["a schedule or a trace"]);
    refused("{ trace = \"nowhere.trace\" }", &["there is no file nowhere.trace"]);
    refused("{ repeat = \"2 s\" }", &["repeat"]);
    refused("{ shedule = [] }", &["shedule", "did you mean \"schedule\"?"]);
}

#[test]
fn the_same_results_on_any_number_of_threads() {
    let rate = "{ schedule = [[\"0 s\", \"8 Mbit/s\"], [\"0.3 s\", \"1 Mbit/s\"]], repeat = \"0.7 s\" }";
    let all = points(&(text(rate, "") + "[sweep]\n\"flows.0.control\" = [\"reno\", \"bbr\", \"cubic\"]\n"));
    let run = |threads| common::run_all(&all, Some(threads)).iter().map(bytes).collect::<Vec<_>>();
    assert_eq!(run(1), run(3));
}

/// Packets of one opportunity arrive together. Nobody who looks may decide which of them goes first.
#[test]
fn probes_do_not_decide_between_packets_of_one_opportunity() {
    let trace = folder().join("walking.trace").display().to_string();
    let text = format!(
        "duration = \"5 s\"\n[topology.parking_lot]\nhops = 2\nlink = {{ rate = {{ trace = {trace:?} }}, delay = \"0 us\", \
         queue = {{ droptail = \"3 packets\" }} }}\n[[flows]]\ncontrol = \"reno\"\ncount = 3\njitter = \"off\"\n\
         start = {{ every = \"10 ms\" }}\n"
    );
    let text = format!("segment = {{ payload = \"400 B\", header = \"40 B\" }}\n{text}");
    let sent = |text: &str| result(text).flows.iter().map(|flow| flow.sent).collect::<Vec<_>>();
    assert_eq!(sent(&text), sent(&format!("probe = \"1 ms\"\n{text}")));
}
