//! How true an expression is, on made-up runs with known goodputs.

use super::super::{Definition, Language, Names, View};
use super::*;
use crate::dry_run::dry_run;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use proptest::prelude::*;

const SCENARIO: &str = r#"
    duration = "1 s"
    [topology.dumbbell]
    bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
    [[flows]]
    label = "a"
    control = "reno"
    [[flows]]
    label = "b"
    control = "reno"
    [sweep]
    x = [{ is = 1, seed = 1 }, { is = 2, seed = 1 }]
"#;

/// The runs of the point `x`, with these goodputs of the flows a and b.
fn runs(x: i32, goodputs: &[(f64, f64)]) -> Vec<PointResult> {
    let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
    let point = &sweep.points[0];
    let (made_up, _) = dry_run(point, &point.scenario.build().expect("a plan"), 0, 10);
    let result = |(number, &(a, b)): (usize, &(f64, f64))| {
        let mut result = made_up.clone();
        result.parameters["x"] = x.into();
        result.seed = number as u64 + 1;
        (result.flows[0].goodput_bps, result.flows[1].goodput_bps) = (a, b);
        result
    };
    goodputs.iter().enumerate().map(result).collect()
}

fn decide(points: &[Vec<PointResult>], expression: &str) -> Truth {
    let language = Language::new(&View::new(points.concat()));
    let definitions = [
        ("share", "x", "goodput('a', x=x) / (goodput('a', x=x) + goodput('b', x=x))"),
        ("more", "x", "share(x) > 0.5 and goodput('a', x=x) > 0"),
    ];
    let language = definitions.iter().fold(language, |language, (name, of, is)| {
        let [name, of, is] = [name, of, is].map(|text| (*text).to_owned());
        language.with_definition(&Definition { name, of: vec![of], is })
    });
    language.decide(expression, &Names::new()).unwrap_or_else(|error| panic!("{error}")).truth
}

/// Two runs of the first point, three of the second.
fn few() -> [Vec<PointResult>; 2] {
    [runs(1, &[(4.0, 1.0), (6.0, 3.0)]), runs(2, &[(3.0, 3.0), (3.0, 3.0), (3.0, 3.0)])]
}

#[test]
fn a_mean_has_its_standard_error() {
    // 4 and 6: mean 5, deviation sqrt(2), standard error 1.
    let truth = decide(&few(), "goodput('a', x=1) > 3.5");
    let line = truth.line.clone().expect("a line");
    assert_eq!((truth.holds, line.margin, line.standard_error), (true, 1.5, Some(1.0)));
    assert!(truth.is_undecided() && truth.runs_to_decide(2) == Some(7.0));
    // Two runs decide beyond 14.0 standard errors.
    let truth = decide(&few(), "goodput('a', x=1) > 2.5");
    assert!(truth.holds && truth.is_undecided() && truth.errors == 2.5);
    let truth = decide(&few(), "goodput('a', x=1) > -9.5");
    assert!(truth.holds && !truth.is_undecided() && truth.errors == 14.5);
    let truth = decide(&few(), "19.5 <= goodput('a', x=1)");
    assert!(!truth.holds && !truth.is_undecided() && truth.errors == -14.5);
    // 2, 4 and 6 have a standard error of 1.15, and decide beyond 4.53 of them.
    let three = [runs(1, &[(2.0, 1.0), (4.0, 1.0), (6.0, 1.0)])];
    let truth = decide(&three, "goodput('a', x=1) > -1.2");
    assert!(truth.is_undecided() && truth.errors > 4.5 && truth.runs_to_decide(3) == Some(4.0));
    assert!(!decide(&three, "goodput('a', x=1) > -1.3").is_undecided());
}

#[test]
fn the_error_of_a_line_is_that_of_its_own_points() {
    // 4 and 6, beside a point with five runs: the standard error of the first stays 1.
    let points = [
        runs(1, &[(4.0, 1.0), (6.0, 3.0)]),
        runs(2, &[(1.0, 1.0), (2.0, 1.0), (9.0, 1.0), (9.0, 1.0), (9.0, 1.0)]),
    ];
    let error = |expression: &str| decide(&points, expression).standard_error().expect("an error");
    assert_eq!(error("goodput('a', x=1) > 3.5"), 1.0);
    assert_eq!(error("goodput('a', x=1) > 3.5 and goodput('a', x=2) < 99"), 1.0);
    // Mean 6, deviation 4.12.
    let alone = error("goodput('a', x=2) > 6.1");
    assert!((alone - (17.0_f64 / 5.0).sqrt()).abs() < 1e-9, "{alone}");
    assert_eq!(error("goodput('a', x=2) > 6.1 and goodput('a', x=1) > -99"), alone);
}

#[test]
fn what_runs_have_in_common_cancels() {
    // Both flows have 2 more in the second run: their difference is always 3.
    let truth = decide(&few(), "goodput('a', x=1) - goodput('b', x=1) > 2");
    let line = truth.line.expect("a line");
    assert_eq!((line.margin, line.standard_error, truth.errors), (1.0, Some(0.0), f64::INFINITY));
    // Definitions, and comparisons inside them, are no obstacle.
    assert_eq!(decide(&few(), "more(1)").line.expect("a line").comparison, "share(x) > 0.5");
    assert!(decide(&few(), "share(1) > 0.6").standard_error().is_some_and(|error| error > 0.0));
}

impl Truth {
    fn standard_error(&self) -> Option<f64> {
        self.line.as_ref()?.standard_error
    }
}

#[test]
fn near_has_two_lines_and_a_list_one_for_each_step() {
    let margin = |expression: &str| decide(&few(), expression).line.map(|line| line.margin);
    assert_eq!(margin("near(goodput('a', x=1), 4, 3)"), Some(2.0));
    assert_eq!(margin("near(goodput('a', x=1), 6, 3)"), Some(2.0));
    // Between two lines that are near: neither is decided.
    assert!(decide(&few(), "near(goodput('a', x=1), 5, 1)").is_undecided());
    assert_eq!(margin("rises([1, goodput('a', x=2), 30])"), Some(2.0));
    assert_eq!(margin("falls([9, goodput('a', x=2), 2], 0.5)"), Some(2.5));
    assert!(!decide(&few(), "falls([1, goodput('a', x=1)])").holds);
}

#[test]
fn three_values() {
    let known = |expression: &str| {
        let truth = decide(&few(), expression);
        (!truth.is_undecided()).then_some(truth.holds)
    };
    let (yes, no, unknown) = ("goodput('a', x=1) > -10", "goodput('a', x=1) > 20", "goodput('a', x=1) > 5.5");
    assert_eq!([yes, no, unknown].map(known), [Some(true), Some(false), None]);
    assert_eq!(known(&format!("{yes} and {unknown}")), None);
    assert_eq!(known(&format!("{no} and {unknown}")), Some(false));
    assert_eq!(known(&format!("{yes} or {unknown}")), Some(true));
    assert_eq!(known(&format!("not ({no} or {unknown})")), None);
    assert_eq!(known(&format!("({yes}) if {unknown} else ({yes})")), Some(true));
    assert_eq!(known(&format!("({yes}) if {unknown} else ({no})")), None);
    // What guards against a value that does not exist still does.
    assert_eq!(known("goodput('a', x=1) < -10 and [][3] > 2"), Some(false));
}

#[test]
fn an_undecided_line_says_what_each_point_adds_to_its_error() {
    let x = |x, mean: f64, by: f64| runs(x, &[(mean + by, 3.0), (mean, 3.0), (mean, 3.0), (mean - by, 3.0)]);
    let points = [x(1, 4.0, 1.0), x(2, 6.0, 1.0), x(3, 6.1, -2.0), x(4, 9.0, 1.0)];
    let variances = |expression: &str| {
        let language = Language::new(&View::new(points.concat()));
        let Decision { truth, readings, .. } =
            language.decide(expression, &Names::new()).expect("a decision");
        let of_each = truth.line.iter().flat_map(|line| line.variances.iter().zip(&readings));
        let moving = of_each.filter(|&(&variance, _)| variance > 0.0);
        moving.map(|(&variance, it)| (it.parameters["x"].as_i64().expect("x"), variance)).collect::<Vec<_>>()
    };
    let near = |found: Vec<(i64, f64)>, expected: &[(i64, f64)]| {
        let same = |(a, b): (&(i64, f64), &(i64, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(same),
            "{found:?} {expected:?}"
        );
    };
    // Of three steps the second is at its line; the list is evaluated whole. The variances of the means are
    // 2 / 3 / 4 and 8 / 3 / 4.
    let list: Vec<_> = (1..5).map(|x| format!("goodput('a', x={x})")).collect();
    near(variances(&format!("rises([{}])", list.join(", "))), &[(2, 1.0 / 6.0), (3, 4.0 / 6.0)]);
    // What is decided does not matter, and what is always the same adds nothing.
    near(variances("goodput('a', x=4) > 3 and goodput('a', x=1) > 3.5"), &[(1, 1.0 / 6.0)]);
    near(variances("goodput('a', x=1) + goodput('b', x=2) > 6.9"), &[(1, 1.0 / 6.0)]);
    assert!(variances("goodput('a', x=1, seeds='max') > 4.9").iter().map(|&(x, _)| x).eq([1]));
    near(variances("goodput('a', x=1) > 1"), &[]);
    // A seed that is asked for stays.
    near(variances("goodput('a', x=2) > goodput('a', x=3, seed=2)"), &[(2, 1.0 / 6.0)]);
}

#[test]
fn a_point_without_chance_is_exact() {
    let truth = decide(&few(), "goodput('a', x=2) >= 3");
    assert_eq!((truth.holds, truth.errors), (true, f64::INFINITY));
    let one = [runs(1, &[(4.0, 1.0)])];
    let truth = decide(&one, "goodput('a', x=1) > 3.9");
    assert_eq!((truth.holds, truth.standard_error(), truth.errors), (true, None, f64::INFINITY));
    // Of single runs: how far the answer changes without one of them. The least is 4, or 6 without that one.
    assert_eq!(decide(&few(), "goodput('a', x=1, seeds='min') > 3").standard_error(), Some(1.0));
    // Equality is no question of means.
    let truth = decide(&few(), "goodput('a', x=1) == 4");
    assert_eq!((truth.holds, truth.errors), (false, f64::NEG_INFINITY));
}

#[test]
fn what_changes_without_one_run_and_has_no_line_is_undecided() {
    let list =
        |bound: &str| format!("([goodput('a', x=1)] | select('gt', {bound}) | list | length) == 1 in [true]");
    assert!(decide(&few(), &list("4.5")).is_undecided());
    assert!(!decide(&few(), &list("3.5")).is_undecided());
}

#[test]
fn all_readings_are_told_even_behind_what_decides() {
    let language = Language::new(&View::new(few().concat()));
    let decision = language.decide("goodput('a', x=1) > 9 and goodput('a', x=2) > 9", &Names::new());
    let readings = decision.expect("a decision").readings;
    let read: Vec<_> = readings.iter().map(|it| (it.parameters["x"].clone(), it.seeds.clone())).collect();
    assert_eq!(read, [(1.into(), vec![1, 2]), (2.into(), vec![1, 2, 3])]);
    let chosen = language.decide("goodput('a', x=1, seed=2) > 5", &Names::new()).expect("a decision");
    assert!(chosen.readings[0].chosen && !chosen.truth.is_undecided());
}

proptest! {
    #[test]
    fn a_difference_of_means_agrees_with_the_formula(
        pairs in prop::collection::vec((1.0..1e3_f64, 1.0..1e3_f64), 2..12),
        factor in 0.1..3.0_f64,
    ) {
        let truth = decide(&[runs(1, &pairs)], &format!("goodput('a', x=1) > {factor} * goodput('b', x=1)"));
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - factor * b).collect();
        let n = pairs.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let deviation = (differences.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let line = truth.line.expect("a line");
        prop_assert!((line.margin - mean).abs() < 1e-9 * 1e3);
        prop_assert!((line.standard_error.expect("an error") - deviation / n.sqrt()).abs() < 1e-6);
        prop_assert_eq!(truth.holds, line.margin > 0.0);
    }

    #[test]
    fn independent_points_add_their_variances(
        one in prop::collection::vec(1.0..1e3_f64, 2..8),
        other in prop::collection::vec(1.0..1e3_f64, 2..8),
    ) {
        // With equally many runs: pairs of equal seeds, as above. With others: never below the naive error of
        // the point with more runs, and never above the sum of both errors for as many runs as the other has.
        let pairs = |values: &[f64]| values.iter().map(|&value| (value, 1.0)).collect::<Vec<_>>();
        let points = [runs(1, &pairs(&one)), runs(2, &pairs(&other))];
        let truth = decide(&points, "goodput('a', x=1) + 0 * goodput('a', x=2) > 5");
        let alone = decide(&points[..1], "goodput('a', x=1) > 5");
        let (error, naive) = (truth.standard_error().expect("one"), alone.standard_error().expect("one"));
        let most = one.len().max(other.len()) as f64;
        let bound = ((most - 1.0) / most * one.len() as f64 / (one.len() - 1) as f64).sqrt();
        prop_assert!(error >= naive * (1.0 - 1e-9) && error <= naive * bound * (1.0 + 1e-9), "{} {}", error, naive);
    }
}
