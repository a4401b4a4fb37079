//! Both engines give the same, byte by byte: the document of a point, and the samples of its probes. So does
//! the engine in phases with any number of threads.
//! `make engines` runs some thousands of random scenarios, and every scenario and experiment.

mod common;

use ackclock_net::Fate;
use ackclock_scenario::plan::{EngineKind, Threads};
use ackclock_scenario::{Point, Sweep};
use ackclock_sim::engine::{Observer, PacketRef, SenderView, Simulation};
use ackclock_sim::observers::tap;
use ackclock_study::reproduce::Library;
use ackclock_study::run::{RunError, run_observed, run_point};
use ackclock_units::{Duration, Time};
use common::random::{config, controls, recoveries, scenario};
use common::{bytes, points};
use proptest::prelude::*;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What an engine gives for a point, with or without probes at a default interval. `None` if it cannot
/// compute it exactly.
fn by(engine: EngineKind, threads: usize, point: &Point, probes: bool) -> Option<(String, String)> {
    let mut point = point.clone();
    Arc::make_mut(&mut point.scenario).engine = Some(engine);
    Arc::make_mut(&mut point.scenario).threads = Threads::Exactly(threads);
    match run_point(&point, probes, &AtomicBool::new(false)) {
        Ok(result) => {
            assert_eq!(result.engine, Some(engine));
            Some((bytes(&result), format!("{:?}", result.series)))
        }
        Err(RunError::Unfit(_)) if engine == EngineKind::Phases => None,
        Err(error) => panic!("{error}"),
    }
}

/// How many threads compute a point if so many are asked for.
fn threads(point: &Point, threads: usize) -> usize {
    let mut plan = point.scenario.build().expect("a plan").plan;
    (plan.engine, plan.threads) = (Some(EngineKind::Phases), Threads::Exactly(threads));
    Simulation::new(&plan, None).expect("it suits").threads()
}

/// Everything that an observer sees, in order: a digest of each observation, and some of them as texts.
#[derive(Default)]
struct Witness {
    digests: Vec<u64>,
    kept: Range<usize>,
    texts: Vec<String>,
}

impl Witness {
    fn see(&mut self, text: fmt::Arguments<'_>) {
        if self.kept.contains(&self.digests.len()) {
            self.texts.push(text.to_string());
        }
        let mut digest = Digest::default();
        fmt::write(&mut digest, text).expect("a digest takes everything");
        self.digests.push(digest.0.finish());
    }
}

/// A digest of a text that is never there as a whole.
#[derive(Default)]
struct Digest(DefaultHasher);

impl fmt::Write for Digest {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.write(part.as_bytes());
        Ok(())
    }
}

impl Observer for Witness {
    fn is_there(&self) -> bool {
        true
    }

    fn minds(&self, _: usize, _: PacketRef<'_>) -> bool {
        true
    }

    fn minds_sender(&self, _: usize) -> bool {
        true
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.see(format_args!("at link {link} {delay:?} {packet:?} {fate:?}"));
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.see(format_args!("{now:?} at transmitter {link} {delay:?} {packet:?} {fate:?}"));
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        self.see(format_args!("{now:?} at sender {flow} {sender:?}"));
    }
}

/// Compares what observers see, and what is measured meanwhile, with what was measured without them.
fn agree_observed(point: &Point, plain: &(String, String)) -> Result<(), String> {
    let by = |engine: EngineKind, kept: Range<usize>| {
        let mut point = point.clone();
        Arc::make_mut(&mut point.scenario).engine = Some(engine);
        let mut witness = Witness { kept, ..Witness::default() };
        match run_observed(&point, false, Some(&mut witness), &AtomicBool::new(false)) {
            Ok(result) => Some(((bytes(&result), format!("{:?}", result.series)), witness)),
            Err(RunError::Unfit(_)) => None,
            Err(error) => panic!("{error}"),
        }
    };
    let Some(phases) = by(EngineKind::Phases, 0..0) else { return Ok(()) };
    let events = by(EngineKind::Events, 0..0).expect("it computes everything");
    same("events, observed", &events.0, &phases.0)?;
    same("in phases, not observed", plain, &phases.0)?;
    let (events, phases) = (events.1.digests, phases.1.digests);
    if events == phases {
        return Ok(());
    }
    let place = events.iter().zip(&phases).take_while(|(one, other)| one == other).count();
    let around = place.saturating_sub(6)..place + 6;
    let seen = |engine| by(engine, around.clone()).map_or(String::new(), |(_, it)| it.texts.join("\n"));
    let (numbers, seen) = ((events.len(), phases.len()), [EngineKind::Events, EngineKind::Phases].map(seen));
    Err(format!("observed, from {place} of {numbers:?}\nevents:\n{}\nphases:\n{}", seen[0], seen[1]))
}

/// Compares both engines, also for who observes them, and the one in phases with so many threads. False if
/// only one engine can compute the point.
fn agree(point: &Point, probes: bool, observed: bool, several: &[usize]) -> Result<bool, String> {
    let Some(phases) = by(EngineKind::Phases, 1, point, probes) else { return Ok(false) };
    let events = by(EngineKind::Events, 1, point, probes).expect("it computes everything");
    let flows = point.scenario.flows();
    let whole = point.scenario.controls().any(|control| control.window().is_none());
    same("events", &events, &phases)?;
    if observed && !probes && !floods(&phases.0) {
        agree_observed(point, &phases)?;
    }
    for &number in several {
        // Every run of TCP that suits the engine is divided, if there are flows for the threads.
        let taken = threads(point, number);
        if taken != if whole { 1 } else { number.min(1 + flows) } {
            return Err(format!("{taken} threads for {number}, and {flows} flows"));
        }
        let shared = by(EngineKind::Phases, number, point, probes).expect("one thread can");
        same(&format!("{number} threads"), &shared, &phases)?;
    }
    Ok(true)
}

/// True of a run that would take gigabytes to observe: without congestion control, flows may send a whole
/// window of a gigabyte at once.
fn floods(document: &str) -> bool {
    let document: serde_json::Value = serde_json::from_str(document).expect("JSON");
    let links = document["links"].as_array().expect("links");
    let arrivals = links.iter().map(|link| link["arrivals"].as_u64().expect("a number"));
    arrivals.sum::<u64>() > MOST_OBSERVED
}

/// The packets that arrive at the links of a run that is observed, at most.
const MOST_OBSERVED: u64 = 2_000_000;

/// Compares documents and samples with those of the engine in phases.
fn same(what: &str, others: &(String, String), phases: &(String, String)) -> Result<(), String> {
    if phases == others {
        return Ok(());
    }
    let same = |(one, other): &(char, char)| one == other;
    let document = phases.0 != others.0;
    let (one, other) = if document { (&phases.0, &others.0) } else { (&phases.1, &others.1) };
    let at = one.chars().zip(other.chars()).take_while(same).count();
    let part = |text: &str| text.chars().skip(at.saturating_sub(300)).take(400).collect::<String>();
    Err(format!("document differs: {document}\nphases: {}\n{what}: {}", part(one), part(other)))
}

/// Without a choice, a run is computed in phases where that is exact and pays.
#[test]
fn each_run_gets_the_engine_that_suits_it() {
    let chosen = |rate: &str, flow: &str| {
        let text = format!(
            "name = \"chosen\"\nduration = \"2 s\"\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"{rate}\", delay = \"1 ms\", queue = {{ droptail = \"20 packets\" }} }}\n\
             [[flows]]\n{flow}"
        );
        let sweep = Sweep::read("chosen", &text, &[]).expect("a scenario");
        run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("a run").engine
    };
    let reno = "control = \"reno\"";
    assert_eq!(chosen("100 Mbit/s", reno), Some(EngineKind::Phases));
    assert_eq!(chosen("100 kbit/s", reno), Some(EngineKind::Events), "a packet takes longer than a round");
    assert_eq!(chosen("100 Mbit/s", "control = \"tfrc\""), Some(EngineKind::Phases));
    assert_eq!(chosen("100 Mbit/s", "control = \"reno\"\nfollow = true"), Some(EngineKind::Phases));
}

/// However little meets on a path, whoever runs it is asked again soon, and where nothing is sent no time is
/// spent.
#[test]
fn a_run_in_phases_returns_after_some_packets() {
    let run = |flow: &str| {
        let text = format!(
            "name = \"endless\"\nduration = \"100000 s\"\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"1 Gbit/s\", delay = \"1 ms\", queue = {{ droptail = \"20 packets\" }} }}\n\
             [[flows]]\ncontrol = \"reno\"\n{flow}"
        );
        let sweep = Sweep::read("endless", &text, &[]).expect("a scenario");
        let plan = sweep.points[0].scenario.build().expect("a plan").plan;
        let mut run = Simulation::new(&plan, None).expect("a run");
        assert_eq!(run.kind(), EngineKind::Phases);
        (run.run_some(1000), run.now())
    };
    let (goes_on, now) = run("");
    assert!(goes_on && now < Time::from_nanos(10_000_000_000), "{now:?}");
    let (goes_on, now) = run("size = \"3000 B\"\nstart = \"50000 s\"");
    assert!(!goes_on, "two instants of a day are busy: {now:?}");
}

/// Traces of flows, predictions, traced connections and captures are the same from both engines. The one in
/// phases keeps only what these observers say that they mind; the other one tells them everything.
#[test]
fn what_is_followed_predicted_traced_and_captured_is_the_same() {
    for queue in ["{ droptail = \"20 packets\" }", "{ codel = { limit = \"50 packets\" } }"] {
        let text = format!(
            "name = \"seen\"\nduration = \"5 s\"\nseed = 6\ntrace = \"bottleneck\"\n\
             predict = {{ flow = \"cubic\", link = \"bottleneck\", threshold = \"30 ms\", samples = 100 }}\n\
             [topology.dumbbell]\n\
             bottleneck = {{ rate = \"20 Mbit/s\", delay = \"10 ms\", queue = {queue}, loss = 0.001 }}\n\
             access = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
             [[flows]]\ncontrol = \"cubic\"\nfollow = true\ntcp = {{ delayed_ack = true }}\n\
             [[flows]]\nlabel = \"short\"\ncontrol = \"bbr\"\nfollow = true\nsize = \"200 kB\"\nrepeat = 3\n\
             [[flows]]\nlabel = \"back\"\ncontrol = \"reno\"\nreverse = true\n\
             [[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n"
        );
        let seen = |engine: EngineKind| {
            let mut point = points(&text).remove(0);
            Arc::make_mut(&mut point.scenario).engine = Some(engine);
            let result = run_point(&point, false, &AtomicBool::new(false)).expect("a run");
            let built = point.scenario.build().expect("it is right");
            let mut tap = tap(&built, "bottleneck", Vec::new()).expect("a link");
            Simulation::new(&built.plan, Some(&mut tap)).expect("it suits").run();
            let capture = tap.finish(built.plan.duration).expect("a file in memory");
            (result.courses, result.predictions, result.traced, capture)
        };
        let (events, phases) = (seen(EngineKind::Events), seen(EngineKind::Phases));
        assert!(events.0.len() == 2 && events.0.iter().all(|course| course.segments.len() > 100));
        assert!(events.0.iter().any(|course| course.queue.is_some()));
        assert!(events.1.is_some() && !events.2.is_empty() && events.3.len() > 100_000);
        assert_eq!(events.0, phases.0);
        assert_eq!(format!("{:?}", events.1), format!("{:?}", phases.1));
        assert_eq!(format!("{:?}", events.2), format!("{:?}", phases.2));
        assert!(events.3 == phases.3, "captures differ");
    }
}

/// Two acknowledgements arrive in the same nanosecond: one is late by a multiple of what the link takes for
/// one. Observers are told of all that the first one sets off, and then of the second.
#[test]
fn acknowledgements_of_one_instant_are_told_apart() {
    let text = "seed = 0\nduration = \"3 s\"\n[topology.dumbbell]\n\
        bottleneck = { rate = \"205 kbit/s\", delay = \"0 us\", queue = { droptail = \"0.01 bdp\" }, \
        reorder = { share = 0.19482940447319946, delay = \"9 ms\" } }\n\
        reverse = { rate = \"4609 kbit/s\", delay = \"12855 us\", queue = { droptail = \"1 packets\" } }\n\
        [[flows]]\ncontrol = \"reno\"\nrecovery = \"tahoe\"\nreverse = true\n";
    assert_eq!(agree(&points(text)[0], false, true, &[]), Ok(true));
}

fn labelled(flows: &[String]) -> String {
    let label = |(number, flow)| format!("[[flows]]\nlabel = \"group {number}\"\n{flow}");
    flows.iter().enumerate().map(label).collect()
}

/// Dumbbells that the engine in phases can compute: what they have in common with others is in `scenario`.
fn dumbbell() -> impl Strategy<Value = String> {
    let more = prop::sample::subsequence(
        vec![
            "start = { uniform = [\"0 s\", \"500 ms\"] }",
            "stop = \"1.5 s\"",
            "reverse = true",
            "count = 7",
            "rtt = \"90 ms\"",
            "tcp = { delayed_ack = true, quick_acks = 3 }",
            "tcp = { initial_window = 2, counting = \"acks\", timestamps = false, ecn = true }",
            "jitter = \"3 ms\"",
            "tcp = { pacing = true }",
            "detection = \"rack\"",
        ],
        0..=4,
    );
    let flow = (controls(), recoveries(), more).prop_map(|(control, recovery, more)| {
        let mut more = more;
        let mut tcp = false;
        more.retain(|key| !key.starts_with("tcp") || !std::mem::replace(&mut tcp, true));
        let recovery = if more.iter().any(|key| key.contains("rack")) { "sack" } else { recovery };
        format!("control = \"{control}\"\nrecovery = \"{recovery}\"\n{}\n", more.join("\n"))
    });
    let queue = prop::sample::select(&[
        "{ droptail = \"20 packets\" }",
        "{ droptail = \"0.5 bdp\" }",
        "{ droptail = \"3 packets\" }",
        "{ red = { limit = \"60 packets\", min = \"5 packets\", max = \"20 packets\", mark = true } }",
        "\"unlimited\"",
    ]);
    let loss = prop::sample::select(&[
        "",
        ", loss = 0.01",
        ", duplicate = 0.02",
        ", jitter = \"2 ms\"",
        ", reorder = { share = 0.05, delay = { uniform = [\"0 ms\", \"9 ms\"] } }",
    ]);
    (any::<u32>(), 1_u32..40, 1_u32..30_000, queue, loss, prop::collection::vec(flow, 1..4), any::<bool>(), any::<bool>())
        .prop_map(|(seed, mbit, micros, queue, loss, flows, access, probe)| {
            let access = if access { "access = { rate = \"50 Mbit/s\", delay = \"1 ms\" }\n" } else { "" };
            let probe = if probe { "probe = \"9 ms\"\n" } else { "" };
            format!(
                "seed = {seed}\nduration = \"2 s\"\n{probe}[topology.dumbbell]\n\
                 bottleneck = {{ rate = \"{mbit} Mbit/s\", delay = \"{micros} us\", queue = {queue}{loss} }}\n{access}{}",
                labelled(&flows)
            )
        })
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn on_random_dumbbells(text in dumbbell(), from in 0_u32..1000, length in 1_u32..1000) {
        let measured = format!("measure = [\"{from} ms\", \"{} ms\"]\n{text}", from + length);
        for (text, observed) in [(&text, true), (&measured, false)] {
            let point = &points(text)[0];
            match agree(point, false, observed, &[2, 3, 5]) {
                Ok(_) => {}
                Err(differ) => return Err(TestCaseError::fail(format!("{differ}\n{text}"))),
            }
        }
    }

    #[test]
    fn on_any_scenario(text in scenario(), probes in any::<bool>()) {
        if let Err(differ) = agree(&points(&text)[0], probes, true, &[2, 3, 5]) {
            return Err(TestCaseError::fail(format!("{differ}\n{text}")));
        }
    }
}

/// All files under a directory whose names end so.
fn files(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory)];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).expect("it is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The beginning of a point: until so many packets fit the fastest link after the last one has started. And
/// the packets that fit from the start on.
fn beginning(point: &Point, packets: f64) -> (Point, f64) {
    let mut point = point.clone();
    let plan = point.scenario.build().expect("it is right").plan;
    let rates = plan.links[..plan.measured].iter().map(|link| link.rate().bps_f64());
    let fastest = rates.fold(1.0, f64::max);
    let starts = plan.flows.iter().map(|flow| flow.start);
    let last = starts.chain(plan.streams.iter().map(|stream| stream.start)).max().unwrap_or_default();
    let span = Duration::from_secs_f64(packets * BITS / fastest);
    let span = Duration::from_nanos(span.as_nanos().saturating_add(last.as_nanos()));
    let duration = point.scenario.duration.min(span);
    let (from, to) = point.scenario.measure;
    let scenario = Arc::make_mut(&mut point.scenario);
    scenario.expects.clear();
    scenario.measure = (from.min(duration), to.min(duration));
    scenario.duration = duration;
    (point, duration.as_secs_f64() * fastest / BITS)
}

/// The bits of a full packet.
const BITS: f64 = 12_000.0;

/// So many packets are simulated in a moment.
const SOON: f64 = 100_000.0;

/// The beginning of up to so many points, at most so much traffic of each. Where that is much, because flows
/// start late, of fewer points, but of one at least. Returns what suits the engine in phases, and what not.
fn compare(path: &Path, points: &[Point], (number, packets): (usize, f64)) -> (u32, u32) {
    let (mut suits, mut others) = (0, 0);
    let mut left = number as f64 * packets.max(SOON);
    for point in points.iter().step_by(points.len().div_ceil(number).max(1)) {
        if left <= 0.0 {
            break;
        }
        let (point, carried) = beginning(point, packets);
        left -= carried;
        for probes in [false, true] {
            match agree(&point, probes, true, &[2]) {
                Ok(true) => suits += 1,
                Ok(false) => others += 1,
                Err(differ) => panic!("{} {:?}: {differ}", path.display(), point.parameters),
            }
        }
    }
    eprintln!("{}: {suits} in phases, {others} not", path.display());
    (suits, others)
}

fn compare_all(directory: &str, some: (usize, f64)) -> (u32, u32) {
    let mut sum = (0, 0);
    for path in files(directory) {
        let text = std::fs::read_to_string(&path).expect("a text");
        let Ok(sweep) = Sweep::read(&path.display().to_string(), &text, &[]) else { continue };
        let (suits, others) = compare(&path, &sweep.points, some);
        sum = (sum.0 + suits, sum.1 + others);
    }
    sum
}

#[test]
fn on_the_examples() {
    let (suits, _) = compare_all("scenarios", (2, 3_000.0));
    assert!(suits > 0);
}

#[test]
#[ignore = "minutes: `make engines`"]
fn on_every_scenario() {
    for directory in ["scenarios", "benches/peers/cases"] {
        let (suits, others) = compare_all(directory, (40, 60_000.0));
        eprintln!("{directory}: {suits} in phases, {others} not");
        assert!(suits > 0);
    }
}

#[test]
#[ignore = "minutes: `make engines`"]
fn on_every_experiment() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let library = Library::from_directory(&directory).expect("they are right");
    let mut sum = (0, 0);
    for experiment in library.experiments() {
        for (name, sweep) in library.sweeps(experiment).expect("they are right") {
            let (suits, others) = compare(Path::new(&name), &sweep.points, (6, 20_000.0));
            sum = (sum.0 + suits, sum.1 + others);
        }
    }
    eprintln!("{} in phases, {} not", sum.0, sum.1);
    assert!(sum.0 > 0);
}
