//! Scenarios with words torn out, doubled, exchanged and replaced: every one of them is laid out or refused
//! with a message, and none of them panics. The fuzz target `scenario` goes on where this stops.

use ackclock_scenario::{Built, Sweep};
use ackclock_sim::engine::{Engine, NoObserver};
use ackclock_study::run::check;
use ackclock_units::{Duration, Time};
use proptest::prelude::*;
use std::path::Path;

/// Words that are likely to be trouble.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "1e308",
    "nan",
    "inf",
    "-inf",
    "\"0 s\"",
    "\"1 ns\"",
    "\"1e9 s\"",
    "\"1 bit/s\"",
    "\"100 Tbit/s\"",
    "\"0 packets\"",
    "\"1e9 packets\"",
    "\"1e9 bdp\"",
    "\"1 B\"",
    "\"1e18 B\"",
    "\"\"",
    "\"é\"",
    "[]",
    "{}",
    "[[flows]]\n",
    "[sweep]\n",
    "[topology]\n",
    "true",
    "1979-05-27",
    "\"reno\"",
    "\"unlimited\"",
    "=",
    ",",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "flows.0.count",
    "\u{feff}",
    "\r\n",
    "99999999999999999999",
    "9007199254740993",
    "seeds = 3\n",
    "probe = \"1 ns\"\n",
    "repeat = 2\n",
    "size = \"1 B\"\n",
    "rtt = \"0 s\"\n",
];

#[derive(Clone, Debug)]
enum Edit {
    Remove(usize, usize),
    Double(usize, usize),
    Swap(usize, usize),
    Replace(usize, &'static str),
    Insert(usize, &'static str),
}

fn edit() -> impl Strategy<Value = Edit> {
    let word = || prop::sample::select(WORDS);
    prop_oneof![
        (any::<usize>(), 1_usize..6).prop_map(|(at, count)| Edit::Remove(at, count)),
        (any::<usize>(), 1_usize..12).prop_map(|(at, count)| Edit::Double(at, count)),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Edit::Swap(one, other)),
        (any::<usize>(), word()).prop_map(|(at, word)| Edit::Replace(at, word)),
        (any::<usize>(), word()).prop_map(|(at, word)| Edit::Insert(at, word)),
    ]
}

/// The text in words: names, numbers, texts in quotes, and everything else character by character.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            c if c.is_alphanumeric() => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        words.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    words
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut words = words(text);
    for edit in edits {
        let length = words.len().max(1);
        let upto = |at: usize, count: usize| (at % length, (at % length + count).min(words.len()));
        match edit {
            Edit::Remove(at, count) => {
                let (from, to) = upto(*at, *count);
                words.drain(from..to);
            }
            Edit::Double(at, count) => {
                let (from, to) = upto(*at, *count);
                let copy = words[from..to].to_vec();
                words.splice(from..from, copy);
            }
            Edit::Swap(one, other) if !words.is_empty() => words.swap(one % length, other % length),
            Edit::Replace(at, word) if !words.is_empty() => words[at % length] = (*word).to_owned(),
            Edit::Insert(at, word) => words.insert((at % length).min(words.len()), (*word).to_owned()),
            _ => {}
        }
    }
    words.concat()
}

fn examples() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(directory).expect("the examples are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let tomls = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    tomls.map(|path| std::fs::read_to_string(path).expect("a text")).collect()
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

/// Packets that a run may take.
const PACKETS: f64 = 3_000.0;

/// Runs the beginning of a scenario: as long as its fastest link takes for some packets.
fn run_a_little(built: Built) {
    let mut plan = built.plan;
    let rates = plan.links[..built.links.len()].iter().map(|link| link.rate().bps_f64());
    let streams = plan.streams.iter().map(|stream| stream.rate.bps_f64());
    let fastest = rates.chain(streams).fold(1.0, f64::max);
    let sizes = plan.flows.iter().map(|flow| flow.config.segment_bytes());
    let smallest = sizes.chain(plan.streams.iter().map(|stream| stream.bytes)).min().unwrap_or(1);
    let enough = Duration::from_secs_f64(PACKETS * f64::from(smallest) * 8.0 / fastest);
    if plan.flows.len() > 100 || plan.probe.is_some_and(|probe| enough.as_nanos() / probe.as_nanos() > 10_000)
    {
        return;
    }
    let first = plan.flows.iter().map(|flow| flow.start).min().unwrap_or(Time::ZERO);
    plan.duration = plan.duration.min(first + enough);
    plan.measure = (plan.measure.0.min(plan.duration), plan.measure.1.min(plan.duration));
    let (measured, NoObserver) = Engine::new(plan, NoObserver).run();
    assert!(measured.flows.iter().all(|flow| flow.cwnd_mean.is_finite()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_laid_out_or_refused(
        text in prop::sample::select(examples()), edits in prop::collection::vec(edit(), 1..12)
    ) {
        let text = edited(&text, &edits);
        match Sweep::read("any.toml", &text, &[]) {
            Ok(sweep) => {
                let point = &sweep.points[0];
                let looks = point.scenario.probe.map_or(0, |probe| {
                    point.scenario.duration.as_nanos() / probe.as_nanos().max(1)
                });
                if point.scenario.flows() < 10_000 && looks < 100_000 {
                    let _ = check(std::slice::from_ref(point), true);
                }
                if let Ok(built) = point.scenario.build() {
                    run_a_little(built);
                }
            }
            Err(error) => {
                prop_assert!(error.line().is_some_and(|line| line <= text.lines().count() + 1), "{}", error);
                prop_assert!(miette::Diagnostic::help(&error).is_some(), "no remedy: {}", error);
            }
        }
    }
}
