//! TFRC.

use crate::path::{Scene, control, fates_of, ns2_switches, shown};
use ackclock_rate::tfrc::equation::Equation;
use ackclock_units::{Duration, Time};

/// The share of losses that are loss events, if each of `packets` per round trip is lost with probability
/// `loss`: after a loss, those of a round trip do not count.
fn events(loss: f64, packets: f64) -> f64 {
    1.0 / (1.0 / loss + packets)
}

#[test]
fn the_rate_is_that_of_the_equation() {
    for loss in [0.01, 0.05] {
        let scene = Scene {
            loss,
            service: Duration::from_micros(10),
            until: Time::from_nanos(2_000_000_000_000),
            ..Scene::new(control("tfrc", &[]), None)
        };
        let (mut sum, mut count) = (0.0, 0.0);
        let run = scene.run(|_, _, receiver| {
            sum += shown(receiver, "loss_event_rate");
            count += 1.0;
        });
        let rtt = Duration::from_millis(80);
        let equation = Equation::recommended(960.0, rtt);
        let packets = run.sent as f64 / run.end.as_secs_f64();
        // The rate at which losses and rate agree.
        let mut wanted = 10.0;
        for _ in 0..100 {
            wanted = 0.5 * (wanted + equation.throughput(events(loss, wanted * rtt.as_secs_f64())) / 960.0);
        }
        let (p, measured) = (events(loss, wanted * rtt.as_secs_f64()), sum / count);
        assert!((packets / wanted - 1.0).abs() < 0.1, "{packets} packets/s instead of {wanted}");
        assert!((measured / p - 1.0).abs() < 0.2, "p {measured} instead of {p}");
    }
}

#[test]
fn with_the_switches_of_ns_2_it_has_the_rates_of_ns_2() {
    // ns-2.35, Agent/TFRC with 1000 bytes: kbit/s on the wire in 200 s, 82 ms, 42 packets of queue.
    for (loss, wanted) in [(0.0, 1980.0), (0.001, 1946.0), (0.01, 1113.0), (0.05, 419.0)] {
        let scene = Scene {
            loss,
            bytes: 1032,
            service: Duration::from_micros(4128),
            queue: Duration::from_micros(42 * 4128),
            delay: Duration::from_micros(41_010),
            until: Time::from_nanos(200_000_000_000),
            ..Scene::new(control("tfrc", &ns2_switches()), None)
        };
        let mut arrived = 0_u32;
        scene.run(|_, _, _| arrived += 1);
        let rate = f64::from(arrived) * 1032.0 * 8.0 / 200.0 / 1e3;
        assert!((rate / wanted - 1.0).abs() < 0.05, "{rate} instead of {wanted} kbit/s at a loss of {loss}");
    }
}

#[test]
fn after_the_first_loss_it_sends_what_was_received() {
    // 4 Mbit/s of capacity and 100 packets of queue; the first loss comes in slow start.
    let mut lost = vec![false; 400];
    lost[300] = true;
    let scene = Scene {
        service: Duration::from_millis(2),
        queue: Duration::from_millis(200),
        fates: fates_of(&lost),
        until: Time::from_nanos(60_000_000_000),
        ..Scene::new(control("tfrc", &[]), None)
    };
    let mut seen = None;
    scene.run(|now, data, receiver| {
        let p = shown(receiver, "loss_event_rate");
        if p > 0.0 && seen.is_none() {
            seen = Some((now, p, data.srtt));
        }
    });
    let (now, p, rtt) = seen.expect("there was a loss");
    let rate = Equation::recommended(960.0, rtt).throughput(p) / 960.0;
    // Section 6.3.1: X_target is what the bottleneck let through, 500 packets/s.
    assert!((450.0..550.0).contains(&rate), "{now}: {rate} packets/s at p = {p}");
}
