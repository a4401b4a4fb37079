//! PERT on small exact examples.

use super::*;
use crate::scheme;

fn pert(given: &[(&str, Given<'_>)]) -> Pert {
    let mut settings = Settings::defaults(scheme("pert").expect("pert is there"));
    for &(name, value) in given {
        settings.set(name, value).expect("in its domain");
    }
    Pert::new(&settings)
}

/// An acknowledgement after `ms` milliseconds with this round-trip time, on a path of 60 ms, with a draw of
/// 0. So a response follows if its probability is above zero.
fn ack(pert: &mut Pert, w: &mut Window, ms: u64, rtt_ms: Option<u64>) {
    let path = Path {
        now: Time::from_nanos(ms * 1_000_000),
        srtt: Duration::from_millis(70),
        rtt_min: Duration::from_millis(60),
        una: ms,
        nxt: ms + 100,
        ..Path::default()
    };
    let ack = Ack { acked: 1.0, rtt: rtt_ms.map(Duration::from_millis), ..Ack::default() };
    pert.on_sample(&path, &ack, w);
}

fn avoidance(cwnd: f64) -> Window {
    Window { cwnd, ssthresh: 1.0, pacing: None }
}

#[test]
fn an_early_response_gives_up_35_per_cent_once_per_round_trip() {
    let mut w = avoidance(100.0);
    let mut pert = pert(&[]);
    ack(&mut pert, &mut w, 0, Some(66));
    assert_eq!((w.cwnd, w.ssthresh), (65.0, 65.0));
    ack(&mut pert, &mut w, 69, Some(66));
    assert_eq!(w.cwnd, 65.0);
    ack(&mut pert, &mut w, 70, Some(66));
    assert_eq!(w.cwnd, 42.25);
}

#[test]
fn below_the_threshold_and_without_a_sample_nothing_happens() {
    let mut w = avoidance(100.0);
    let mut pert = pert(&[]);
    ack(&mut pert, &mut w, 0, None);
    for ms in 1..100 {
        ack(&mut pert, &mut w, ms, Some(65));
    }
    assert_eq!(w.cwnd, 100.0);
}

#[test]
fn the_average_lags_behind_the_samples() {
    let mut w = avoidance(100.0);
    let mut pert = pert(&[]);
    ack(&mut pert, &mut w, 0, Some(60));
    // 60 + 40 (1 - 0.99^n) first exceeds 65 at n = 14.
    for ms in 1..=13 {
        ack(&mut pert, &mut w, ms, Some(100));
    }
    assert_eq!(w.cwnd, 100.0);
    ack(&mut pert, &mut w, 14, Some(100));
    assert_eq!(w.cwnd, 65.0);
}

#[test]
fn over_layered_the_layer_says_how_much() {
    let mut layered = Settings::defaults(scheme("layered").expect("layered is there"));
    layered.set("decrease", Given::Word("variable")).expect("a known word");
    let mut w = avoidance(8250.0);
    ack(&mut pert(&[("over", Given::Control(&layered))]), &mut w, 0, Some(66));
    assert!((w.cwnd - 7500.0).abs() < 1e-9, "{}", w.cwnd); // 1 / 11 in layer 10
    let mut w = avoidance(8250.0);
    let mut by_share = pert(&[("over", Given::Control(&layered)), ("cut", Given::Word("share"))]);
    ack(&mut by_share, &mut w, 0, Some(66));
    assert!((w.cwnd - 0.65 * 8250.0).abs() < 1e-9);
}

/// V.B.2: beta_K, also where slow start ends; only a loss in slow start halves.
#[test]
fn over_layered_slow_start_ends_by_the_share_of_the_layer() {
    let layered = Settings::defaults(scheme("layered").expect("layered is there"));
    let mut pert = pert(&[("over", Given::Control(&layered))]);
    let mut w = Window { cwnd: 1000.0, ssthresh: 1e9, pacing: None };
    assert_eq!(pert.cut(&Path::default(), &w, Signal::Loss), Some(500.0));
    ack(&mut pert, &mut w, 0, Some(66));
    assert_eq!((w.cwnd, w.in_slow_start()), (850.0, false));
}

#[test]
fn a_controller_that_does_not_react_does_not_respond_early() {
    let mut w = avoidance(100.0);
    ack(&mut pert(&[("over", Given::Word("none")), ("cut", Given::Word("share"))]), &mut w, 0, Some(90));
    assert_eq!(w.ssthresh, 1.0);
}

#[test]
fn the_switches_of_slow_start_and_of_the_least_window() {
    let mut w = Window { cwnd: 100.0, ssthresh: 1e9, pacing: None };
    ack(&mut pert(&[("slow_start", Given::Word("ignore"))]), &mut w, 0, Some(66));
    assert_eq!(w.cwnd, 100.0);
    ack(&mut pert(&[]), &mut w, 0, Some(66));
    assert_eq!((w.cwnd, w.in_slow_start()), (65.0, false));
    let mut least = avoidance(2.5);
    ack(&mut pert(&[]), &mut least, 0, Some(66));
    assert_eq!(least.cwnd, 2.0);
    let mut after_a_timeout = avoidance(1.0);
    ack(&mut pert(&[]), &mut after_a_timeout, 0, Some(66));
    assert_eq!(after_a_timeout.cwnd, 1.0);
}

#[test]
fn the_clocks_of_once_per_round_trip() {
    for (clock, before, at) in [("srtt", 69, 70), ("average", 65, 66), ("base", 59, 60), ("window", 100, 101)]
    {
        let mut w = avoidance(100.0);
        let mut pert = pert(&[("clock", Given::Word(clock))]);
        for ms in [0, before, at] {
            let was = w.cwnd;
            ack(&mut pert, &mut w, ms, Some(66));
            assert_eq!(w.cwnd < was, ms != before, "{clock} at {ms}");
        }
    }
}

#[test]
fn a_stale_average_responds_unless_samples_are_awaited() {
    for (samples, left) in [(0.0, 42.25), (1.0, 65.0)] {
        let mut w = avoidance(100.0);
        let mut pert = pert(&[("samples", Given::Number(samples))]);
        ack(&mut pert, &mut w, 0, Some(66));
        ack(&mut pert, &mut w, 80, None); // a duplicate
        assert_eq!(w.cwnd, left);
        ack(&mut pert, &mut w, 150, Some(66));
        assert!(w.cwnd < left);
    }
}

#[test]
fn the_conservative_predictor_forgets_a_queue_that_has_gone() {
    for (follow, responds) in [("average", true), ("below", false)] {
        let mut w = avoidance(100.0);
        let mut pert = pert(&[("follow", Given::Word(follow))]);
        ack(&mut pert, &mut w, 0, Some(90));
        let was = w.cwnd;
        ack(&mut pert, &mut w, 100, Some(61));
        assert_eq!(w.cwnd < was, responds);
    }
}

#[test]
fn while_a_loss_is_repaired_there_is_no_response() {
    let mut w = avoidance(100.0);
    let mut pert = pert(&[]);
    let path = Path { rtt_min: Duration::from_millis(60), recovering: true, ..Path::default() };
    let late = Ack { rtt: Some(Duration::from_millis(200)), ..Ack::default() };
    pert.on_sample(&path, &late, &mut w);
    assert_eq!(w.cwnd, 100.0);
    assert_eq!(pert.cut(&path, &w, Signal::Loss), Some(50.0));
}
