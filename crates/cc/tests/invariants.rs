//! What must hold inside a controller, whatever happens to its connection.

mod host;

use ackclock_cc::analysis::layered::threshold;
use ackclock_cc::{Given, Settings, Signal, Window, scheme};
use host::{Happening, Host};
use proptest::prelude::*;

/// Mostly clean ACKs, so that windows get large, with losses, timeouts and the rest in between. Round-trip
/// times stay near 100 ms, so that a delay-based part sees a short queue, a long one or none.
fn happening() -> impl Strategy<Value = Happening> {
    let acked = prop_oneof![5 => 1u32..30, 1 => 30u32..5000];
    let rtt_us = prop_oneof![9 => 100_000u32..104_000, 1 => 100_000u32..400_000];
    prop_oneof![
        200 => (acked, rtt_us).prop_map(|(acked, rtt_us)| Happening::Ack {
            acked, rtt_us, draw: 0.5, limited: true
        }),
        4 => Just(Happening::Cut(Signal::Loss)),
        1 => Just(Happening::Cut(Signal::Timeout)),
        30 => Just(Happening::Recovered),
        1 => Just(Happening::Spurious),
        1 => Just(Happening::Idle),
        1 => (1u32..100_000).prop_map(Happening::Receiver),
    ]
}

/// A connection past slow start with a window of `cwnd` segments.
fn host(name: &str, cwnd: f64, words: &[(&str, &str)]) -> Host {
    let mut settings = Settings::defaults(scheme(name).expect("the scheme is there"));
    for &(parameter, word) in words {
        settings.set(parameter, Given::Word(word)).expect("a known word");
    }
    let mut host = Host::new(&settings);
    host.w = Window { cwnd, ssthresh: 2.0, pacing: None };
    host.step(&Happening::Ack { acked: 1, rtt_us: 100_000, draw: 0.5, limited: true });
    host
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Figure 26: W_K <= W < W_(K+1) outside recovery.
    #[test]
    fn the_layer_is_that_of_the_window(
        cwnd in 2.0f64..200_000.0,
        happenings in prop::collection::vec(happening(), 1..400),
        decrease in prop::sample::select(vec!["fixed", "variable"]),
        layers in prop::sample::select(vec!["fractional", "integer"]),
    ) {
        let mut host = host("layered", cwnd, &[("decrease", decrease), ("layers", layers)]);
        for happening in &happenings {
            host.step(happening);
            // The layer is looked up when the window grows.
            let grew = matches!(happening, Happening::Ack { .. }) && !host.path.recovering;
            if grew {
                let (k, cwnd) = (host.inspect("layer").floor(), host.w.cwnd);
                let (low, high) = (threshold(50.0, k), threshold(50.0, k + 1.0));
                prop_assert!(low <= cwnd && cwnd < high, "layer {k} at {cwnd}");
            }
        }
    }

    /// Equation 3.13: a loss in congestion avoidance costs at most one layer (for the fixed decrease: up to
    /// layer 18).
    #[test]
    fn a_loss_costs_at_most_one_layer(
        cwnd in 2.0f64..70_000.0,
        happenings in prop::collection::vec(happening(), 1..400),
        decrease in prop::sample::select(vec!["fixed", "variable"]),
    ) {
        let mut host = host("layered", cwnd, &[("decrease", decrease)]);
        for happening in &happenings {
            let before = host.w.cwnd;
            let first = !host.path.recovering && !host.w.in_slow_start();
            host.step(happening);
            if matches!(happening, Happening::Cut(Signal::Loss)) && first && (50.0..57_000.0).contains(&before) {
                let layer = |w: f64| ackclock_cc::analysis::layered::layer_at(50.0, w);
                prop_assert!(layer(host.w.cwnd) >= layer(before) - 1.0, "{before} to {}", host.w.cwnd);
            }
        }
    }

    /// dwnd is never negative, and the whole window never below the loss window: never slower than Reno.
    #[test]
    fn the_whole_window_holds_the_loss_window(
        cwnd in 2.0f64..1000.0,
        happenings in prop::collection::vec(happening(), 1..400),
        gate in prop::sample::select(vec!["window", "loss_window"]),
        below in prop::sample::select(vec!["keep", "clear"]),
        mean in prop::sample::select(vec!["round", "smoothed"]),
    ) {
        let mut host = host("compound", cwnd, &[("gate", gate), ("below_lowwnd", below), ("mean", mean)]);
        for happening in &happenings {
            host.step(happening);
            let (dwnd, loss_window) = (host.inspect("dwnd"), host.inspect("loss_window"));
            prop_assert!(dwnd >= 0.0, "{dwnd} after {happening:?}");
            if !host.path.recovering {
                prop_assert!(host.w.cwnd >= loss_window, "{} < {loss_window} after {happening:?}", host.w.cwnd);
            }
            if !host.path.recovering && !host.w.in_slow_start() {
                let sum = loss_window + dwnd;
                let apart = (host.w.cwnd - sum).abs();
                prop_assert!(apart <= 1e-9 * sum.max(1.0), "{} != {sum} after {happening:?}", host.w.cwnd);
            }
        }
    }

    /// Compound's cut keeps at least half of the loss window and of what the receiver allows.
    #[test]
    fn compound_never_cuts_deeper_than_reno(
        cwnd in 2.0f64..1000.0,
        happenings in prop::collection::vec(happening(), 1..400),
    ) {
        let mut host = host("compound", cwnd, &[]);
        for happening in &happenings {
            let (before, first) = (host.w.cwnd, !host.path.recovering);
            host.step(happening);
            if matches!(happening, Happening::Cut(Signal::Loss)) && first {
                let floor = before.min(host.path.peer_window) / 2.0;
                prop_assert!(host.w.cwnd >= floor * (1.0 - 1e-12), "{before} to {}", host.w.cwnd);
            }
        }
    }
}
