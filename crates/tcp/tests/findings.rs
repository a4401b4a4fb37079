//! Every fault that was found in the endpoint, as a test that failed before the repair.

mod common;

use ackclock_cc::Signal;
use ackclock_tcp::{Config, RecoveryKind, State};
use ackclock_units::{Duration, Rate};
use common::lab::{Lab, Scripted};

/// A window of `window` segments that does not move by itself.
fn config(recovery: RecoveryKind, window: u32) -> Config {
    Config { recovery, initial_window: f64::from(window), ..Config::default() }
}

fn lab(config: Config, limit: u64) -> Lab {
    Lab::with(config, Scripted::boxed(true).0, limit)
}

fn sack(proportional_rate: bool) -> RecoveryKind {
    RecoveryKind::Sack(ackclock_tcp::recovery::SackConfig { proportional_rate })
}

/// RFC 6675 section 4, NextSeg (4): "HighRxt MUST NOT be updated". The rescue passes over segments that were not
/// retransmitted; taking them for retransmitted made the pipe wrap around when they were acknowledged.
#[test]
fn a_rescue_leaves_the_edge_of_retransmissions_alone() {
    for proportional in [false, true] {
        let mut lab = lab(config(sack(proportional), 12), 12);
        lab.send();
        // 0 and 3 are lost, and the last three: 1, 2 and 4 to 8 arrive.
        for (run, retransmitted) in [((1, 2), None), ((1, 3), None), ((4, 5), Some(0))] {
            assert_eq!(lab.sack(0, &[run]).first().copied(), retransmitted);
        }
        for end in 6..10 {
            lab.sack(0, &[(4, end), (1, 3)]);
        }
        lab.sack(3, &[(4, 9)]);
        lab.sack(9, &[]);
        assert_eq!(lab.sender.in_flight(), 3);
        lab.ack(10);
        assert_eq!(lab.sender.in_flight(), 2);
    }
}

/// RFC 6675 section 5 (4.3): RescueRxt starts at the first retransmission, "to prevent ... a premature rescue
/// retransmission": nothing is rescued before that retransmission is acknowledged.
#[test]
fn nothing_is_rescued_before_the_first_retransmission_is_acknowledged() {
    let mut lab = lab(config(sack(false), 10), 10);
    lab.send();
    let mut sent = Vec::new();
    for end in 2..11 {
        sent.extend(lab.sack(0, &[(1, end)]));
    }
    assert_eq!(sent, vec![0]);
    assert_eq!(lab.sender.state(), State::Recovery);
}

/// The pacer may hold the first retransmission back until it is no longer wanted: the segment was only late.
#[test]
fn a_paced_retransmission_of_what_has_arrived_meanwhile_is_dropped() {
    for proportional in [false, true] {
        // One segment in 10 ms.
        let rate = Rate::from_bps(1_200_000);
        let mut lab = Lab::with(config(sack(proportional), 10), Scripted::paced(rate), 1000);
        assert_eq!(lab.send_paced(), (0..10).collect::<Vec<_>>());
        lab.wait(5);
        lab.sack(0, &[(1, 4)]);
        lab.sack(0, &[(1, 4), (6, 9)]);
        assert_eq!(lab.sender.state(), State::Recovery);
        assert_eq!(lab.sack(4, &[(6, 9)]), Vec::<u64>::new());
        assert_eq!(lab.send_paced().first(), Some(&4));
    }
}

/// RFC 6298 (5.4): the timer's retransmission leaves when the timer expires, at whatever pace the rest goes;
/// otherwise a pace slower than the timer lets it expire again and again with nothing sent.
#[test]
fn the_timer_does_not_wait_for_the_pacer() {
    let mut lab = Lab::with(config(sack(false), 10), Scripted::paced(Rate::from_bps(1_000)), 10);
    assert_eq!(lab.send(), vec![0]);
    assert_eq!(lab.expire(), vec![0]);
}

/// Karn's algorithm (RFC 6298 section 5, last paragraph): without timestamps the back-off stays until a segment that was
/// sent once is acknowledged. It used to end with any new acknowledgement, so that on a path longer than the timeout
/// every segment was sent twice for ever and no sample was ever taken.
#[test]
fn the_back_off_stays_until_there_is_a_sample() {
    let config = Config { timestamps: false, ..config(sack(false), 1) };
    let mut lab = lab(config, 1000);
    assert_eq!(lab.send(), vec![0]);
    assert_eq!(lab.expire(), vec![0]);
    lab.wait(1_900);
    assert_eq!(lab.ack(1), vec![1]);
    assert_eq!(lab.until_timeout(), Duration::from_secs(2), "the first back-off still holds");
    assert_eq!(lab.expire(), vec![1]);
    lab.wait(900);
    assert_eq!(lab.ack(2), vec![2]);
    assert_eq!(lab.until_timeout(), Duration::from_secs(4));
    lab.wait(2_900);
    lab.ack(3);
    assert_eq!(lab.sender.counters().rtt_samples, 1);
    assert_eq!(lab.until_timeout(), Duration::from_millis(2_900 + 4 * 1_450));
}

/// RFC 5681 section 3.1: the threshold is held when a segment that the timer has resent times out again, and only then.
#[test]
fn a_timeout_of_another_segment_is_another_loss() {
    let (controller, told) = Scripted::boxed(true);
    let config = Config { timestamps: false, ..config(sack(false), 16) };
    let mut lab = Lab::with(config, controller, 1000);
    lab.send();
    lab.expire();
    lab.expire();
    assert_eq!(told.lock().expect("one thread").cuts, vec![Signal::Timeout]);
    lab.ack(1);
    lab.expire();
    assert_eq!(told.lock().expect("one thread").cuts, vec![Signal::Timeout; 2]);
}
