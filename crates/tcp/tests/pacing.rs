//! Pacing: when segments leave, and that it does not keep a window from growing.

mod common;

use ackclock_tcp::{Ack, Config, Flags, PacedRtt, Pacing};
use ackclock_units::{Duration, Rate, Time};
use common::lab::{Lab, RTT, Scripted, made};

/// Lets everything of the window out and notes when, in milliseconds.
fn times(lab: &mut Lab, count: usize) -> Vec<f64> {
    let mut times = Vec::new();
    while times.len() < count {
        while lab.sender.poll_transmit(lab.now).is_some() {
            times.push(lab.now.as_secs_f64() * 1e3);
        }
        let Some(at) = lab.sender.poll_pacing(lab.now) else { break };
        assert!(at > lab.now, "a pacer that is due now has let everything out");
        lab.now = at;
    }
    times
}

fn config(pacing: Pacing) -> Config {
    Config { pacing: Some(pacing), initial_window: 4.0, ..Config::default() }
}

/// A connection whose first window has been acknowledged, so that the round-trip time is known: 100 ms, 8
/// segments.
fn warm(pacing: Pacing) -> Lab {
    let mut lab = Lab::with(config(pacing), Scripted::boxed(true).0, 1000);
    assert_eq!(times(&mut lab, 99).len(), 4, "without a sample there is no pace");
    lab.wait(RTT.as_nanos() / 1_000_000);
    lab.hear(made(4, &[]), Flags::default());
    lab
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| ((pair[1] - pair[0]) * 1e3).round() / 1e3).collect()
}

#[test]
fn a_window_is_spread_over_the_round_trip() {
    let mut lab = warm(Pacing::default());
    assert_eq!(gaps(&times(&mut lab, 99)), [25.0; 3]); // 100 ms / 4
}

#[test]
fn a_gain_quickens_the_pace_and_a_burst_leaves_at_once() {
    let mut lab = warm(Pacing { gain: 2.0, ..Pacing::default() });
    assert_eq!(gaps(&times(&mut lab, 99)), [12.5; 3]);
    let mut lab = warm(Pacing { burst: 3, ..Pacing::default() });
    assert_eq!(gaps(&times(&mut lab, 99)), [0.0, 0.0, 25.0]);
}

#[test]
fn each_round_trip_time_paces() {
    for rtt in [PacedRtt::Smoothed, PacedRtt::Least, PacedRtt::Latest] {
        let mut lab = warm(Pacing { rtt, ..Pacing::default() });
        assert_eq!(gaps(&times(&mut lab, 99)), [25.0; 3], "{rtt:?}");
    }
}

#[test]
fn the_controllers_rate_goes_first() {
    // 1500 bytes at 1.2 Mbit/s are 10 ms.
    let mut lab = Lab::with(config(Pacing::default()), Scripted::paced(Rate::from_bps(1_200_000)), 1000);
    assert_eq!(gaps(&times(&mut lab, 99)), [10.0; 3]);
}

#[test]
fn who_is_held_back_by_the_pace_is_limited_by_the_window() {
    let (controller, told) = Scripted::boxed(true);
    let mut lab = Lab::with(config(Pacing::default()), controller, 1000);
    times(&mut lab, 99);
    lab.wait(100);
    lab.hear(made(4, &[]), Flags::default());
    let grown = || told.lock().expect("one thread").grown;
    let before = grown();
    assert!(lab.sender.poll_transmit(lab.now).is_some(), "one of the four that the window allows");
    assert!(lab.sender.poll_transmit(lab.now).is_none(), "the next is 25 ms later");
    lab.wait(1);
    lab.hear(made(5, &[]), Flags::default());
    assert_eq!(grown(), before + 1.0);
}

/// The least pacing rate: a segment per smoothed round-trip time, or per second if that is shorter. 17 bit/s
/// are one segment in twelve minutes.
#[test]
fn a_controller_paces_at_least_a_segment_per_second_or_round_trip() {
    let slow = || Lab::with(Config::default(), Scripted::paced(Rate::from_bps(17)), 1000);
    let mut lab = slow();
    assert_eq!(gaps(&times(&mut lab, 4)), [1_000.0; 3], "there is no sample");
    lab.wait(100);
    lab.hear(made(4, &[]), Flags::default());
    assert_eq!(gaps(&times(&mut lab, 4)), [1_000.0; 3], "a sample of 100 ms");
    // A first sample of 3 s is the smoothed value.
    let mut lab = slow();
    lab.send();
    lab.wait(3_000);
    let echo = Time::from_nanos(lab.now.as_nanos() - Duration::from_secs(3).as_nanos());
    lab.hear_exactly(&Ack { echo, window: 100, ..made(1, &[]) });
    assert_eq!(gaps(&times(&mut lab, 4)), [3_000.0; 3]);
    // And a rate above that is the rate: 1500 bytes at 15 kbit/s are 0.8 s.
    let mut lab = Lab::with(Config::default(), Scripted::paced(Rate::from_bps(15_000)), 1000);
    assert_eq!(gaps(&times(&mut lab, 4)), [800.0; 3]);
}
