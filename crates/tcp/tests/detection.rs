//! Detections that leave a hole open for a while, duplicate by duplicate.

mod common;

use ackclock_cc::Signal;
use ackclock_registry::Given;
use ackclock_tcp::{Ack, Config, Flags, SackBlock, State, Undo};
use ackclock_units::Time;
use common::lab::{
    Detection, Lab, RTT, Recovery, Scripted, Told, chosen, config, made, recoveries, recovery, robust, sack,
};
use std::borrow::Borrow;
use std::sync::{Arc, Mutex};

fn delayed(form: &str) -> Detection {
    chosen("delayed", &[("form", Given::Word(form))])
}

fn ncr(aggressive: bool) -> Detection {
    chosen("ncr", &[("aggressive", Given::Flag(aggressive))])
}

/// A window of 20 in congestion avoidance; 0 to 4 are acknowledged, 5 to 24 are outstanding, and a round trip
/// is known.
fn lab(detection: impl Borrow<Detection>, recovery: impl Borrow<Recovery>) -> (Lab, Arc<Mutex<Told>>) {
    let (controller, told) = Scripted::boxed(true);
    let detection = detection.borrow().clone();
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
        let (mut lab, told) = lab(delayed("timer"), &recovery);
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
        let reduced = if recovery.name() == "tahoe" { 1.0 } else { 10.0 };
        let cwnd =
            if recovery.name() == "robust" { lab.sender.window().ssthresh } else { lab.sender.window().cwnd };
        assert_eq!(cwnd, reduced, "of what the window was when the delay ended");
        assert_eq!(lab.sender.counters().fast_retransmits, 1);
        assert_eq!(lab.sender.counters().timeouts, 0);
    }
}

#[test]
fn a_hole_that_closes_costs_nothing() {
    for detection in ["timer", "count", "window", "adaptive"].map(delayed) {
        for recovery in recoveries() {
            let (mut lab, told) = lab(&detection, &recovery);
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

/// 20 segments are outstanding, and the last round trip was as long as all of them. Each duplicate lets out a
/// segment, so before the n-th 19 + n are outstanding, and 19 is half of 38.
#[test]
fn one_window_of_duplicates() {
    for (form, last) in [("count", 20), ("window", 20), ("adaptive", 19)] {
        for recovery in [sack(false), recovery("newreno"), robust()] {
            let (mut lab, told) = lab(delayed(form), &recovery);
            for segment in 6..5 + last {
                assert_eq!(lab.sack(5, &[(6, segment + 1)]), [segment + 19], "{form}");
            }
            assert_eq!(cuts(&told), vec![]);
            assert_eq!(lab.sack(5, &[(6, 6 + last)]).first(), Some(&5), "{form}: number {last}");
            assert_eq!(cuts(&told), vec![Signal::Loss]);
        }
    }
}

/// After a sample of twice the smoothed round trip the form "count" waits for fewer duplicates, the form
/// "window" does not.
#[test]
fn a_late_sample_shortens_only_the_scaled_count() {
    for (form, scaled) in [("count", true), ("window", false)] {
        let (mut lab, told) = lab(delayed(form), sack(false));
        let echo = Time::from_nanos(lab.now.as_nanos() - 2 * RTT.as_nanos());
        lab.hear_exactly(&Ack { echo, window: Config::default().peer_window, ..made(6, &[]) });
        lab.send();
        let mut duplicates = 0;
        while cuts(&told).is_empty() {
            duplicates += 1;
            lab.sack(6, &[(7, 7 + duplicates)]);
        }
        assert_eq!(duplicates < 20, scaled, "{form}: {duplicates}");
    }
}

#[test]
fn slow_start_does_not_wait() {
    for form in ["timer", "count"] {
        for recovery in recoveries() {
            let config =
                Config { detection: delayed(form), limited_transmit: false, ..config(&recovery, 10) };
            let mut lab = Lab::with(config, Scripted::boxed(true).0, 100);
            lab.send();
            lab.ack(1);
            assert_eq!([lab.sack(1, &[(2, 3)]), lab.sack(1, &[(2, 4)])].concat(), []);
            assert_eq!(lab.sack(1, &[(2, 5)]), [1]);
        }
    }
}

/// "Further losses in the same window of data" are repaired at once, those of what was sent since are left
/// open again.
#[test]
fn later_losses() {
    let (mut lab, told) = lab(delayed("timer"), sack(false));
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
    // 25 to 38 were sent while the hole was open, 39 and later in the episode. 22 to 34 arrive: the pipe
    // falls.
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
        for (recovery, last) in [(sack(false), 1.0), (recovery("reno"), 1.0)] {
            let detection = chosen("delayed", &[("growth", Given::Flag(growth))]);
            let (mut lab, told) = lab(&detection, &recovery);
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

/// RFC 4653: careful sends one for two and waits for two thirds of what is outstanding, aggressive one for
/// one and a half.
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

fn rack() -> Detection {
    chosen("rack", &[])
}

/// As [`lab`], with 5 to 24 sent one millisecond apart, so that their times tell.
fn rack_lab() -> (Lab, Arc<Mutex<Told>>) {
    let (controller, told) = Scripted::boxed(true);
    let config = Config { detection: rack(), initial_ssthresh: 2.0, ..config(sack(false), 20) };
    let mut lab = Lab::with(config, controller, 1000);
    assert_eq!(lab.send().len(), 20);
    lab.wait(100);
    for ack in 1..=20 {
        assert_eq!(lab.ack(ack), [ack + 19]);
        lab.wait(1);
    }
    lab.wait(80);
    (lab, told)
}

/// RFC 8985 section 6.2: before reordering was seen a quarter of the smallest round trip, or three segments,
/// tell.
#[test]
fn a_segment_sent_later_has_arrived() {
    let (mut lab, told) = rack_lab();
    assert_eq!(lab.sack(20, &[(21, 22)]), [40], "one is not enough yet");
    // 20 was sent 1 ms before 21, which took 100 ms: it is due 25 ms after it should have arrived.
    assert_eq!(lab.until_timeout().as_nanos(), 24_000_000);
    assert_eq!(lab.expire(), [20]);
    assert_eq!(cuts(&told), vec![Signal::Loss]);
    assert_eq!(lab.sender.counters().timeouts, 0);
    let (mut lab, _) = rack_lab();
    assert_eq!(lab.sack(20, &[(21, 24)]).first(), Some(&20), "three at once");
}

/// What duplicates cannot tell: the retransmission was lost as well, and something sent after it has arrived.
#[test]
fn a_lost_retransmission_is_found_and_repaired() {
    let (mut lab, told) = rack_lab();
    assert_eq!(lab.sack(20, &[(21, 24)]).first(), Some(&20));
    let mut sent = Vec::new();
    for end in 25..=40 {
        lab.wait(1);
        sent.extend(lab.sack(20, &[(21, end)]));
    }
    assert!(sent.first() == Some(&40) && !sent.contains(&20), "{sent:?}");
    lab.wait(100);
    // 40 left after the second transmission of 20.
    let again = lab.sack(20, &[(21, 41)]);
    assert!(again.contains(&20), "{again:?}");
    assert_eq!(lab.sender.board().lost_again(), 0);
    assert_eq!(cuts(&told), vec![Signal::Loss]);
}

/// Once reordering was seen a hole is left open for a quarter of a round trip, however many arrive above it.
#[test]
fn reordering_is_tolerated_once_seen() {
    let (mut lab, told) = rack_lab();
    lab.sack(20, &[(21, 22)]);
    lab.ack(22); // 20, sent before 21, has arrived after it
    assert!(!lab.sack(22, &[(23, 32)]).contains(&22));
    assert_eq!(cuts(&told), vec![]);
    assert!(lab.expire().contains(&22));
    assert_eq!(cuts(&told), vec![Signal::Loss]);
}

/// RFC 8985 section 7: two round trips after the last acknowledgement the last segment leaves again, and its
/// selective acknowledgement shows what else is missing: no timeout.
#[test]
fn a_lost_tail_is_probed_for() {
    let (controller, told) = Scripted::boxed(true);
    let config = Config {
        detection: rack(),
        rto_min: ackclock_units::Duration::from_secs(1),
        ..config(sack(false), 10)
    };
    let mut lab = Lab::with(config, controller, 10);
    lab.send();
    lab.wait(100);
    assert_eq!(lab.ack(6), []);
    assert_eq!(lab.until_timeout().as_nanos(), 2 * RTT.as_nanos());
    assert_eq!(lab.expire(), [9]);
    lab.wait(100);
    assert_eq!(lab.sack(6, &[(9, 10)]), [6, 7, 8]);
    assert_eq!(lab.sender.board().lost(), 3);
    assert_eq!((lab.sender.counters().timeouts, cuts(&told)), (0, vec![Signal::Loss]));
}

/// RFC 8985 section 7.4: if the probe itself has repaired the loss, the controller still hears of it.
#[test]
fn a_probe_that_repairs_is_answered() {
    for (report, duplicate, expected) in
        [(false, false, vec![Signal::Loss]), (true, false, vec![]), (false, true, vec![])]
    {
        let (controller, told) = Scripted::boxed(true);
        let config = Config { detection: rack(), ..config(sack(false), 10) };
        let mut lab = Lab::with(config, controller, 1000);
        lab.send();
        lab.wait(100);
        lab.advertise(1);
        assert_eq!(lab.ack(9), []);
        assert_eq!(lab.expire(), [9], "there is no room for a new one");
        lab.advertise(30);
        lab.wait(100);
        let mut ack = common::lab::made(10, &[]);
        if report {
            ack.blocks[0] = SackBlock { offset: 0_u32.wrapping_sub(1), length: 1 };
            assert_eq!(ack.duplicate_report(), Some((9, 10)));
        }
        lab.hear(ack, Flags::default());
        assert_eq!(lab.send(), (10..20).collect::<Vec<_>>());
        if duplicate {
            lab.ack(10);
        }
        lab.wait(100);
        lab.ack(12);
        assert_eq!(cuts(&told), expected, "{report} {duplicate}");
    }
}

/// A reordered segment is taken for lost and sent again; its original arrives, and then the copy.
#[test]
fn a_spurious_reduction_is_undone() {
    for (undo, undone) in [(Undo::Never, false), (Undo::Eifel, true), (Undo::Duplicates, true)] {
        let config = Config { undo, initial_ssthresh: 2.0, ..config(sack(false), 20) };
        let (controller, told) = Scripted::boxed(true);
        let mut lab = Lab::with(config, controller, 1000);
        lab.send();
        lab.ack(5);
        lab.wait(50);
        for end in 7..10 {
            lab.sack(5, &[(6, end)]);
        }
        assert_eq!(lab.sender.counters().retransmits, 1);
        lab.wait(10);
        // What was sent 100 ms ago is echoed: not the retransmission. Everything of the episode has arrived.
        lab.ack(27);
        assert_eq!(lab.sender.state(), State::Open);
        let mut twice = common::lab::made(27, &[]);
        twice.blocks[0] = SackBlock { offset: 0_u32.wrapping_sub(22), length: 1 };
        assert_eq!(twice.duplicate_report(), Some((5, 6)));
        lab.hear(twice, Flags::default());
        assert_eq!(cuts(&told), vec![Signal::Loss]);
        assert_eq!(lab.sender.counters().undone, u64::from(undone), "{undo:?}");
        let ssthresh = if undone { 22.0 } else { 10.0 }; // limited transmit's two were outstanding as well
        assert_eq!(lab.sender.window().ssthresh, ssthresh);
    }
}

/// A loss is a loss: the retransmission is what arrives.
#[test]
fn a_reduction_for_a_loss_stays() {
    for undo in [Undo::Eifel, Undo::Duplicates] {
        let config = Config { undo, initial_ssthresh: 2.0, ..config(sack(false), 20) };
        let mut lab = Lab::with(config, Scripted::boxed(true).0, 1000);
        lab.send();
        lab.ack(5);
        for end in 7..10 {
            lab.sack(5, &[(6, end)]);
        }
        lab.wait(100);
        lab.ack(27);
        assert_eq!((lab.sender.window().ssthresh, lab.sender.counters().undone), (10.0, 0));
    }
}
