//! Both endpoints over a path that loses, delays, reorders, duplicates and marks: whatever it does,
//! everything arrives once and in order, nothing stands still, and no window is exceeded. The checks of every
//! step are in `common::path`.

mod common;

use ackclock_cc::{schemes, slow_start};
use ackclock_registry::{Given, variants};
use ackclock_tcp::{Config, Counting, Undo};
use ackclock_units::Duration;
use common::lab::{Detection, Recovery};
use common::path::{Faults, Setup, World};
use proptest::prelude::*;

/// Every recovery with every choice that it offers.
fn recoveries() -> Vec<Recovery> {
    variants()
}

/// Every detection with every choice that it offers.
fn detections() -> Vec<Detection> {
    variants()
}

/// Every slow start with every choice that it offers.
fn slow_starts() -> Vec<slow_start::Settings> {
    variants()
}

fn config() -> impl Strategy<Value = Config> {
    let undo = prop::sample::select(vec![Undo::Never, Undo::Duplicates, Undo::Eifel]);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), undo);
    let delayed_ack = prop_oneof![Just(None), (1_u64..500).prop_map(|ms| Some(Duration::from_millis(ms)))];
    let counting = prop_oneof![Just(Counting::Acks), (1_u64..4).prop_map(Counting::Segments)];
    let windows = (1_u32..150, 1_u32..12, prop_oneof![Just(f64::INFINITY), 1.0..50.0]);
    (
        prop::sample::select(recoveries()),
        switches,
        (delayed_ack, 0_u32..20),
        counting,
        windows,
        prop::sample::select(detections()),
        prop::sample::select(slow_starts()),
    )
        .prop_map(
            |(
                recovery,
                (timestamps, ecn, limited_transmit, undo),
                (delayed_ack, quick_acks),
                counting,
                windows,
                detection,
                slow_start,
            )| {
                Config {
                    recovery,
                    timestamps,
                    ecn,
                    limited_transmit,
                    delayed_ack,
                    quick_acks,
                    counting,
                    peer_window: windows.0,
                    initial_window: f64::from(windows.1),
                    initial_ssthresh: windows.2,
                    detection,
                    slow_start,
                    undo,
                    ..Config::default()
                }
            },
        )
}

/// Probabilities of faults, from none to hardly bearable.
fn faults() -> impl Strategy<Value = Faults> {
    let drops = prop::collection::vec(0_u64..60, 0..12);
    let often = || prop_oneof![3 => Just(0.0), 2 => 0.0..0.05, 1 => 0.0..0.3];
    (drops, often(), often(), often(), 1_u64..300, often()).prop_map(
        |(drops, loss, duplicate, reorder, hold, mark)| Faults {
            drops,
            loss,
            duplicate,
            reorder,
            hold: Duration::from_millis(hold),
            mark,
            ..Faults::default()
        },
    )
}

fn setup() -> impl Strategy<Value = Setup> {
    let path = (0_u64..300, 1_u64..20_000, prop_oneof![Just(u64::MAX), 2_u64..40]);
    let names: Vec<_> = schemes().iter().map(|scheme| scheme.name).collect();
    (config(), prop::sample::select(names), 0_u64..300, path, faults(), faults(), any::<u64>()).prop_map(
        |(config, scheme, segments, (delay, spacing, buffer), forward, reverse, seed)| Setup {
            config,
            scheme,
            segments,
            delay: Duration::from_millis(delay),
            spacing: Duration::from_micros(spacing),
            buffer,
            forward,
            reverse,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Completion, order, conservation, windows, timers, one cut per episode: see `World`.
    #[test]
    fn every_transfer_completes(setup in setup()) {
        World::run(&setup);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_same_input_gives_the_same_story(setup in setup()) {
        prop_assert_eq!(World::run(&setup), World::run(&setup));
    }

    /// A path without faults, and a receiver that does not let the queue outlast the first timeout.
    #[test]
    fn nothing_is_sent_twice_without_need(setup in setup()) {
        let (forward, reverse) = (Faults::default(), Faults::default());
        let (spacing, delay) = (Duration::from_millis(2), setup.delay.min(Duration::from_millis(100)));
        // RFC 6298 section 5 and RFC 5681 section 4.2: an acknowledgement may be delayed by less than the
        // timeout.
        let delayed_ack = setup.config.delayed_ack.map(|delay| delay.min(Duration::from_millis(100)));
        // RFC 8985 section 7 probes after two round trips, which a queue or a delayed acknowledgement
        // outlasts.
        let mut detection = setup.config.detection.clone();
        if detection.name() == "rack" {
            detection.set("tail_loss_probe", Given::Flag(false)).expect("a switch");
        }
        let config = Config { delayed_ack, detection, rto_min: Duration::from_secs(1), ..setup.config.clone() };
        let story = World::run(&Setup { forward, reverse, spacing, delay, buffer: u64::MAX, config, ..setup });
        prop_assert_eq!(story.again(), vec![]);
        prop_assert_eq!(story.counters.window_cuts, 0);
    }
}

/// Every combination of controller, recovery, detection and switches over one path with every fault. Slow
/// starts take turns.
#[test]
fn every_combination_completes() {
    let both = [false, true];
    let faults = |loss| Faults {
        drops: vec![3, 7, 8, 20],
        loss,
        duplicate: 0.02,
        reorder: 0.05,
        hold: Duration::from_millis(20),
        mark: 0.03,
        ..Faults::default()
    };
    let with_each = |recovery: Recovery| detections().into_iter().map(move |it| (recovery.clone(), it));
    let slow_starts: Vec<_> =
        slow_start::schemes().iter().map(|scheme| slow_start::Settings::defaults(scheme)).collect();
    let combinations = recoveries().into_iter().flat_map(with_each);
    for (recovery, detection) in combinations {
        for switches in 0..32 {
            let on = |bit: u32| both[switches >> bit & 1];
            for (at, scheme) in schemes().iter().enumerate() {
                let config = Config {
                    recovery: recovery.clone(),
                    detection: detection.clone(),
                    slow_start: slow_starts[(switches + at) % slow_starts.len()].clone(),
                    timestamps: on(0),
                    ecn: on(1),
                    limited_transmit: on(2),
                    counting: if on(3) { Counting::Acks } else { Counting::Segments(2) },
                    delayed_ack: on(4).then_some(Duration::from_millis(100)),
                    peer_window: 60,
                    ..Config::default()
                };
                let setup = Setup::new(config, scheme.name, 150);
                World::run(&Setup { forward: faults(0.03), reverse: faults(0.03), buffer: 30, ..setup });
            }
        }
    }
}
