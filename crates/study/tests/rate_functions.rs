//! Functions of rate-based flows in expectations: labels of losses, and the throughput over time.

mod common;

use ackclock_scenario::results::PointResult;
use ackclock_study::expect::{Names, View, evaluate};
use common::{dumbbell, result};

/// XRTP beside CBR, so that losses have both causes.
fn run() -> PointResult {
    let path = "rate = \"2 Mbit/s\", delay = \"40 ms\", queue = { droptail = \"20 packets\" }, loss = 0.01, \
                loss_at = \"after\"";
    let flows = "[[flows]]\nlabel = \"xrtp\"\ncontrol = { xrtp = { alpha = 0.5 } }\ncount = 2\n\
                 [[flows]]\nlabel = \"reno\"\ncontrol = \"reno\"\n\
                 [[traffic]]\nlabel = \"cbr\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n";
    let top = "duration = \"40 s\"\nmeasure = [\"4 s\", \"40 s\"]\nprobe = \"250 ms\"\n".to_owned();
    result(&(top + &dumbbell(path, flows)))
}

fn value(expression: &str, of: &PointResult) -> f64 {
    let answer = evaluate(expression, &View::new(vec![of.clone()]), &Names::new());
    answer.unwrap_or_else(|error| panic!("{error}")).as_f64().expect("a number")
}

#[test]
fn labels_are_those_of_the_flows_of_the_group() {
    let run = run();
    let labels: Vec<_> =
        run.flows.iter().filter_map(|flow| flow.rate.as_ref()).flat_map(|rate| &rate.labels).collect();
    let count = |label: &str, cause: &str, acted: Option<bool>| {
        let meant = labels.iter().filter(|it| {
            (label == "any" || it.label == label)
                && (cause == "any" || it.cause == cause)
                && acted.is_none_or(|acted| it.acted == acted)
        });
        meant.map(|it| it.count).sum::<u64>() as f64
    };
    let mut total = 0.0;
    for label in ["congestion", "transmission", "any"] {
        for cause in ["congestion", "transmission", "unknown", "any"] {
            let all = value(&format!("labelled('xrtp', '{label}', '{cause}')"), &run);
            assert_eq!(all, count(label, cause, None), "{label} {cause}");
            let acted = value(&format!("labelled('xrtp', '{label}', '{cause}', 'acted')"), &run);
            assert_eq!(acted, count(label, cause, Some(true)));
            let guarded = value(&format!("labelled('xrtp', '{label}', '{cause}', 'guarded')"), &run);
            assert_eq!(acted + guarded, all);
            if (label, cause) == ("any", "any") {
                total = all;
            }
        }
    }
    assert!(
        count("congestion", "congestion", None) > 0.0 && count("transmission", "transmission", None) > 0.0
    );
    let lost = value("lost('xrtp')", &run);
    assert!((lost - total).abs() <= 0.05 * total, "{lost} {total}"); // what is under way at the end
}

#[test]
fn the_spread_of_bins_is_that_of_the_samples() {
    let run = run();
    let series = run.series.as_ref().expect("there are probes");
    let arrived = |flow: usize| series.flows[flow].iter().map(|sample| f64::from(sample.arrived));
    let both: Vec<f64> = arrived(0).zip(arrived(1)).map(|(one, other)| one + other).collect();
    for (bin, each) in [(0.25, 1), (0.5, 2), (1.0, 4)] {
        // The first sample after the start of the window is number 17.
        let bins: Vec<f64> =
            both[17..].chunks_exact(each).map(|it| it.iter().sum::<f64>() * 8320.0 / bin).collect();
        let mean = bins.iter().sum::<f64>() / bins.len() as f64;
        let squares = bins.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>();
        let wanted = (squares / (bins.len() - 1) as f64).sqrt();
        let seen = value(&format!("throughput_std('xrtp', {bin})"), &run);
        assert!((seen - wanted).abs() <= 1e-6 * wanted, "{bin}: {seen} {wanted}");
        assert!((mean / value("throughput('xrtp')", &run) - 1.0).abs() < 0.02);
    }
    assert!(value("throughput_std('reno', 0.25, 10, 20)", &run) > 0.0);
}

#[test]
fn mistakes_are_told() {
    let run = run();
    let wrong = |expression: &str| {
        let answer = evaluate(expression, &View::new(vec![run.clone()]), &Names::new());
        answer.expect_err("it is wrong").to_string()
    };
    assert!(wrong("lost('reno')").contains("not rate-based"));
    assert!(wrong("labelled('xrtp', 'delay', 'any')").contains("'delay' is unknown"));
    assert!(wrong("throughput_std('xrtp', 0.3)").contains("not a multiple"));
    assert!(wrong("throughput_std('xrtp', 30)").contains("fewer than two"));
    assert!(wrong("throughput_std('nobody', 1)").contains("no flows"));
}
