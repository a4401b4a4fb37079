//! Google Congestion Control.

use crate::path::{Scene, control};
use ackclock_registry::Given;
use ackclock_units::{Duration, Time};

const MINUTE: u64 = 60_000_000_000;

/// Rate in kbit/s and mean queueing delay in ms in the second and third minute, and dropped packets.
fn steady(switches: &[(&str, Given<'_>)], loss: f64) -> (f64, f64, usize) {
    let scene = Scene {
        loss,
        queue: Duration::from_millis(300),
        until: Time::from_nanos(3 * MINUTE),
        ..Scene::new(control("gcc", switches), None)
    };
    let (mut packets, mut delay) = (0.0, 0.0);
    let run = scene.run(|now, data, _| {
        if now > Time::from_nanos(MINUTE) {
            packets += 1.0;
            delay += now.since(data.sent).as_millis_f64() - 44.0;
        }
    });
    (packets * 8.0 / 120.0, delay / packets, run.dropped.len())
}

#[test]
fn it_uses_the_path_without_filling_the_queue() {
    for filter in ["kalman", "trendline"] {
        for feedback in ["arrivals", "remb"] {
            let switches = [("filter", Given::Word(filter)), ("feedback", Given::Word(feedback))];
            let (rate, delay, dropped) = steady(&switches, 0.0);
            assert!((1880.0..2000.0).contains(&rate), "{filter}, {feedback}: {rate} kbit/s");
            assert!(delay < 20.0 && dropped == 0, "{filter}, {feedback}: {delay} ms, {dropped} dropped");
        }
    }
}

#[test]
fn as_printed_the_filter_finds_no_queue() {
    let (_, delay, dropped) = steady(&[("gain", Given::Number(1.0))], 0.0);
    assert!(delay > 100.0 && dropped > 1000, "{delay} ms, {dropped} dropped");
}

#[test]
fn losses_above_ten_percent_lower_the_rate() {
    let rate = |loss| steady(&[], loss).0;
    let (low, middle, high) = (rate(0.01), rate(0.05), rate(0.15));
    assert!(low > 1800.0 && middle > 1500.0 && high < 100.0, "{low}, {middle}, {high} kbit/s");
}
