//! Detections that leave a hole open for a while, duplicate by duplicate.

mod common;

use ackclock_cc::Signal;
use ackclock_tcp::detection::{DelayedConfig, Form, NcrConfig};
use ackclock_tcp::recovery::NewRenoConfig;
use ackclock_tcp::{Config, Detection, RecoveryKind, State};
use common::lab::{Lab, RTT, Scripted, Told, config, recoveries, robust, sack};
use std::sync::{Arc, Mutex};

fn delayed(form: Form) -> Detection {
    Detection::Delayed(DelayedConfig { form, ..DelayedConfig::default() })
}

fn ncr(aggressive: bool) -> Detection {
    Detection::Ncr(NcrConfig { aggressive })
}

/// A window of 20 in congestion avoidance; 0 to 4 are acknowledged, 5 to 24 are outstanding, and a round trip is known.
fn lab(detection: Detection, recovery: RecoveryKind) -> (Lab, Arc<Mutex<Told>>) {
    let (controller, told) = Scripted::boxed(true);
    let config = Config { detection, initial_ssthresh: 2.0, ..config(recovery, 20) };
    let mut lab = Lab::with(config, controller, 1000);
    lab.send();
    assert_eq!(lab.ack(5), (20..25).collect::<Vec<_>>());
    (lab, told)
}

fn cuts(told: &Arc<Mutex<Told>>) -> Vec<Signal> {
    told.lock().expect("one thread").cuts.clone()
}

/// Reno's and Tahoe's retransmissions are the others' as well: detection knows nothing of recovery.
#[test]
fn one_round_trip_after_the_first_duplicate() {
    for recovery in recoveries() {
        let (mut lab, told) = lab(delayed(Form::Timer), recovery);
        for segment in 6..15 {
            assert_eq!(lab.sack(5, &[(6, segment + 1)]), [segment + 19], "one new segment for each");
            assert!(lab.sender.is_waiting());
            lab.wait(10);
        }
        let first = RTT.as_nanos() - 9 * 10_000_000;
        assert_eq!(lab.until_timeout().as_nanos(), first);
        assert_eq!(cuts(&told), vec![]);
        assert_eq!(lab.expire().first(), Some(&5), "{}", recovery.name());
        assert_eq!(cuts(&told), vec![Signal::Loss]);
        assert!(!lab.sender.is_waiting());
        let reduced = if recovery == RecoveryKind::Tahoe { 1.0 } else { 10.0 };
        let cwnd = if recovery == robust() { lab.sender.window().ssthresh } else { lab.sender.window().cwnd };
        assert_eq!(cwnd, reduced, "of what the window was when the delay ended");
        assert_eq!(lab.sender.counters().fast_retransmits, 1);
        assert_eq!(lab.sender.counters().timeouts, 0);
    }
}

#[test]
fn a_hole_that_closes_costs_nothing() {
    for detection in [delayed(Form::Timer), delayed(Form::Count)] {
        for recovery in recoveries() {
            let (mut lab, told) = lab(detection, recovery);
            for segment in 6..15 {
                lab.sack(5, &[(6, segment + 1)]);
            }
            assert_eq!(lab.ack(15), [34], "what was late has left the network");
            assert_eq!((lab.sender.state(), cuts(&told)), (State::Open, vec![]));
            assert_eq!(lab.sender.counters().retransmits, 0);
            assert_eq!(lab.sender.window().cwnd, 20.0);
            assert!(!lab.sender.is_waiting());
        }
    }
}

/// 20 segments are outstanding, and the last round trip was as long as all of them.
#[test]
fn one_window_of_duplicates() {
    for recovery in [sack(false), RecoveryKind::NewReno(NewRenoConfig::default()), robust()] {
        let (mut lab, told) = lab(delayed(Form::Count), recovery);
        for segment in 6..25 {
            assert_eq!(lab.sack(5, &[(6, segment + 1)]), [segment + 19]);
        }
        assert_eq!(cuts(&told), vec![]);
        assert_eq!(lab.sack(5, &[(6, 26)]).first(), Some(&5), "the twentieth");
        assert_eq!(cuts(&told), vec![Signal::Loss]);
    }
}

#[test]
fn slow_start_does_not_wait() {
    for form in [Form::Timer, Form::Count] {
        for recovery in recoveries() {
            let config = Config { detection: delayed(form), limited_transmit: false, ..config(recovery, 10) };
            let mut lab = Lab::with(config, Scripted::boxed(true).0, 100);
            lab.send();
            lab.ack(1);
            assert_eq!([lab.sack(1, &[(2, 3)]), lab.sack(1, &[(2, 4)])].concat(), []);
            assert_eq!(lab.sack(1, &[(2, 5)]), [1]);
        }
    }
}

/// "Further losses in the same window of data" are repaired at once, those of what was sent since are left open again.
#[test]
fn later_losses() {
    let (mut lab, told) = lab(delayed(Form::Timer), sack(false));
    // 5, 9 and 13 are missing.
    for segment in [6, 7, 8, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21] {
        let runs: Vec<_> = [(14, 25), (10, 13), (6, 9)]
            .into_iter()
            .filter(|run| run.0 <= segment)
            .map(|(start, end)| (start, end.min(segment + 1)))
            .collect();
        assert_eq!(lab.sack(5, &runs).len(), 1);
    }
    assert_eq!(lab.expire(), [5], "the first whatever the pipe says");
    assert_eq!(lab.sender.board().lost(), 3);
    // 25 to 38 were sent while the hole was open, 39 and later in the episode. 22 to 34 arrive: the pipe falls.
    let mut again = Vec::new();
    for segment in 22..35 {
        again.extend(lab.sack(5, &[(14, segment + 1), (10, 13), (6, 9)]));
    }
    assert_eq!(again.iter().copied().filter(|&seq| seq < 25).collect::<Vec<_>>(), [9, 13]);
    assert_eq!(cuts(&told), vec![Signal::Loss]);
}

/// What duplicates stand for lets cwnd grow, once.
#[test]
fn growth_goes_on() {
    for (growth, expected) in [(true, 9.0), (false, 0.0)] {
        for (recovery, last) in [(sack(false), 1.0), (RecoveryKind::Reno, 1.0)] {
            let detection = Detection::Delayed(DelayedConfig { form: Form::Timer, growth });
            let (mut lab, told) = lab(detection, recovery);
            let before = told.lock().expect("one thread").grown;
            for segment in 6..15 {
                lab.sack(5, &[(6, segment + 1)]);
            }
            assert_eq!(told.lock().expect("one thread").grown - before, expected);
            lab.ack(15);
            let last = if growth { last } else { 2.0 }; // RFC 3465's limit
            assert_eq!(told.lock().expect("one thread").grown - before, expected + last);
        }
    }
}

/// RFC 4653: careful sends one for two and waits for two thirds of what is outstanding, aggressive one for one and a half.
#[test]
fn non_congestion_robustness() {
    for (aggressive, sent, most) in [(false, 10, 20), (true, 18, 19)] {
        let (mut lab, told) = lab(ncr(aggressive), sack(false));
        let mut new = Vec::new();
        let mut at = 0;
        for count in 1..30 {
            let out = lab.sack(5, &[(6, 6 + count)]);
            if lab.sender.state() != State::Open {
                at = count;
                assert_eq!(out.first(), Some(&5));
                break;
            }
            new.extend(out);
        }
        // Before the n-th, 20 + n/2 or 19 + n are outstanding: 20 is two thirds of 30, 19 is half of 38.
        assert_eq!((at, new.len()), (most, sent), "{aggressive}");
        assert_eq!(new, (25..25 + sent as u64).collect::<Vec<_>>());
        assert_eq!(cuts(&told), vec![Signal::Loss]);
    }
}

#[test]
fn non_congestion_robustness_ends_without_a_burst() {
    let (mut lab, told) = lab(ncr(false), sack(false));
    for count in 1..=8 {
        lab.sack(5, &[(6, 6 + count)]);
    }
    // 5 to 28 are outstanding; 5 to 24 arrive: 4 remain, and one is let out.
    assert_eq!(lab.ack(25), [29]);
    assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (5.0, 20.0));
    assert_eq!(cuts(&told), vec![]);
}
