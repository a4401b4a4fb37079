//! Compound TCP on small exact examples.

use super::*;
use crate::{Given, scheme};

fn compound(words: &[(&str, &str)]) -> Compound {
    let mut settings = Settings::defaults(scheme("compound").expect("compound is there"));
    for &(name, word) in words {
        let given = match word {
            "true" | "false" => Given::Flag(word == "true"),
            _ => Given::Word(word),
        };
        settings.set(name, given).expect("a known word");
    }
    Compound::new(&settings)
}

/// Congestion avoidance at `cwnd`.
fn avoidance(cwnd: f64) -> Window {
    Window { cwnd, ssthresh: 1.0, pacing: None }
}

/// One round of 100 ACKs with these round-trip times, without growth of the loss window.
fn round(ctcp: &mut Compound, w: &mut Window, rtt_ms: impl Fn(u64) -> u64) {
    let mut path = Path { srtt: Duration::from_millis(100), una: 0, nxt: 100, ..Path::default() };
    for una in 0..=101 {
        path.una = una;
        let rtt = Some(Duration::from_millis(rtt_ms(una)));
        ctcp.on_sample(&path, &Ack { acked: 1.0, rtt, ..Ack::default() }, w);
    }
    ctcp.round.open = false;
}

#[test]
fn the_delay_part_adds_alpha_win_to_the_k_less_one() {
    let mut ctcp = compound(&[]);
    let mut w = avoidance(256.0);
    round(&mut ctcp, &mut w, |_| 100);
    assert_eq!(ctcp.dwnd, 7.0); // 256^0.75 / 8 - 1
    assert_eq!(w.cwnd, 263.0);
    assert_eq!(ctcp.loss_window, 256.0);
}

#[test]
fn the_delay_part_retreats_by_the_backlog() {
    let mut ctcp = compound(&[]);
    let mut w = avoidance(256.0);
    ctcp.base_rtt = Duration::from_millis(75);
    ctcp.dwnd = 100.0;
    round(&mut ctcp, &mut w, |_| 100);
    assert_eq!(ctcp.diff, 64.0);
    assert_eq!((ctcp.dwnd, ctcp.loss_window, w.cwnd), (36.0, 156.0, 192.0));
    // Again: 192 / 4 = 48 is more than dwnd.
    round(&mut ctcp, &mut w, |_| 100);
    assert_eq!((ctcp.dwnd, w.cwnd), (0.0, 156.0));
    let mut nwr = compound(&[("window_reduction", "false")]);
    nwr.base_rtt = Duration::from_millis(75);
    nwr.dwnd = 100.0;
    let mut w = avoidance(256.0);
    round(&mut nwr, &mut w, |_| 100);
    assert_eq!((nwr.dwnd, w.cwnd), (100.0, 256.0));
}

#[test]
fn a_retreat_below_the_threshold_does_not_start_slow_start() {
    let mut ctcp = compound(&[]);
    let mut w = Window { cwnd: 256.0, ssthresh: 256.0, pacing: None };
    ctcp.base_rtt = Duration::from_millis(75);
    ctcp.dwnd = 100.0;
    round(&mut ctcp, &mut w, |_| 100);
    assert!(w.cwnd < 256.0 && !w.in_slow_start());
}

#[test]
fn the_rounds_average_counts_and_not_the_smoothed_time() {
    // Half the samples at 100 ms, half at 300 ms: 200 ms, half the window is backlog.
    let mut ctcp = compound(&[]);
    let mut w = avoidance(100.0);
    ctcp.dwnd = 60.0;
    round(&mut ctcp, &mut w, |una| if una % 2 == 0 { 100 } else { 300 });
    assert!((ctcp.diff - 50.0).abs() < 1.0, "{}", ctcp.diff);
    // The smoothed time is 100 ms in this test.
    let mut smoothed = compound(&[("mean", "smoothed")]);
    let mut w = avoidance(100.0);
    round(&mut smoothed, &mut w, |una| if una % 2 == 0 { 100 } else { 300 });
    assert_eq!(smoothed.diff, 0.0);
}

#[test]
fn samples_are_spread_and_at_most_rtt_over_delta() {
    let path = Path { srtt: Duration::from_millis(20), una: 1000, nxt: 3000, ..Path::default() };
    let mut round = Round::start(&path, 2000.0, Duration::from_millis(1));
    let mut at = Vec::new();
    for una in 1000..=3000 {
        let before = round.taken;
        round.take(una, Duration::from_millis(20));
        if round.taken > before {
            at.push(una);
        }
    }
    assert_eq!(at, (0..20).map(|i| 1000 + 100 * i).collect::<Vec<u64>>());
}

#[test]
fn too_few_samples_change_nothing() {
    let mut ctcp = compound(&[]);
    let mut w = avoidance(256.0);
    let mut path = Path { srtt: Duration::from_millis(100), nxt: 100, ..Path::default() };
    for una in 0..=101 {
        path.una = una;
        let rtt = (una % 25 == 1).then_some(Duration::from_millis(100)); // five of them
        ctcp.on_sample(&path, &Ack { rtt, ..Ack::default() }, &mut w);
    }
    assert_eq!((ctcp.dwnd, w.cwnd), (0.0, 256.0));
}

#[test]
fn nothing_below_lowwnd() {
    let mut ctcp = compound(&[]);
    let mut w = avoidance(40.9);
    ctcp.dwnd = 10.0;
    round(&mut ctcp, &mut w, |_| 100);
    assert_eq!((ctcp.dwnd, w.cwnd), (10.0, 40.9));
    let mut clear = compound(&[("below_lowwnd", "clear")]);
    clear.dwnd = 10.0;
    round(&mut clear, &mut w, |_| 100);
    assert_eq!(clear.dwnd, 0.0);
    assert!((w.cwnd - 30.9).abs() < 1e-12);
    // From 41 segments on the delay part adds at least one segment (section V).
    let mut w = avoidance(41.0);
    round(&mut ctcp, &mut w, |_| 100);
    assert!(w.cwnd - 41.0 >= 1.0, "{}", w.cwnd);
    // With the gate on the loss window, the gate stays closed while dwnd has the larger part.
    let mut gated = compound(&[("gate", "loss_window")]);
    gated.dwnd = 60.0;
    let mut w = avoidance(100.0);
    round(&mut gated, &mut w, |_| 100);
    assert_eq!(w.cwnd, 100.0);
}

#[test]
fn the_loss_window_grows_by_one_segment_per_whole_window() {
    let mut ctcp = compound(&[]);
    ctcp.dwnd = 60.0;
    let mut w = avoidance(100.0);
    ctcp.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
    assert_eq!((w.cwnd, ctcp.dwnd), (100.01, 60.0));
    assert!((ctcp.loss_window - 40.01).abs() < 1e-12);
}

#[test]
fn a_loss_halves_both_parts_and_a_timeout_ends_the_delay_part() {
    let mut ctcp = compound(&[]);
    ctcp.dwnd = 60.0;
    let mut w = avoidance(100.0);
    assert_eq!(ctcp.cut(&Path::default(), &w, Signal::Loss), Some(50.0));
    assert_eq!((ctcp.dwnd, ctcp.loss_window), (30.0, 20.0));
    w.cwnd = 50.0;
    ctcp.on_event(&Path::default(), Event::Recovered, &mut w);
    assert_eq!((ctcp.dwnd, ctcp.loss_window), (30.0, 20.0));
    assert_eq!(ctcp.cut(&Path::default(), &w, Signal::Timeout), Some(25.0));
    assert_eq!(ctcp.dwnd, 0.0);
    // The reduction is spurious: both parts are restored.
    ctcp.on_event(&Path::default(), Event::Spurious, &mut w);
    assert_eq!((ctcp.dwnd, ctcp.loss_window), (30.0, 20.0));
}

#[test]
fn a_host_that_ends_recovery_below_the_threshold_finds_both_parts_again() {
    let mut ctcp = compound(&[]);
    ctcp.dwnd = 60.0;
    let mut w = avoidance(100.0);
    w.ssthresh = ctcp.cut(&Path::default(), &w, Signal::Loss).expect("it reacts");
    w.cwnd = 3.0; // RFC 6582: what is in flight, plus one
    ctcp.on_event(&Path::default(), Event::Recovered, &mut w);
    ctcp.grow(&Path::default(), &Ack { acked: 47.0, ..Ack::default() }, &mut w);
    assert_eq!((w.cwnd, ctcp.dwnd, ctcp.loss_window), (50.0, 30.0, 20.0));
}

#[test]
fn a_receiver_that_limits_the_window_limits_what_is_kept() {
    let mut ctcp = compound(&[]);
    ctcp.dwnd = 60.0;
    let path = Path { peer_window: 60.0, ..Path::default() };
    assert_eq!(ctcp.cut(&path, &avoidance(100.0), Signal::Loss), Some(30.0)); // 20 + (60 / 2 - 20)
    ctcp.dwnd = 10.0;
    assert_eq!(ctcp.cut(&path, &avoidance(100.0), Signal::Loss), Some(45.0)); // never less than Reno
}

#[test]
fn recovery_freezes_the_delay_part() {
    let mut ctcp = compound(&[]);
    let mut w = avoidance(256.0);
    let mut path = Path { srtt: Duration::from_millis(100), nxt: 100, recovering: true, ..Path::default() };
    for una in 0..=300 {
        path.una = una;
        let rtt = Some(Duration::from_millis(100));
        ctcp.on_sample(&path, &Ack { rtt, ..Ack::default() }, &mut w);
    }
    assert_eq!((ctcp.dwnd, w.cwnd, ctcp.base_rtt), (0.0, 256.0, Duration::MAX));
}

#[test]
fn idleness_drops_the_delay_window() {
    let mut ctcp = compound(&[]);
    ctcp.dwnd = 60.0;
    let mut w = avoidance(100.0);
    ctcp.split(&w);
    ctcp.on_event(&Path::default(), Event::Idle, &mut w);
    assert_eq!((w.cwnd, ctcp.dwnd, ctcp.loss_window), (40.0, 0.0, 40.0));
}

#[test]
fn the_response_function_of_the_paper() {
    // Equations 16 and 17, line 1, with alpha = 1/8, beta = 1/2, k = 3/4.
    assert!((peak(0.125, 0.5, 0.75, 1.0) - 0.35041).abs() < 5e-6);
    assert!((response(0.125, 0.5, 0.75, 1.0) - 0.25528).abs() < 5e-6);
    for (p, w) in [(1e-3, 64.1), (1e-4, 404.6), (1e-5, 2553.0), (1e-6, 16107.0), (1e-7, 101_630.0)] {
        assert!((response(0.125, 0.5, 0.75, p) / w - 1.0).abs() < 5e-4, "{p}");
    }
    // Below lowwnd it is Reno: 12.2 at one loss in a hundred.
    let settings = Settings::defaults(scheme("compound").expect("compound is there"));
    let response = SCHEME.response.expect("there is one");
    assert!((response(&settings, 1e-2, 0.1) - 12.2).abs() < 0.05);
}
