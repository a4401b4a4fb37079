//! The language on small results.

use super::*;

fn value(expression: &str) -> serde_json::Value {
    let view = View::of_several(Vec::new());
    Language::new(&view).evaluate(expression, &Names::new()).unwrap_or_else(|error| panic!("{error}")).0
}

#[test]
fn numbers_and_lists() {
    assert_eq!(value("sqrt([4, 9])|sum"), 5.0);
    assert_eq!(value("max([1, 3], 2)"), 3.0);
    assert_eq!(value("median([5, 1, 9, 3])"), 4.0);
    assert_eq!(value("rises([1, 1, 2])"), true);
    assert_eq!(value("rises([1, 0.99, 2])"), false);
    assert_eq!(value("rises([1, 0.99, 2], 0.02)"), true);
    assert_eq!(value("falls([3, 2, 2.5])"), false);
    assert_eq!(value("first_above([8, 16, 32], [0, 2, 5], 1)"), 16.0);
    assert_eq!(value("first_above(['a', 'b'], [0, 0], 0)"), "b");
    assert_eq!(value("2 ** 0.5 == sqrt(2)"), true);
    assert_eq!(value("1e-5 * 1e5"), 1.0);
}

#[test]
fn definitions_take_lists_and_are_noted() {
    let definition =
        Definition { name: "twice".to_owned(), of: vec!["x".to_owned()], is: "ratio(x, 0.5)".to_owned() };
    let language = Language::new(&View::of_several(Vec::new())).with_definition(&definition);
    let (value, seen) = language.evaluate("twice([1, 2])|sum", &Names::new()).expect("a value");
    assert_eq!(value, 6.0);
    let calls: Vec<_> = seen.iter().map(|seen| (seen.call.as_str(), seen.depth)).collect();
    assert_eq!(calls, [("ratio(1, 0.5)", 1), ("twice(1)", 0), ("ratio(2, 0.5)", 1), ("twice(2)", 0)]);
}

#[test]
fn published_numbers_are_found_and_noted() {
    let data = serde_json::json!({"share": {"50 Mbit/s": [0.6, 0.7]}});
    let language = Language::new(&View::of_several(Vec::new())).with_published(&data);
    let (value, seen) = language
        .evaluate("published.share[rate]|max", &Names::from([("rate".to_owned(), "50 Mbit/s".into())]))
        .expect("a value");
    assert_eq!(value, 0.7);
    assert_eq!((seen[0].call.as_str(), seen[0].published), ("published.share.50 Mbit/s", true));
    assert!(language.evaluate("published.shares > 1", &Names::new()).is_err());
}

#[test]
fn analyses_have_names() {
    assert_eq!(value("response('compound', 1e-2, 0.1)|round(1)"), 12.2);
    assert_eq!(value("slope('compound', 1e-4, 1e-6, 0.1)|round(6)"), -0.8);
    assert_eq!(value("compound_period(1e-5, 0.1, 0.1).regime"), "LossLimited");
    assert_eq!(value("layered_table_1(50, 0.15, 3).threshold"), 200.0);
}

#[test]
fn parts_of_xrtp_have_names() {
    assert_eq!(value("xrtp_probes(2, 0.8)|round(3)"), 1.817);
    assert_eq!(value("xrtp_rate(2e6, 8000, 4, 0.8, xrtp_probes(4, 0.8))|round(6)"), 62.5);
    assert_eq!(value("xrtp_epoch(2e6, 8000, 4, 0.8, 4)|round(3)"), 0.128);
    assert_eq!(value("xrtp_throughput(2e6, 1, 0.8)"), 2e6);
    assert_eq!(value("xrtp_throughput_at(2e6, 8000, 4, 0.8, 4, 0.1) == xrtp_throughput(2e6, 4, 0.8)"), true);
    assert_eq!(value("xrtp_probes_with_jitter(2e6, 8000, 4, 0.9, 4, 0.2)|round(3)"), 3.666);
    assert_eq!(value("xrtp_rate_with_jitter(2e6, 8000, 4, 0.9, 4, 0, 0.2)|round(6)"), 21.25);
    assert_eq!(value("jitters([0, 0.004, 0.008], [0.040, 0.046, 0.049])|sum|round(9)"), 0.001);
    assert_eq!(value("trip_mean([0.04, 0.05, 0.07], 2)|round(9)"), 0.06);
    assert_eq!(value("trip_variance([0.04, 0.05, 0.07], 2)|round(9)"), 1e-4);
    assert_eq!(value("variant_alpha('a', [2, 0], 0.8, 0.99)|round(6)"), 0.8475);
    assert_eq!(value("variant_share('c', [2, 5, 1, 0], 2e6)"), 1e6);
    assert_eq!(value("loss_label([0, 0.004, 0.012], [0.04, 0.044, 0.052], 0.004)"), "transmission");
    assert_eq!(
        value("loss_label([0, 0.004, 0.008, 0.016], [0.04, 0.046, 0.052, 0.057], 0.004)"),
        "congestion"
    );
}

#[test]
fn what_xrtps_model_cannot_say_has_no_value() {
    for nothing in [
        "xrtp_probes(0.5, 0.8)",
        "xrtp_probes(2, 1)",
        "xrtp_rate(-2e6, 8000, 2, 0.8, 1)",
        "xrtp_epoch(2e6, 8000, 1, 0.8, 4)",
        "xrtp_epoch(2e6, 8000, 1 + 1e-12, 1 - 1e-12, 4)",
        "xrtp_throughput_at(2e6, 8000, 2, 0.8, 4, 1e30)",
        "xrtp_throughput_at(2e6, -8000, 2, 0.8, 4, 1)",
        "xrtp_throughput_at(2e6, 8000, 2, 0.8, 4, 1 / 0)",
        "xrtp_probes_with_jitter(2e6, 8000, 4, 0.9, 4, 0.1)",
    ] {
        let language = Language::new(&View::of_several(Vec::new()));
        let answer = language.judge(&format!("{nothing} > 0 or 1 > 0"), &Names::new());
        assert!(answer.is_err() || !answer.is_ok_and(|(holds, _)| holds), "{nothing}");
    }
}

#[test]
fn estimators_follow_synthesised_pairs() {
    let clean = "noise=0, expanded=0, compressed=0, seeds=1";
    // 67 samples of the drop follow 66 of 11 Mbit/s, and an average with alpha 0.5 is at 6.5 after one.
    assert_eq!(value(&format!("estimate_reaches('samples', 2, 0.01, {clean})|round(6)")), 0.01);
    assert_eq!(value(&format!("estimate_overshoot('ewma', 2, 2.02, alpha=0.5, {clean})|round(6)")), 2.25);
    assert_eq!(value(&format!("estimate_error('ewma', 2, 2.02, alpha=0.5, {clean})|round(6)")), 2.25);
    assert_eq!(value(&format!("estimate_variance('kde', 0, 2, {clean})|round(3)")), 0.0);
    assert_eq!(value("estimate_gap('kde', 'kde-quadratic', 0, 5, width=1e6) < 1e-9"), true);
    assert_eq!(value("estimate_gap('kde', 'kde-mode', 0, 5) > 0.01"), true);
    assert_eq!(value("estimate_error('kde', 0.3, 2, n=8) < estimate_error('samples', 0.3, 2)"), true);
}

#[test]
fn what_has_no_value_does_not_hold() {
    let nothing = Definition { name: "nothing".to_owned(), of: vec![], is: "0 * ratio(1, 0)".to_owned() };
    let language = Language::new(&View::of_several(Vec::new())).with_definition(&nothing);
    for claim in ["nothing() > 0.5", "nothing() < 0.5", "not nothing() > 0.5", "nothing() > 1 or 1 > 0"] {
        let (holds, seen) = language.judge(claim, &Names::new()).expect("a verdict");
        assert!(!holds, "{claim}: {seen:?}");
    }
    let (holds, seen) = language.judge("ratio(1, 0) > 1e9", &Names::new()).expect("a verdict");
    assert!(holds && seen[0].value == "infinite", "{seen:?}");
}

#[test]
fn mistakes_are_told() {
    let language = Language::new(&View::of_several(Vec::new()));
    let reason = |expression: &str| language.judge(expression, &Names::new()).expect_err("wrong").to_string();
    assert!(reason("goodput('x') > 1").contains("no scenario"));
    assert!(reason("1 + 1").contains("not true or false"));
    assert!(reason("response('rino', 1e-4, 0.1) > 1").contains("no control"));
    assert!(reason("reno_window() > 1").contains("reno_window(p)"));
    assert!(reason("first_above([1, 2], [1], 0) > 1").contains("as many values as keys"));
    assert!(reason("nothing > 1").contains("undefined"));
    assert!(reason("estimate_error('kd', 0, 5) > 1").contains("no estimator"));
    assert!(reason("estimate_error('kde', 6, 7) > 1").contains("no pair"));
    assert!(reason("estimate_error('kde', 0, 5, alpha=2) > 1").contains("from 0 to 1"));
    assert!(reason("estimate_error('kde', 0, 5, beta=2) > 1").contains("there is no beta"));
    assert!(reason("variant_alpha('d', [1], 0.8, 0.99) > 1").contains("no variant"));
    assert!(reason("jitters([], []) > 1").contains("empty"));
    assert!(reason("loss_label([0, 1], [2], 0.004) == 'x'").contains("as many arrivals"));
    assert!(reason("1 >").contains("unexpected"));
}

fn defined(functions: &[(&str, &str)]) -> Language {
    functions.iter().fold(Language::new(&View::of_several(Vec::new())), |language, (name, is)| {
        let of = vec!["x".to_owned()];
        language.with_definition(&Definition { name: (*name).to_owned(), of, is: (*is).to_owned() })
    })
}

#[test]
fn definitions_that_call_themselves_end() {
    for functions in [
        &[("f", "f(x) + 1")][..],
        &[("f", "g(x)"), ("g", "f(x)")],
        &[("f", "f(x) + f(x)")],
        &[("f", "g(x) + g(x)"), ("g", "f(x) * f(x)")],
    ] {
        let error = defined(functions).evaluate("f(1)", &Names::new()).expect_err("it has no value");
        assert!(error.reason.contains("calls itself"), "{error}");
        assert!(error.remedy.contains("[define]"), "{}", error.remedy);
    }
    // Each is sound by itself; together they would take 2^40 calls.
    let names: Vec<String> = (0..26).map(|number| format!("f{number}")).collect();
    let doubled: Vec<(String, String)> = (0..25)
        .map(|number| (names[number].clone(), format!("f{0}(x) + f{0}(x)", number + 1)))
        .chain([(names[25].clone(), "x".to_owned())])
        .collect();
    let functions: Vec<(&str, &str)> =
        doubled.iter().map(|(name, is)| (name.as_str(), is.as_str())).collect();
    let error = defined(&functions).evaluate("f0(1)", &Names::new()).expect_err("it would take too long");
    assert!(error.reason.contains("too often"), "{error}");
    assert_eq!(defined(&functions).evaluate("f20(1)", &Names::new()).expect("a value").0, 32.0);
}

#[test]
fn expressions_within_bounds_need_no_large_stack() {
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let run = small.spawn(|| {
        assert_eq!(value(&format!("1{}", "+1".repeat(490))), 491.0);
        assert_eq!(value(&format!("1{}", "|abs".repeat(490))), 1.0);
        assert_eq!(value(&format!("{}true", "not ".repeat(490))), true);
    });
    run.expect("a thread").join().expect("a small stack is enough");
    assert_eq!(value("[3, 1, 2]|sort|join('-')"), "1-2-3");
    assert_eq!(value("'a\nb'|indent(2)|length"), 5.0);
    assert_eq!(value("[1, 2, 3]|map('string')|list|length"), 3.0);
    assert_eq!(value("'%.2f'|format(1.234)"), "1.23");
}

/// A run without a false alarm has no share of them, but a number: it can be added to others.
#[test]
fn false_positives_are_counted_where_there_are_none() {
    let text = "duration = \"1 s\"\nseeds = 2\n[topology.dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"10 ms\", \
                queue = { droptail = \"10 packets\" } }\n[[flows]]\ncontrol = \"reno\"\n[predict]\n";
    let sweep = ackclock_scenario::Sweep::read("test", text, &[]).expect("a scenario");
    let plan = sweep.points[0].scenario.build().expect("a plan");
    let mut runs = Vec::new();
    for (number, alarms) in [(0, 6), (1, 0)] {
        let (mut result, _) = crate::dry_run::dry_run(&sweep.points[number], &plan, 0, 100);
        for predictor in &mut result.predictions.as_mut().expect("they are asked for").predictors {
            let losses = predictor.queue_losses.as_mut().expect("the queue is known");
            losses.transitions.high_to_low = alarms;
            // Two of six with the queue less than half full.
            let bins = [0.0, 1.0 / 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0 / 3.0];
            losses.queue_at_false_positives = (alarms > 0).then_some(bins);
        }
        runs.push(result);
    }
    let language = Language::new(&View::new(runs));
    let value = |expression: &str| language.evaluate(expression, &Names::new()).expect("a value").0;
    assert_eq!(
        value("false_positives_at('vegas', 'queue', 0, 0.5, seeds='all')"),
        serde_json::json!([2.0, 0.0])
    );
    assert_eq!(
        value("false_positives_at('vegas', 'queue', 0, 0.5) / transitions('vegas', 'queue', 5)"),
        1.0 / 3.0
    );
}
