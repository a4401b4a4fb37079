//! Experiments: format, selection, verdicts.

use super::verdict::Case;
use super::*;
use crate::dry_run::dry_run;
use crate::expect::{Reading, View};
use crate::runner::Runner;
use crate::store::{Build, PointStore};
use ackclock_scenario::{Point, ScenarioError};
use ackclock_sim::engine::NoObserver;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"
[scenario]
duration = "3 s"
seeds = 2
probe = "100 ms"
[scenario.topology.dumbbell]
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
[[scenario.flows]]
control = "reno"
start = { uniform = ["0 s", "1 s"] }
[scenario.sweep]
"topology.dumbbell.bottleneck.rate" = ["5 Mbit/s", "10 Mbit/s"]
"#;

const CLAIMS: &str = r#"
[published]
share = 0.5
[define]
mbit = { of = ["r"], is = "goodput('reno', rate=r) / 1e6" }
[[claim]]
text = "More rate, more goodput."
that = "rises(mbit(axis('rate')))"
[[claim]]
text = "It uses all of the link."
for = { r = ["5 Mbit/s", "10 Mbit/s"] }
that = "mbit(r) > published.share * 10"
tolerance_from = "paper"
tried = "nothing"
[[claim]]
text = "It is blue."
untestable = "Flows have no colour."
"#;

fn file(id: &str, rest: &str) -> (String, String) {
    let head = format!(
        "id = \"{id}\"\nwork = \"tiny1999\"\ntitle = \"T\"\nsection = \"I\"\nkind = \"simulation\"\nsummary = \"S\"\n"
    );
    (format!("tiny1999/{id}.toml"), head + rest)
}

fn library(files: Vec<(String, String)>) -> Library {
    Library::read(files.into_iter()).unwrap_or_else(|error| panic!("{error}"))
}

fn wrong(rest: &str) -> ScenarioError {
    let (name, text) = file("one", rest);
    match Experiment::parse(&name, &text) {
        Err(error) => error,
        Ok(experiment) => {
            let library = library(vec![(name, text)]);
            check(&library, &experiment).expect_err("something is wrong")
        }
    }
}

fn run(library: &Library, what: &str, store: Option<&PointStore>) -> Vec<Reproduction> {
    let chosen = library.select(what).expect("it is there");
    let plan = Plan::new(library, chosen).expect("a plan");
    let stop = AtomicBool::new(false);
    let runner = Runner { probes: false, threads: Some(2), stop: &stop, store, progress: &|_, _| () };
    let results = runner.run(plan.points(), &NoObserver).expect("results");
    plan.judge(&results)
}

#[test]
fn every_experiment_is_sound() {
    let library = Library::built_in().expect("every file can be read");
    for experiment in library.experiments() {
        if let Err(error) = check(&library, experiment) {
            panic!("{:?}", miette::Report::new(error));
        }
    }
}

/// Claims are written for the runs that a file asks for. They must have a value with more of them, too.
#[test]
fn every_claim_can_be_judged_with_more_runs() {
    let library = Library::built_in().expect("every file can be read");
    let made_up = |point: &ackclock_scenario::Point, variant: u64| {
        let (mut result, _) = dry_run(point, &point.scenario.build().expect("a plan"), variant, 100_000);
        result.seed += 10_000 * variant;
        result
    };
    for experiment in library.experiments() {
        let sweeps = library.sweeps(experiment).expect("points");
        let sets = sweeps.iter().map(|(name, sweep)| {
            let runs = if sweep.axes.iter().any(|axis| axis == "seed") { 1 } else { 2 };
            let points = sweep.points.iter().flat_map(|point| (0..runs).map(move |it| made_up(point, it)));
            (name.clone(), points.collect::<Vec<_>>())
        });
        let language = super::verdict::language(experiment, &View::of_several(sets.collect()));
        for claim in &experiment.claims {
            let Asserted::That(that) = &claim.asserted else { continue };
            for names in super::verdict::combinations(claim) {
                if let Err(error) = language.decide(that, &names) {
                    panic!("{}: {error}; {}", experiment.id, error.remedy);
                }
            }
        }
    }
}

#[test]
fn a_claim_holds_or_fails_with_its_numbers() {
    let library = library(vec![file("one", &format!("{SCENARIO}{CLAIMS}"))]);
    let made = run(&library, "all", None);
    let [one] = &made[..] else { panic!("one experiment") };
    let counts = Counts { holds: 1, fails: 1, untestable: 1, ..Counts::default() };
    assert_eq!((one.points, one.counts), (4, counts));
    let all = &one.claims[1];
    assert_eq!(all.cases.iter().map(|case| case.holds).collect::<Vec<_>>(), [false, true]);
    let seen = &all.cases[1].seen;
    let goodput = seen.iter().find(|seen| seen.call.starts_with("goodput(")).expect("it was looked at");
    assert_eq!((goodput.call.as_str(), goodput.depth), ("goodput('reno', rate='10 Mbit/s')", 1));
    assert!(goodput.value.as_f64().is_some_and(|bps| (5e6..10e6).contains(&bps)), "{goodput:?}");
    assert!(goodput.std.is_some(), "two seeds have a deviation");
    let mbit = seen.iter().find(|seen| seen.call.starts_with("mbit(")).expect("it was called");
    let scaled = goodput.std.map(|std| std / 1e6);
    assert!(mbit.depth == 0 && mbit.std.zip(scaled).is_some_and(|(a, b)| (a - b).abs() < 1e-9), "{mbit:?}");
    assert!(seen.iter().any(|seen| seen.published && seen.value == 0.5));
    assert_eq!(all.tried.as_deref(), Some("nothing"));
    assert_eq!(one.claims[2].untestable.as_deref(), Some("Flows have no colour."));
}

/// Runs a plan with as many runs as its claims need, at most `most` of a point.
fn replicated(library: &Library, most: usize) -> (Vec<Reproduction>, usize) {
    let mut plan = Plan::new(library, library.select("all").expect("some")).expect("a plan");
    let stop = AtomicBool::new(false);
    let runner = Runner { probes: false, threads: Some(2), stop: &stop, store: None, progress: &|_, _| () };
    let more = |points: &[Point]| -> Result<_, ScenarioError> {
        Ok(runner.run(points, &NoObserver).expect("results"))
    };
    let mut results = more(plan.points()).expect("results");
    plan.replicate_drawn(&results, most).expect("seeds");
    results.extend(more(&plan.points()[results.len()..]).expect("results"));
    let found = plan.decide(results, most, more, |_, _, _| true).expect("seeds");
    (found, plan.points().len())
}

/// A division by zero that made-up results do not show ends no family after hours.
#[test]
fn a_claim_without_a_value_fails_and_says_why() {
    let claims = "\n[[claim]]\ntext = \"Marks are not rare.\"\n\
                  for = { r = [\"5 Mbit/s\", \"10 Mbit/s\"] }\n\
                  that = \"1 / marks('bottleneck', rate=r) > 0\"\n";
    let library = library(vec![file("one", &format!("{SCENARIO}{claims}"))]);
    assert!(check(&library, &library.experiments()[0]).is_ok());
    let found = run(&library, "one", None);
    let claim = &found[0].claims[0];
    assert_eq!(claim.verdict, Verdict::Fails);
    for case in &claim.cases {
        assert_eq!((case.holds, case.verdict, case.runs), (false, Verdict::Fails, 0));
        let reason = case.reason.as_deref().expect("a reason");
        assert!(reason.contains("unable to calculate"), "{reason}");
    }
}

#[test]
fn runs_are_spent_where_they_decide() {
    let claim = |that: &str| format!("[[claim]]\ntext = \"t\"\nthat = \"{that}\"\n");
    let scenario = SCENARIO.replace("seeds = 2\n", "");
    let case = |scenario: &str, that: &str, most| {
        let library = library(vec![file("one", &format!("{scenario}{}", claim(that)))]);
        let (found, points) = replicated(&library, most);
        (found[0].claims[0].verdict, found[0].claims[0].cases[0].runs, points)
    };
    let clear = "goodput('reno', rate='5 Mbit/s') > 1";
    // Starts are drawn, and the point is cheap: 20 runs of each point, as far as they are allowed.
    assert_eq!(case(&scenario, clear, 40), (Verdict::Holds, 20, 40));
    assert_eq!(case(&scenario, clear, 3), (Verdict::Holds, 3, 6));
    // Nothing is drawn: one.
    let still = scenario
        .replace("start = { uniform = [\"0 s\", \"1 s\"] }", "")
        .replace("[scenario]", "[scenario]\njitter = \"off\"");
    assert_eq!(case(&still, clear, 40), (Verdict::Holds, 1, 2));
    // The file says two, which is enough.
    assert_eq!(case(SCENARIO, clear, 40), (Verdict::Holds, 2, 4));
    // Two are not enough for a claim at its line: its point gets more, and the other does not.
    let clearly = library(vec![file("one", &format!("{SCENARIO}{}", claim(clear)))]);
    let (mut found, _) = replicated(&clearly, 2);
    let seen = &found[0].claims[0].cases[0].seen[0];
    let (mean, std) = seen.value.as_f64().zip(seen.std).expect("a mean and a deviation");
    // One standard error of the mean of two below the line.
    let close = format!("goodput('reno', rate='5 Mbit/s') > {}", mean + std / 2_f64.sqrt());
    let (verdict, runs, points) = case(SCENARIO, &close, 16);
    assert!(runs > 2 && points == 2 + runs, "{verdict:?} {runs} {points}");
    let both = format!("{close} and goodput('reno', rate='10 Mbit/s') > 1");
    let (mixed, points) = replicated(&library(vec![file("one", &format!("{SCENARIO}{}", claim(&both)))]), 16);
    let case = &mixed[0].claims[0].cases[0];
    assert_eq!((case.least_runs, case.runs, points), (2, runs, 2 + runs));
    // That a thousand million runs would decide, of a point of some size, stops nothing. Nor does it matter
    // that the claim counts apart.
    let mut plan = Plan::new(&clearly, clearly.select("all").expect("some")).expect("a plan");
    let claim = &mut found[0].claims[0];
    (claim.verdict, claim.found) = (Verdict::Calibrated, Verdict::Undecided);
    (claim.cases[0].verdict, claim.cases[0].runs_to_decide) = (Verdict::Undecided, Some(1e9));
    claim.cases[0].readings[0].segments = 20_000_000;
    assert!(plan.replicate_undecided(0, &found[0], 40).expect("seeds"));
}

/// A case so many standard errors from its line, whose points have these runs, segments of a run, and parts
/// of the variance.
fn undecided(errors: f64, points: &[(usize, u64, f64)]) -> Case {
    let library = library(vec![file("one", &format!("{SCENARIO}{CLAIMS}"))]);
    let mut case = run(&library, "one", None)[0].claims[0].cases[0].clone();
    let reading = case.readings[0].clone();
    let with = |&(runs, segments, _): &(usize, u64, f64)| Reading {
        seeds: (1..=runs as u64).collect(),
        segments,
        ..reading.clone()
    };
    case.readings = points.iter().map(with).collect();
    case.line.as_mut().expect("a line").variances = points.iter().map(|&(_, _, variance)| variance).collect();
    case.standard_errors = Some(errors);
    case
}

#[test]
fn runs_go_where_a_second_of_them_helps_most() {
    let grown = |points: &[(usize, u64, f64)], most| {
        let case = undecided(1.99, points);
        let of = |(it, runs): (&Reading, usize)| {
            let number = case.readings.iter().position(|other| std::ptr::eq(it, other)).expect("one of them");
            (number, runs)
        };
        super::replicate::twice(&case, most).into_iter().map(of).collect::<Vec<_>>()
    };
    const SOME: u64 = 40_000_000;
    // The third adds nothing to the error, the second a quarter as much as the first, the fourth less.
    let points = [(5, SOME, 4.0), (5, SOME, 1.0), (5, SOME, 0.0), (5, SOME, 0.9)];
    assert_eq!(grown(&points, 40), [(0, 10), (1, 10)]);
    // As much with twice as many runs, or at twice the price, is half the gain.
    assert_eq!(grown(&[(5, SOME, 1.0), (20, SOME, 1.0), (21, SOME, 1.0)], 40), [(0, 10), (1, 40)]);
    assert_eq!(grown(&[(5, SOME / 8, 1.0), (5, SOME / 2, 1.0), (5, SOME, 1.0)], 40), [(0, 10), (1, 10)]);
    // Each may have 40 runs of its own, whatever the others leave.
    assert_eq!(grown(&[(30, SOME, 1.0), (5, SOME, 0.0)], 40), [(0, 40)]);
    assert_eq!(grown(&[(40, SOME, 1.0), (5, SOME, 0.0)], 40), []);
    assert_eq!(grown(&[(40, SOME, 1.0), (5, SOME, 0.5)], 40), [(1, 10)]);
    // A single run says nothing about itself; then, and where no run moves the line, more are needed.
    assert_eq!(grown(&[(5, SOME, 1.0), (1, SOME, 0.0)], 40), [(1, 2)]);
    assert_eq!(grown(&[(5, SOME, 0.0), (4, SOME, 0.0)], 40), [(0, 10), (1, 8)]);
    // A point that delivers nothing may have a thousand times as many.
    assert_eq!(grown(&[(900, 0, 1.0)], 1), [(0, 1000)]);
    assert_eq!(grown(&[(1000, 0, 1.0)], 1), []);
}

/// Student's t does not matter here: whether the runs that are left would decide it is asked of many runs.
#[test]
fn a_tie_gets_no_more_runs_when_some_of_them_are_spent() {
    const SOME: u64 = 40_000_000;
    let goes_on = |errors: f64, points: &[(usize, u64, f64)]| {
        let case = undecided(errors, points);
        let negative = Case { standard_errors: Some(-errors), ..case.clone() };
        let grows = |case: &Case| !super::replicate::twice(case, 40).is_empty();
        assert_eq!(grows(&case), grows(&negative), "both sides of a line are alike");
        grows(&case)
    };
    // The rest is 2.6 times as much: a distance of 0 becomes 1.98 standard errors at most on either side, but
    // for one in a hundred.
    assert!(goes_on(0.0, &[(10, SOME, 1.0)]), "a quarter of the runs says nothing of the rest");
    assert!(!goes_on(0.0, &[(11, SOME, 1.0)]));
    // Twice as many runs: 0.25 standard errors become 0.35, and those that follow add 1.65 at most.
    assert!(!goes_on(0.24, &[(20, SOME, 1.0)]) && goes_on(0.26, &[(20, SOME, 1.0)]));
    assert!(!goes_on(1.5, &[(39, SOME, 1.0)]) && goes_on(1.8, &[(39, SOME, 1.0)]));
    // What a point that decides nothing may have does not help the others. Nor does a point that adds a
    // hundredth to the error, if the other one has all of its runs.
    assert!(!goes_on(0.0, &[(15, SOME, 1.0), (5, SOME, 0.0)]));
    assert!(!goes_on(1.7, &[(40, SOME, 1.0), (5, SOME, 0.01)]));
    // A point with a single run says nothing yet. Nor do a truth without numbers, and one without an error.
    assert!(goes_on(0.0, &[(30, SOME, 1.0), (1, SOME, 0.0)]));
    let without_numbers = Case { line: None, ..undecided(0.0, &[(30, SOME, 1.0)]) };
    let without_error = Case { standard_errors: None, ..undecided(0.0, &[(30, SOME, 1.0)]) };
    for case in [without_numbers, without_error] {
        assert_eq!(super::replicate::twice(&case, 40).len(), 1);
    }
}

/// The claims of two experiments are at their lines, and there is no memory for more runs of the first one.
#[test]
fn where_memory_ends_for_one_experiment_others_get_their_runs() {
    let above = |scenario: &str, line: f64| {
        let that = format!("goodput('reno', rate='5 Mbit/s') > {line}");
        format!("{scenario}[[claim]]\ntext = \"t\"\nthat = \"{that}\"\n")
    };
    let at_its_mean = |scenario: &str| {
        let (found, _) = replicated(&library(vec![file("one", &above(scenario, 1.0))]), 1);
        above(scenario, found[0].claims[0].cases[0].seen[0].value.as_f64().expect("a mean"))
    };
    let three = SCENARIO.replace("seeds = 2\n", "seeds = 3\n");
    let (one, two) = (at_its_mean(&three), at_its_mean(&three.replace("3 s", "4 s")));
    let library = library(vec![file("one", &one), file("two", &two)]);
    let mut plan = Plan::new(&library, library.select("all").expect("two")).expect("a plan");
    let more = |points: &[Point]| -> Result<_, ScenarioError> {
        let run = |point: &Point| crate::run::run_point(point, false, &AtomicBool::new(false));
        Ok(points.iter().map(|point| run(point).expect("a result")).collect::<Vec<_>>())
    };
    let results = more(plan.points()).expect("results");
    let asked = std::cell::RefCell::new(Vec::new());
    let fits = |id: &str, _, need: crate::run::MemoryEstimate| {
        asked.borrow_mut().push((id.to_owned(), need.kept));
        id != "one"
    };
    let found = plan.decide(results, 1, more, fits).expect("seeds");
    let runs = |number: usize| found[number].claims[0].cases[0].runs;
    assert_eq!((found[0].claims[0].verdict, runs(0)), (Verdict::Undecided, 3));
    assert!(runs(1) >= 6, "{}", runs(1));
    let asked = asked.into_inner();
    assert_eq!(asked.iter().filter(|(id, _)| id == "one").count(), 1, "once is enough: {asked:?}");
    assert!(asked.windows(2).skip(1).all(|pair| pair[0].1 < pair[1].1), "{asked:?}");
}

#[test]
fn what_draws_nothing_is_the_same_with_every_seed() {
    let run = |scenario: &str, seed| {
        let sweep =
            ackclock_scenario::Sweep::read("test", scenario, &[format!("seed={seed}")]).expect("a scenario");
        let point = &sweep.points[0];
        let result = crate::run::run_point(point, true, &AtomicBool::new(false)).expect("a result");
        let (series, flows) = (result.series.clone(), serde_json::to_value(&result.flows).expect("flows"));
        (result.drawn, series, flows)
    };
    let scenario = |rest: &str| {
        format!(
            "duration = \"3 s\"\n{rest}\n[topology.dumbbell]\nbottleneck = {{ rate = \"5 Mbit/s\", delay = \"10 ms\", \
             queue = {{ droptail = \"20 packets\" }} }}\n[[flows]]\ncontrol = \"reno\"\ncount = 2\n"
        )
    };
    let still = scenario("jitter = \"off\"");
    assert!(!run(&still, 1).0);
    assert_eq!(run(&still, 1), run(&still, 2));
    for drawing in [scenario(""), still + "start = { uniform = [\"0 s\", \"1 s\"] }\n"] {
        assert!(run(&drawing, 1).0, "{drawing}");
        assert_ne!(run(&drawing, 1), run(&drawing, 2), "{drawing}");
    }
}

#[test]
fn a_claim_that_counts_apart_says_what_was_found() {
    let claims = "[[claim]]\ntext = \"t\"\nthat = \"1 > 0\"\nidentity = \"one is more\"\nof = \"O1\"\n\
                  [[claim]]\ntext = \"t\"\nthat = \"1 > 2\"\ncalibrated = \"all\"\nof = \"O2\"\n\
                  [[claim]]\ntext = \"t\"\nthat = \"1 > 2\"\nof = \"O2\"\n\
                  [[claim]]\ntext = \"t\"\nthat = \"1 > 2\"\nours = true\n\
                  [[claim]]\ntext = \"t\"\nthat = \"1 > 2\"\n";
    let published = "[tiny1999]\none = 3\nanother = 4\n[other2000]\ntwo-fig-1 = 5\n";
    let published = Published::parse("published.toml", published).expect("numbers");
    let library = library(vec![file("one", claims)]).with_published(published);
    let made = run(&library, "all", None);
    let found: Vec<_> = made[0].claims.iter().map(|claim| (claim.verdict, claim.found)).collect();
    let (identity, calibrated, fails) = (Verdict::Identity, Verdict::Calibrated, Verdict::Fails);
    assert_eq!(found[..2], [(identity, Verdict::Holds), (calibrated, fails)]);
    let rows = summary(&library, &made);
    let [row] = &rows[..] else { panic!("one family") };
    let counts = Counts { identity: 1, fails: 1, ..Counts::default() };
    assert_eq!((row.published, row.represented, row.counts, row.ours, row.unlinked), (3, 2, counts, 1, 1));
}

/// A contradiction explains a failure only if its own expression holds.
#[test]
fn what_the_source_contradicts_is_counted_beside_what_fails() {
    let claim = |that: &str, shown: &str, of: &str| {
        format!(
            "[[claim]]\ntext = \"t\"\nthat = \"{that}\"\nof = \"{of}\"\n\
             contradicted = {{ by = \"Table I has 8.\", that = \"{shown}\" }}\n"
        )
    };
    let claims = [
        claim("1 > 2", "8 < 100", "O1"),
        claim("1 > 2", "8 > 100", "O2"),
        claim("2 > 1", "8 < 100", "O3"),
        // One part fails for another reason.
        claim("1 > 2", "8 < 100", "O4"),
        "[[claim]]\ntext = \"t\"\nthat = \"1 > 2\"\nof = \"O4\"\n".to_owned(),
    ];
    let published = Published::parse("published.toml", "[tiny1999]\none = 4\n").expect("numbers");
    let library = library(vec![file("one", &claims.concat())]).with_published(published);
    let made = run(&library, "all", None);
    let said: Vec<_> = made[0].claims.iter().map(|claim| claim.contradicted.is_some()).collect();
    assert_eq!(said, [true, false, false, true, false]);
    let [row] = &summary(&library, &made)[..] else { panic!("one family") };
    assert_eq!((row.counts.holds, row.counts.fails, row.contradicted), (1, 3, 1));
}

#[test]
fn a_digest_changes_with_the_files_that_count() {
    let digest = |one: &str, two: &str, three: &str| {
        let library = library(vec![file("one", one), file("two", two), file("three", three)]);
        library.digest(&[library.find("two").expect("it is there")]).expect("a digest")
    };
    let shared = "scenario = \"one\"";
    let first = digest(SCENARIO, shared, "");
    assert_eq!(first, digest(SCENARIO, shared, "notes = \"n\""));
    assert_ne!(first, digest(SCENARIO, &format!("{shared} "), ""));
    assert_ne!(first, digest(&SCENARIO.replace("3 s", "4 s"), shared, ""));
}

#[test]
fn a_shared_scenario_is_run_once_and_a_kept_point_not_again() {
    let other =
        "scenario = \"one\"\n[[claim]]\ntext = \"t\"\nthat = \"goodput('reno', rate='5 Mbit/s') > 0\"\n";
    let library = library(vec![file("one", SCENARIO), file("two", other)]);
    let directory = tempfile::tempdir().expect("a directory");
    let store = PointStore::open(directory.path(), &Build::of(b"this one")).expect("a store");
    let plan = Plan::new(&library, library.select("all").expect("two")).expect("a plan");
    assert_eq!(plan.points().len(), 4);
    let first = run(&library, "all", Some(&store));
    assert_eq!(first[1].points, 4);
    assert!(plan.points().iter().all(|point| store.contains(point)));
    let again = run(&library, "two", Some(&store));
    assert_eq!(format!("{:?}", again[0].claims), format!("{:?}", first[1].claims));
}

#[test]
fn selection() {
    let ids = ["fig-10", "fig-2", "table-1"];
    let library = library(ids.iter().map(|id| file(id, "")).collect());
    let chosen = |what: &str| {
        let chosen = library.select(what).expect("some");
        chosen.iter().map(|experiment| experiment.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(chosen("all"), ["fig-2", "fig-10", "table-1"]);
    assert_eq!(chosen("tiny1999"), chosen("all"));
    assert_eq!(chosen("fig"), ["fig-2", "fig-10"]);
    assert_eq!(chosen("fig-2"), ["fig-2"]);
    let Err(error) = library.select("tabel-1") else { panic!("there is no such thing") };
    let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
    assert!(help.is_some_and(|help| help.contains("table-1")));
}

#[test]
fn a_family_has_no_other_in_it() {
    let ids = ["ltcp-fig-26", "ltcp-dcr-fig-56", "ltcp-table-1", "ltcp-rest"];
    let library = library(ids.iter().map(|id| file(id, "")).collect());
    let chosen = |what: &str| library.select(what).expect("some").len();
    assert_eq!(["ltcp", "ltcp-dcr", "ltcp-", "ltcp-t", "all"].map(chosen), [3, 1, 4, 1, 4]);
    let families: Vec<_> = library.families().into_iter().map(|(name, _, all)| (name, all.len())).collect();
    assert_eq!(families, [("ltcp-dcr", 1), ("ltcp", 3)]);
}

#[test]
fn every_experiment_is_in_one_family() {
    let library = Library::built_in().expect("every file can be read");
    let mut ids = Vec::new();
    for (family, _, members) in library.families() {
        let selected: Vec<_> = library.select(family).expect("it is there").iter().map(|e| &e.id).collect();
        assert_eq!(selected, members.iter().map(|e| &e.id).collect::<Vec<_>>(), "{family}");
        ids.extend(selected);
    }
    assert_eq!(ids.len(), library.experiments().len());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), library.experiments().len(), "one is in two families");
}

/// As long as a family has claims whose file does not say whose they are, some may be represented by these.
#[test]
fn a_family_with_links_represents_all_that_is_published() {
    let library = Library::built_in().expect("every file can be read");
    let without_file =
        library.published().experiments().filter(|(_, id, claims)| *claims > 0 && library.find(id).is_none());
    let mut missing: Vec<_> = without_file.map(|(_, id, _)| format!("{id} has no file")).collect();
    for (family, work, members) in library.families() {
        let claims =
            || members.iter().flat_map(|experiment| experiment.claims.iter().map(move |it| (experiment, it)));
        if claims().any(|(_, claim)| claim.origin == Origin::Unlinked) {
            continue;
        }
        let represented: Vec<(&str, usize)> = claims()
            .filter(|(_, claim)| matches!(claim.origin, Origin::Source(_)))
            .flat_map(|(experiment, claim)| {
                let id = |it: &'_ Observation| it.experiment.clone().unwrap_or_else(|| experiment.id.clone());
                claim.origin.observations().iter().map(move |it| (id(it), it.number))
            })
            .map(|(id, number)| (library.find(&id).map_or("", |it| it.id.as_str()), number))
            .collect();
        let mine = |id: &str| members.iter().any(|experiment| experiment.id == id);
        let published = library.published().experiments().filter(|(of, id, _)| *of == work && mine(id));
        for (_, id, claims) in published {
            let left = (1..=claims).filter(|&number| !represented.contains(&(id, number)));
            missing.extend(left.map(|number| format!("{family}: {id} O{number}")));
        }
    }
    assert!(missing.is_empty(), "published and not represented:\n{}", missing.join("\n"));
}

#[test]
fn a_claim_says_whose_it_is() {
    let published = Published::parse("published.toml", "[tiny1999]\none = 2\nother = 4\n").expect("numbers");
    let claims =
        ["of = \"O2\"", "of = [\"O1\", \"other O4\"]", "ours = true\nof = \"O1\"", "ours = true", ""]
            .map(|keys| format!("[[claim]]\ntext = \"t\"\nthat = \"1 > 0\"\n{keys}\n"));
    let library = library(vec![file("one", &claims.concat())]).with_published(published.clone());
    let experiment = library.find("one").expect("it is there");
    check(&library, experiment).expect("it is sound");
    let said = |claim: &Claim| {
        let of: Vec<_> = claim.origin.observations().iter().map(ToString::to_string).collect();
        (matches!(claim.origin, Origin::Source(_)), matches!(claim.origin, Origin::Ours(_)), of.join(", "))
    };
    let said: Vec<_> = experiment.claims.iter().map(said).collect();
    let said: Vec<_> = said.iter().map(|(source, ours, of)| (*source, *ours, of.as_str())).collect();
    assert_eq!(
        said,
        [
            (true, false, "O2"),
            (true, false, "O1, other O4"),
            (false, true, "O1"),
            (false, true, ""),
            (false, false, "")
        ]
    );
    for (of, said) in [("O3", "2 claims are published"), ("two O1", "no publication"), ("O0", "no claim of")]
    {
        let (name, text) =
            file("one", &format!("[[claim]]\ntext = \"t\"\nthat = \"1 > 0\"\nof = \"{of}\"\n"));
        let outcome = Experiment::parse(&name, &text).and_then(|experiment| check(&library, &experiment));
        let error = outcome.expect_err(of).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_file_lies_where_it_says() {
    let (_, text) = file("one", "");
    let misplaced = Library::read(std::iter::once(("tiny1999/two.toml".to_owned(), text)));
    assert!(matches!(misplaced, Err(LibraryError::Misplaced { .. })));
}

#[test]
fn mistakes_name_line_and_key() {
    let claim = |rest: &str| format!("{SCENARIO}[[claim]]\ntext = \"t\"\n{rest}\n");
    for (text, key, said) in [
        (claim("that = \"goodput('cubic', rate='5 Mbit/s') > 1\""), "claim.0.that", "no flows called"),
        (claim("that = \"goodput('reno') > 1\""), "claim.0.that", "say which rate"),
        (claim("that = \"goodput('reno', rtt=1) > 1\""), "claim.0.that", "no axis"),
        (claim("that = \"1 + 1\""), "claim.0.that", "not true or false"),
        (claim("that = \"1 >\""), "claim.0.that", "unexpected"),
        (claim("that = \"true\"\nuntestable = \"why\""), "claim.0", "either"),
        (claim("that = \"true\"\nidentity = \"i\"\ncalibrated = \"c\""), "claim.0", "either calibrated or"),
        (claim("untestable = \"why\"\ncalibrated = \"c\""), "claim.0", "neither calibrated"),
        (claim("that = \"true\"\nof = []"), "claim.0.of", "at least one"),
        (claim("that = \"true\"\nof = \"3\""), "claim.0.of", "no claim of the source"),
        (claim("that = \"true\"\ntolerance_from = \"them\""), "claim.0.tolerance_from", "threshold"),
        (claim("that = \"true\"\nfor = { x = [] }"), "claim.0.for.x", "at least one"),
        (claim("that = \"true\"\ntired = \"x\""), "claim.0.tired", "unknown key"),
        (claim("that = \"true\"\ncontradicted = \"x\""), "claim.0.contradicted", "a table is wanted"),
        (
            claim("that = \"true\"\ncontradicted = { by = \"x\", that = \"goodput(\" }"),
            "claim.0.contradicted.that",
            "unexpected",
        ),
        (
            claim("that = \"true\"\ncontradicted = { by = \"x\", that = \"8\" }"),
            "claim.0.contradicted.that",
            "not true or false",
        ),
        (
            claim("untestable = \"why\"\ncontradicted = { by = \"x\", that = \"true\" }"),
            "claim.0.contradicted",
            "does not fail",
        ),
        ("scenario = \"two\"".to_owned(), "scenario", "no experiment"),
        ("scenario = \"fig-4.5\"".to_owned(), "scenario", "no experiment \"fig-4.5\""),
        ("scenario = \"fig-4.5.long\"".to_owned(), "scenario", "no experiment \"fig-4.5\""),
        ("pictures = [\"window\"]".to_owned(), "pictures.0", "no picture called"),
        ("[scenario]\nduraton = \"1 s\"".to_owned(), "duraton", "unknown key"),
    ] {
        let error = wrong(&text);
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string()).unwrap_or_default();
        assert!(format!("{error}; {help}").contains(said), "{text}: {error}; {help}");
        assert_eq!(error.key(), key, "{error}");
        assert!(error.line().is_some_and(|line| line > 6), "{error}");
    }
}
