//! The driver by itself: each rule once, and any sequence of events.

mod allocations;
mod beside;
mod recorded;

use super::*;
use crate::controller;
use ackclock_cc::{NOQ, QUINN, S2N_QUIC, schemes};
use proptest::prelude::*;

pub(super) const MTU: u16 = 1200;
pub(super) const FULL: u64 = MTU as u64;

pub(super) fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn driver(name: &str) -> Driver {
    Driver::new(&controller(name).expect("a known controller"), MTU, at(0))
}

/// `count` packets leave at `ms`.
fn send(driver: &mut Driver, ms: u64, count: u64) {
    for _ in 0..count {
        driver.on_sent(at(ms), FULL);
    }
}

/// `count` packets that left at `sent` are acknowledged at `ms`.
fn hear(driver: &mut Driver, sent: u64, ms: u64, count: u64) {
    for _ in 0..count {
        driver.on_acked(at(sent), FULL, None);
    }
    driver.on_ack_end(at(ms), None, None, true, false);
}

fn cwnd(driver: &Driver) -> f64 {
    driver.window().cwnd
}

#[test]
fn slow_start_counts_all_bytes_of_an_acknowledgement() {
    let mut reno = driver("reno");
    assert_eq!((cwnd(&reno), reno.window_bytes()), (10.0, 12_000));
    send(&mut reno, 1, 10);
    hear(&mut reno, 1, 41, 7);
    assert_eq!((cwnd(&reno), reno.flight()), (17.0, 3 * FULL));
    assert_eq!(reno.path(at(41)).srtt, ackclock_units::Duration::from_millis(40));
}

#[test]
fn what_was_sent_before_a_reduction_belongs_to_it() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    reno.on_loss(at(50), at(1), FULL, false);
    assert_eq!((cwnd(&reno), reno.window().ssthresh), (5.0, 5.0));
    reno.on_loss(at(51), at(1), 2 * FULL, false);
    assert_eq!(cwnd(&reno), 5.0, "one reduction per period");
    hear(&mut reno, 1, 52, 3);
    assert_eq!(cwnd(&reno), 5.0, "no growth within it");
    assert!(reno.path(at(52)).recovering);
    send(&mut reno, 53, 2);
    hear(&mut reno, 53, 93, 1);
    assert!(!reno.path(at(93)).recovering, "something was acknowledged that was sent later");
    assert_eq!(cwnd(&reno), 5.0, "as in the simulator, what ends a recovery does not grow the window");
    hear(&mut reno, 53, 94, 1);
    assert_eq!(cwnd(&reno), 5.2);
    reno.on_loss(at(95), at(53), FULL, false);
    assert_eq!(cwnd(&reno), 2.6);
}

#[test]
fn persistent_congestion_is_a_timeout() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    reno.on_loss(at(50), at(1), 4 * FULL, true);
    assert_eq!((cwnd(&reno), reno.window().ssthresh), (2.0, 5.0));
    reno.on_loss(at(51), at(1), FULL, true);
    assert_eq!(reno.window().ssthresh, 5.0);
    hear(&mut reno, 1, 60, 2);
    assert_eq!(cwnd(&reno), 4.0, "after a timeout the window grows at once");
}

#[test]
fn a_mark_reduces_once_per_round_trip() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    reno.on_marks(at(40), at(1), 1);
    reno.on_marks(at(41), at(1), 1);
    assert_eq!(cwnd(&reno), 5.0);
    reno.on_loss(at(42), at(1), FULL, false);
    assert_eq!(cwnd(&reno), 5.0, "a loss in the same round trip is covered");
    assert!(!reno.path(at(42)).recovering);
    send(&mut reno, 43, 1);
    hear(&mut reno, 43, 83, 1);
    reno.on_marks(at(84), at(43), 1);
    assert_eq!(cwnd(&reno), 2.5);
}

/// RFC 8257: alpha begins at 1, so the first mark halves; after a round trip without marks it is 15/16.
#[test]
fn counted_marks_cost_their_share() {
    let mut dctcp = driver("dctcp");
    send(&mut dctcp, 1, 10);
    dctcp.on_marks(at(41), at(1), 3);
    hear(&mut dctcp, 1, 41, 10);
    assert_eq!(cwnd(&dctcp), 5.0);
    send(&mut dctcp, 42, 5);
    hear(&mut dctcp, 42, 82, 5);
    send(&mut dctcp, 83, 5);
    hear(&mut dctcp, 83, 123, 5);
    let (before, mut share) = (cwnd(&dctcp), 0.0);
    dctcp.controller.inspect(&mut |name, value| {
        if name == "alpha" {
            share = value;
        }
    });
    assert!(share > 0.0 && share < 1.0, "{share}");
    dctcp.on_marks(at(124), at(83), 1);
    assert!((cwnd(&dctcp) - before * (1.0 - share / 2.0)).abs() < 1e-9, "{} after {before}", cwnd(&dctcp));
}

#[test]
fn a_spurious_loss_gives_the_window_back() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    reno.on_loss(at(50), at(1), FULL, false);
    reno.on_spurious(at(60));
    assert_eq!((cwnd(&reno), reno.window().ssthresh), (10.0, f64::INFINITY));
    reno.on_spurious(at(61));
    assert_eq!(cwnd(&reno), 10.0, "once");
}

#[test]
fn a_new_mtu_keeps_the_bytes() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    reno.on_loss(at(50), at(1), FULL, false);
    let bytes = reno.window_bytes();
    reno.on_mtu(1452);
    assert_eq!((reno.window_bytes(), reno.threshold_bytes()), (bytes, Some(bytes)));
    reno.on_mtu(9000);
    assert_eq!(cwnd(&reno), 2.0, "and never less than two packets");
}

#[test]
fn without_data_nothing_grows_and_idle_times_start_over() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    hear(&mut reno, 1, 41, 10);
    send(&mut reno, 42, 1);
    reno.on_acked(at(42), FULL, None);
    reno.on_ack_end(at(82), None, None, false, true);
    assert_eq!(cwnd(&reno), 20.0, "limited by the application");
    send(&mut reno, 90, 1);
    assert_eq!(cwnd(&reno), 20.0, "a short pause");
    hear(&mut reno, 90, 130, 1);
    send(&mut reno, 5000, 1);
    assert_eq!(cwnd(&reno), 10.0);
}

#[test]
fn a_round_trip_time_comes_from_the_newest_packet_alone() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 1);
    send(&mut reno, 5, 1);
    hear(&mut reno, 5, 45, 1);
    hear(&mut reno, 1, 60, 1);
    assert_eq!(reno.path(at(60)).rtt_min, ackclock_units::Duration::from_millis(40));
    assert_eq!(
        reno.path(at(60)).srtt,
        ackclock_units::Duration::from_millis(40),
        "the late one does not count"
    );
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut reno = driver("reno");
    send(&mut reno, 1, 10);
    let copy = reno.clone();
    hear(&mut reno, 1, 41, 10);
    assert_eq!((cwnd(&copy), cwnd(&reno)), (10.0, 20.0));
}

#[test]
fn what_a_stack_cannot_give_is_refused_by_name() {
    let refusal =
        |name: &str| controller(name).expect("a known controller").check(&QUINN).map_err(|it| it.to_string());
    assert_eq!(
        refusal("dctcp").expect_err("no counts"),
        "quinn cannot run dctcp: it does not give the number of marked packets"
    );
    assert!(refusal("bbr").expect_err("no rate").contains("the controller's rate"));
    assert!(
        refusal("{ pert = { delay = \"forward\" } }").expect_err("no time stamps").contains("one-way delays")
    );
    assert!(refusal("none").expect_err("not asked for").contains("uncontrolled()"));
    assert!(refusal("{ pert = { over = \"none\" } }").is_err());
    assert!(controller("none").expect("it is there").uncontrolled().check(&QUINN).is_ok());
    assert_eq!(refusal("compound"), Ok(()));
}

#[test]
fn a_policy_comes_from_its_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("policy.json");
    let name = file.to_str().expect("UTF-8");
    let text = |bias: f64| {
        format!(
            r#"{{"format": "ackclock policy", "version": 1, "history": 1, "interval": 1.0, "scale": 0.025,
            "features": ["latency inflation", "latency ratio", "send ratio"],
            "layers": [{{"weights": [[0, 0, 0]], "biases": [{bias}], "activation": "identity"}}]}}"#
        )
    };
    // Once the rate has stopped to double, one policy raises it for ever, the other one lowers it.
    let rates = [20.0, -20.0].map(|bias| {
        std::fs::write(&file, text(bias)).expect("room");
        let control = controller(&format!("{{ policy = {{ file = {name:?} }} }}")).expect("a policy");
        assert_eq!(control, controller("policy").and_then(|it| it.set("file", name)).expect("the same"));
        assert!(control.check(&NOQ).is_ok() && control.check(&QUINN).is_err());
        let mut driver = Driver::new(&control, MTU, at(0));
        for round in 0..40 {
            let (sent, heard) = (at(50 * round), at(50 * round + 40));
            let departures: Vec<_> = (0..10).map(|_| driver.on_sent(sent, FULL)).collect();
            // A loss ends the doubling.
            let (lost, arrived) = departures.split_at(usize::from(round == 3));
            for departure in lost {
                driver.on_packet_lost(heard, 30, FULL, departure);
                driver.on_loss(heard, sent, FULL, false);
            }
            for departure in arrived {
                driver.on_acked(sent, FULL, Some(departure));
            }
            driver.on_ack_end(heard, None, None, true, false);
        }
        cwnd(&driver)
    });
    assert!(rates[0] > 1.5 * rates[1], "{rates:?}");

    std::fs::write(&file, "{}").expect("room");
    let refusal = controller("policy").and_then(|it| it.set("file", name)).expect_err("no policy");
    assert!(refusal.to_string().contains(&format!("{name}:1:2: missing field")), "{refusal}");
    for (name, says) in
        [("/nowhere", "/nowhere: No such file"), ("/dev/zero", "it is no file"), ("/", "it is no file")]
    {
        let refusal = controller("policy").and_then(|it| it.set("file", name)).expect_err("no policy");
        assert!(refusal.to_string().contains(says), "{refusal}");
    }
    std::fs::File::create(&file).and_then(|it| it.set_len(1 << 40)).expect("a file with a hole");
    let refusal = controller("policy").and_then(|it| it.set("file", name)).expect_err("too large");
    assert!(refusal.to_string().contains("it is larger than"), "{refusal}");
}

#[derive(Clone, Debug)]
enum Happening {
    Sent { ms: u64, bytes: u64 },
    Heard { ms: u64, ago: u64, bytes: u64, limited: bool, idle: bool },
    Lost { ago: u64, bytes: u64, persistent: bool },
    Marked { ago: u64, count: u64 },
    Spurious,
    Mtu(u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (0u64..50, 0u64..100_000).prop_map(|(ms, bytes)| Happening::Sent { ms, bytes }),
        8 => (0u64..5000, 0u64..500, 0u64..100_000, any::<bool>(), any::<bool>())
            .prop_map(|(ms, ago, bytes, limited, idle)| Happening::Heard { ms, ago, bytes, limited, idle }),
        2 => (0u64..500, 0u64..100_000, prop::bool::weighted(0.2))
            .prop_map(|(ago, bytes, persistent)| Happening::Lost { ago, bytes, persistent }),
        1 => (0u64..500, 1u64..50).prop_map(|(ago, count)| Happening::Marked { ago, count }),
        1 => Just(Happening::Spurious),
        1 => (1u16..=u16::MAX).prop_map(Happening::Mtu),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A peer may acknowledge, lose and mark in any order: the window stays one that a stack can use.
    #[test]
    fn whatever_happens_the_window_is_usable(happenings in prop::collection::vec(happening(), 1..200)) {
        for scheme in schemes() {
            let control = controller(scheme.name).expect("it is in the registry").uncontrolled();
            if control.check(&S2N_QUIC).is_err() {
                continue;
            }
            let mut driver = Driver::new(&control, MTU, at(0));
            let mut ms = 1000;
            let before = |ms: u64, ago: u64| at(ms.saturating_sub(ago));
            for happening in &happenings {
                match *happening {
                    Happening::Sent { ms: pause, bytes } => {
                        ms += pause;
                        driver.on_sent(at(ms), bytes);
                    }
                    Happening::Heard { ms: pause, ago, bytes, limited, idle } => {
                        ms += pause;
                        driver.on_acked(before(ms, ago), bytes, Some(&Departure::default()));
                        driver.on_ack_end(at(ms), None, None, limited, idle);
                    }
                    Happening::Lost { ago, bytes, persistent } => {
                        driver.on_packet_lost(at(ms), 1, bytes, &Departure::default());
                        driver.on_loss(at(ms), before(ms, ago), bytes, persistent);
                    }
                    Happening::Marked { ago, count } => driver.on_marks(at(ms), before(ms, ago), count),
                    Happening::Spurious => driver.on_spurious(at(ms)),
                    Happening::Mtu(mtu) => driver.on_mtu(mtu),
                }
                let window = driver.window();
                prop_assert!((2.0..=MOST_WINDOW).contains(&window.cwnd), "{}: {happening:?}: {window:?}", scheme.name);
                prop_assert!(window.ssthresh > 0.0, "{}: {happening:?}: {window:?}", scheme.name);
                prop_assert!(driver.pacing_rate().is_none_or(|rate| rate > 0));
            }
        }
    }
}
