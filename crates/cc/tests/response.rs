//! The controllers themselves against the response functions of their analyses: periodic loss, no queue.

mod host;

use ackclock_cc::analysis;
use ackclock_cc::{Given, Scheme, Settings, scheme};
use ackclock_units::Duration;
use host::average_window;

const RTT: Duration = Duration::from_millis(100);

fn settings(name: &str, change: &[(&str, Given<'_>)]) -> (&'static Scheme, Settings) {
    let scheme = scheme(name).expect("the scheme is there");
    let mut settings = Settings::defaults(scheme);
    for &(parameter, given) in change {
        settings.set(parameter, given).expect("in its domain");
    }
    (scheme, settings)
}

/// Average window of the running controller over that of its analysis.
fn against(name: &str, change: &[(&str, Given<'_>)], p: f64, analysis: f64) -> f64 {
    let (scheme, settings) = settings(name, change);
    let ratio = average_window(scheme, &settings, p, RTT, 12) / analysis;
    println!("{name} {change:?} at {p}: {ratio:.4}");
    ratio
}

#[test]
fn reno_follows_the_square_root_law() {
    for p in [1e-3, 1e-4, 1e-5] {
        let ratio = against("reno", &[], p, analysis::reno_window(p));
        assert!((ratio - 1.0).abs() < 0.02, "{p}: {ratio}");
    }
}

#[test]
fn scalable_follows_its_rule() {
    for p in [1e-4, 1e-5] {
        let ratio = against("scalable", &[], p, analysis::scalable_window(0.01, 0.125, p));
        assert!((ratio - 1.0).abs() < 0.01, "{p}: {ratio}");
    }
}

#[test]
fn highspeed_follows_its_response_function() {
    let (_, defaults) = settings("highspeed", &[]);
    let law = analysis::HighSpeedLaw::new(&defaults);
    for p in [1e-4, 1e-5, 1e-6] {
        let ratio = against("highspeed", &[], p, law.window(p));
        assert!((ratio - 1.0).abs() < 0.05, "{p}: {ratio}");
    }
}

#[test]
fn layered_follows_equation_3_20() {
    // Figure 27: C K_R^0.6 / p^0.6 within 10 % for p up to 1e-4, C = 1.980, K_R = 1.
    let alone = [("rtt_exponent", Given::Number(0.0))];
    for p in [1e-4, 1e-5, 1e-6] {
        let ratio = against("layered", &alone, p, 1.980 / p.powf(0.6));
        assert!((ratio - 1.0).abs() < 0.10, "{p}: {ratio}");
    }
    // And with compensation, K_R = 12.5^(1/3) at 100 ms.
    for p in [1e-5, 1e-6] {
        let ratio = against("layered", &[], p, 1.980 * (12.5f64.cbrt() / p).powf(0.6));
        assert!((ratio - 1.0).abs() < 0.10, "{p}: {ratio}");
    }
}

#[test]
fn layered_with_the_variable_decrease_follows_its_equation() {
    for word in ["linear", "reciprocal"] {
        let variable = [
            ("decrease", Given::Word("variable")),
            ("interpolation", Given::Word(word)),
            ("rtt_exponent", Given::Number(0.0)),
        ];
        for p in [1e-4, 1e-5, 1e-6] {
            let ratio = against("layered", &variable, p, analysis::layered::response_variable(50.0, 1.0, p));
            assert!((ratio - 1.0).abs() < 0.10, "{word} {p}: {ratio}");
        }
    }
}

#[test]
fn compound_follows_equation_17() {
    // Tan et al. 2006, figure 5: 0.25528 / p^0.8 without a queue, the gate on the whole window.
    for p in [1e-4, 1e-5, 1e-6] {
        let ratio = against("compound", &[], p, 0.25528 / p.powf(0.8));
        assert!((ratio - 1.0).abs() < 0.06, "{p}: {ratio}");
    }
}

#[test]
fn compound_gated_on_its_loss_window_stays_below_highspeed_at_1e_4() {
    // Why the gate is on the whole window: the other reading contradicts figures 5 and 8.
    let (_, defaults) = settings("highspeed", &[]);
    let highspeed = analysis::HighSpeedLaw::new(&defaults).window(1e-4);
    let gated = [("gate", Given::Word("loss_window")), ("below_lowwnd", Given::Word("clear"))];
    assert!(against("compound", &gated, 1e-4, highspeed) < 1.0);
    assert!(against("compound", &[], 1e-4, highspeed) > 1.3);
}
