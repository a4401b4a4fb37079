//! RED, REM and PI against ns-2's on the same arrivals: constant traffic beyond a link's rate, which an
//! active queue holds at the length that its law has for the excess. `ns benches/peers/queues.tcl REM 12 220`
//! prints the numbers here (ns-2.35).

use ackclock_net::{Fate, Limit, Link, Pi, PiConfig, Queue, Red, RedConfig, Rem, RemConfig, Rng};
use ackclock_units::{Duration, Rate, Time};

const PACKET: u32 = 1000;
const LIMIT: Limit = Limit::Packets(200);
const RATE: Rate = Rate::from_bps(10_000_000);
const FROM_S: u64 = 20;
const TO_S: u64 = 220;

fn transmission() -> Duration {
    RATE.time_for(u64::from(PACKET))
}

fn red() -> Queue {
    let config = RedConfig {
        min_threshold: 20.0,
        max_threshold: 60.0,
        weight: 0.002,
        ..RedConfig::automatic(transmission(), LIMIT)
    };
    Queue::Red(Box::new(Red::new(config, Rng::new(1, "red"))))
}

fn rem() -> Queue {
    Queue::Rem(Box::new(Rem::new(RemConfig::usual(transmission(), LIMIT), Rng::new(1, "rem"))))
}

fn pi() -> Queue {
    Queue::Pi(Box::new(Pi::new(PiConfig::usual(LIMIT), Rng::new(1, "pi"))))
}

/// Mean queue in packets and share of packets dropped.
fn offered(queue: Queue, bps: u64) -> (f64, f64) {
    let mut link = Link::new(RATE, Duration::from_millis(10), queue);
    let (from, to) = (Time::ZERO + Duration::from_secs(FROM_S), Time::ZERO + Duration::from_secs(TO_S));
    let mut before = None;
    let (mut arrivals, mut drops) = (0u32, 0u32);
    for number in 0.. {
        let at = Time::from_nanos(number * u64::from(PACKET) * 8_000_000_000 / bps);
        if at >= to {
            break;
        }
        if at >= from {
            before.get_or_insert_with(|| link.waited_ns(from));
            arrivals += 1;
        }
        let dropped = matches!(link.offer(at, &mut { PACKET }), Fate::Dropped(_));
        drops += u32::from(dropped && at >= from);
    }
    let waited = link.waited_ns(to) - before.expect("it has been long enough");
    (waited as f64 / 1e9 / (TO_S - FROM_S) as f64, f64::from(drops) / f64::from(arrivals))
}

/// At these rates in kbit/s, within 8 % and one packet of ns-2's mean queue, and 2 % of its drop rate.
fn agrees(queue: fn() -> Queue, ns2: [(u64, f64, f64); 3]) {
    for (kbps, their_queue, their_drops) in ns2 {
        let (waiting, drops) = offered(queue(), kbps * 1000);
        assert!(
            (waiting - their_queue).abs() < 0.08 * their_queue + 1.0,
            "{kbps}: {waiting} and {their_queue}"
        );
        assert!((drops / their_drops - 1.0).abs() < 0.02, "{kbps}: {drops} and {their_drops}");
    }
}

#[test]
fn red_is_that_of_ns2() {
    agrees(red, [(10_500, 48.754, 0.047619), (12_000, 70.074, 0.166669), (15_000, 87.005, 0.333333)]);
}

#[test]
fn rem_is_that_of_ns2() {
    agrees(rem, [(10_500, 16.015, 0.051032), (12_000, 15.458, 0.173999), (15_000, 31.395, 0.352368)]);
}

#[test]
fn pi_is_that_of_ns2() {
    agrees(pi, [(10_500, 59.894, 0.048472), (12_000, 116.014, 0.167499), (15_000, 197.944, 0.333517)]);
}
