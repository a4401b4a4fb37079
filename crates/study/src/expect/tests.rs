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
